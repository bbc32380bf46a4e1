/** Fetches the files of messages into the sessions' folders and reads them. */
import path from 'node:path';
import type { Channel } from '../contracts/channel.ts';
import { ChannelError, GatewayError, StoreError, ToolError, toGatewayError } from '../contracts/errors.ts';
import type { Log } from '../contracts/log.ts';
import type {
  Attachment,
  FilesOfMessage,
  KeptFiles,
  Media,
  ReceivedFile,
  ReceiveFiles,
  Transcriber,
} from '../contracts/media.ts';
import type { SessionFiles } from '../contracts/tool.ts';
import { safeFileName } from '../lib/file-name.ts';
import { inboxPath, picturePath } from './places.ts';
import type { ReadFile, Reader } from './reader/reader.ts';
import { MEGABYTE } from './settings.ts';
import type { MediaSettings } from './settings.ts';
import { startOf } from './document-start.ts';
import { fetchFile, HERE } from './fetch-file.ts';
import type { FetchedFile } from './fetch-file.ts';

export interface InboxDeps {
  channels: ReadonlyMap<string, Pick<Channel, 'download'>>;
  files: Pick<SessionFiles, 'open' | 'put' | 'read'>;
  keptFiles: Pick<KeptFiles, 'keptBytes'>;
  settings: MediaSettings;
  reader: Reader;
  /** Undefined: what is said in recordings is not known. */
  transcriber?: Transcriber | undefined;
  log: Log;
}

/** What the person and the model read where no transcriber is set up. */
const NO_TRANSCRIBER =
  'it is a recording, and this gateway cannot listen: set transcription.baseUrl in config.json to a speech-to-text server';

/** Makes `ReceiveFiles`. */
export function createInbox(deps: InboxDeps): ReceiveFiles {
  return async (message, signal) => {
    if (message.media.length === 0) return [];
    const received: ReceivedFile[] = [];
    for (const [index, media] of message.media.entries()) {
      received.push(await receiveOne(deps, message, { media, index, received }, signal));
    }
    return received;
  };
}

interface OneFile {
  media: Media;
  index: number;
  /** The files of the message before it. */
  received: readonly ReceivedFile[];
}

/** Throws only `StoreError`. */
async function receiveOne(
  deps: InboxDeps,
  message: FilesOfMessage,
  one: OneFile,
  signal: AbortSignal,
): Promise<ReceivedFile> {
  const { media, index } = one;
  const { kind, seconds } = media;
  // A recording is named by the app that made it, which says nothing.
  const name = safeFileName((kind === 'voice' ? undefined : media.name) ?? kind, kind);
  try {
    const limit = await limitFor(deps, message, one);
    const file = inboxPath(message.laneSeq, index, name);
    const found = await fetchFile(deps, message, { media, file, maxBytes: limit }, signal);
    return await readOne(deps, message, { kind, name, seconds, ...found }, signal);
  } catch (error) {
    if (error instanceof StoreError) throw error;
    if (!signal.aborted)
      deps.log.warn({ err: toGatewayError(error), channel: message.channel }, 'file_refused');
    const problem = signal.aborted ? 'fetching it was stopped' : wordRefusal(error, deps.settings);
    return { kind, name, problem };
  }
}

/** The most bytes that this file may have. Throws `GatewayError` when there is room for none. */
async function limitFor(
  { settings, keptFiles }: InboxDeps,
  { userId }: FilesOfMessage,
  { media, index, received }: OneFile,
): Promise<number> {
  const { maxFileMb, maxFilesPerMessage, maxMbPerPerson, keepDays } = settings;
  if (index >= maxFilesPerMessage)
    throw new GatewayError('too_many', `only ${maxFilesPerMessage} files of a message are read`);
  const limit = maxFileMb * MEGABYTE;
  if ((media.bytes ?? 0) > limit) throw new GatewayError('too_large', largerThan(maxFileMb));
  // One that lies in the folder already was counted when it came.
  if (media.url.startsWith(HERE)) return limit;
  const ofMessage = received.reduce((sum, { attachment }) => sum + (attachment?.bytes ?? 0), 0);
  const room = maxMbPerPerson * MEGABYTE - ofMessage - (await keptFiles.keptBytes(userId, keepDays));
  if (room <= 0 || (media.bytes ?? 0) > room)
    throw new GatewayError(
      'person_full',
      `your files here have reached ${maxMbPerPerson} MB together; they are removed after ${keepDays} days`,
    );
  return Math.min(limit, room);
}

interface FoundFile extends FetchedFile {
  kind: Media['kind'];
  name: string;
  seconds: number | undefined;
}

async function readOne(
  deps: InboxDeps,
  { folder, userId }: FilesOfMessage,
  found: FoundFile,
  signal: AbortSignal,
): Promise<ReceivedFile> {
  const { kind, name, file, bytes, sha256, seconds } = found;
  const read = await deps.reader(bytes, userId, signal).catch((error: unknown): ReadFile => {
    signal.throwIfAborted();
    return { mimeType: 'application/octet-stream', problem: toGatewayError(error).message };
  });
  const { mimeType, problem } = read;
  const timed = seconds === undefined ? {} : { seconds };
  const attachment: Attachment = { kind, name, mimeType, bytes: bytes.length, sha256, file, ...timed };
  const received: ReceivedFile = { kind, name, attachment, ...(problem !== undefined && { problem }) };
  if (read.image !== undefined && read.picture !== undefined) {
    const ref = picturePath(file);
    const { image } = read;
    await deps.files.put(folder, { chunks: pieces(image), maxBytes: image.length, pathOf: () => ref });
    return { ...received, picture: { ref: `${folder}/${ref}`, ...read.picture } };
  }
  if (read.text !== undefined) return { ...received, document: startOf(read.text) };
  if (isSpeech(kind, mimeType)) return { ...received, ...(await listen(deps, folder, attachment, signal)) };
  return received;
}

function isSpeech(kind: Media['kind'], mimeType: string): boolean {
  return kind === 'voice' || kind === 'audio' || mimeType.startsWith('audio/');
}

async function listen(
  { transcriber, files }: InboxDeps,
  folder: string,
  { file, name, mimeType, seconds }: Attachment,
  signal: AbortSignal,
): Promise<Pick<ReceivedFile, 'spoken' | 'problem'>> {
  if (transcriber === undefined) return { problem: NO_TRANSCRIBER };
  try {
    const place = path.join(await files.open(folder), file);
    const spoken = (await transcriber.transcribe({ path: place, name, mimeType, seconds }, signal)).trim();
    return spoken === '' ? { problem: 'nothing is said in it' } : { spoken };
  } catch (error) {
    signal.throwIfAborted();
    return { problem: `it could not be listened to: ${toGatewayError(error).message}` };
  }
}

async function* pieces(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}

function largerThan(maxFileMb: number): string {
  return `it is larger than ${maxFileMb} MB (media.maxFileMb in config.json)`;
}

/** What the person reads of a file that was refused. */
function wordRefusal(error: unknown, { maxFileMb }: MediaSettings): string {
  const { code, message } = toGatewayError(error);
  // A platform may have a limit of its own, which it words itself.
  if (error instanceof ToolError && code === 'too_large') return largerThan(maxFileMb);
  if (code === 'empty') return 'it is empty';
  if (code === 'workspace_full')
    return 'the folder of this session is full; /help tells how to begin another one';
  if (error instanceof ChannelError) return `it could not be fetched: ${message}`;
  return error instanceof GatewayError ? message : 'it could not be fetched';
}
