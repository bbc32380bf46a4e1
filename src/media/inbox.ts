/** Fetches the files of messages into the sessions' folders and reads them. */
import path from 'node:path';
import type { Channel } from '../protocol/channel.ts';
import { ChannelError, GatewayError, StoreError, ToolError, toGatewayError } from '../protocol/errors.ts';
import type { Log } from '../protocol/log.ts';
import type {
  Attachment,
  DocumentStart,
  FilesOfMessage,
  KeptFiles,
  Media,
  ReceivedFile,
  ReceiveFiles,
  Transcriber,
} from '../protocol/media.ts';
import type { SessionFiles } from '../protocol/agent/tool.ts';
import { safeFileName } from '../lib/file-name.ts';
import { inboxPath, picturePath } from './places.ts';
import type { ReadFile, Reader } from './reader/reader.ts';
import { type MediaSettings, MEGABYTE } from './settings.ts';
import { isSpeech, listen, problemOf } from './speech-of.ts';
import { type FetchedFile, fetchFile, HERE } from './fetch-file.ts';
import { inEnglish, textRef, type TextRef } from '../protocol/texts/say.ts';

/** Bytes of a document that are sent with the message: about 2,000 tokens, so that several fit a small window. */
const START_BYTES = 6_000;

export interface InboxDeps {
  channels: ReadonlyMap<string, Pick<Channel, 'download'>>;
  files: Pick<SessionFiles, 'open' | 'put' | 'read'>;
  keptFiles: Pick<KeptFiles, 'keptBytes'>;
  settings: MediaSettings;
  reader: Reader;
  /** Undefined: recordings are not transcribed. */
  transcriber?: Pick<Transcriber, 'transcribe'> | undefined;
  log: Log;
}

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
  // A recording is named by the app that made it, so the name means nothing.
  const name = safeFileName((kind === 'voice' ? undefined : media.name) ?? kind, kind);
  let limit: Limit | undefined;
  try {
    limit = await limitFor(deps, message, one);
    const file = inboxPath(message.laneSeq, index, name);
    const found = await fetchFile(deps, message, { media, file, maxBytes: limit.maxBytes }, signal);
    return await readOne(deps, message, { kind, name, seconds, ...found }, signal);
  } catch (error) {
    if (error instanceof StoreError) throw error;
    if (!signal.aborted)
      deps.log.warn({ err: toGatewayError(error), channel: message.channel }, 'file_refused');
    const problemText = signal.aborted ? textRef('upload.stopped') : wordRefusal(error, limit);
    return { kind, name, ...problemOf(problemText) };
  }
}

/** The most bytes that a file may have, and what its sender reads about a longer one. */
interface Limit {
  maxBytes: number;
  refusal: TextRef;
}

/** Throws `GatewayError` when there is no room for any. */
async function limitFor(
  { settings, keptFiles }: InboxDeps,
  { userId }: FilesOfMessage,
  { media, index, received }: OneFile,
): Promise<Limit> {
  const { maxFileMb, maxFilesPerMessage, maxMbPerPerson, keepDays } = settings;
  if (index >= maxFilesPerMessage)
    throw new GatewayError('too_many', textRef('upload.too_many', { most: maxFilesPerMessage }));
  const bytes = media.bytes ?? 0;
  const ofOne = {
    maxBytes: maxFileMb * MEGABYTE,
    refusal: textRef('upload.too_large', { most: maxFileMb }),
  };
  if (bytes > ofOne.maxBytes) throw new GatewayError('too_large', ofOne.refusal);
  // One that is already in the folder was counted when it arrived.
  if (media.url.startsWith(HERE)) return ofOne;
  const ofMessage = received.reduce((sum, { attachment }) => sum + (attachment?.bytes ?? 0), 0);
  const room = maxMbPerPerson * MEGABYTE - ofMessage - (await keptFiles.keptBytes(userId, keepDays));
  const refusal = textRef('upload.person_full', { most: maxMbPerPerson, days: keepDays });
  if (room <= 0 || bytes > room) throw new GatewayError('person_full', refusal);
  return room < ofOne.maxBytes ? { maxBytes: room, refusal } : ofOne;
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
  const read: ReadFile & { problemText?: TextRef } = await deps
    .reader(bytes, userId, signal)
    .catch((error: unknown): ReadFile & { problemText?: TextRef } => {
      signal.throwIfAborted();
      const { message, textRef: wording } = toGatewayError(error);
      return {
        mimeType: 'application/octet-stream',
        problem: message,
        ...(wording && { problemText: wording }),
      };
    });
  const { mimeType, reason } = read;
  const problemText = read.problemText ?? unreadText(name, mimeType, reason);
  const problem = read.problem ?? (problemText && inEnglish.text(problemText));
  const timed = seconds === undefined ? {} : { seconds };
  const attachment: Attachment = { kind, name, mimeType, bytes: bytes.length, sha256, file, ...timed };
  const received: ReceivedFile = {
    kind,
    name,
    attachment,
    ...(problem !== undefined && { problem, problemText }),
  };
  if (read.image !== undefined && read.picture !== undefined) {
    const ref = picturePath(file);
    const { image } = read;
    await deps.files.put(folder, { chunks: pieces(image), maxBytes: image.length, pathOf: () => ref });
    return { ...received, picture: { ref: `${folder}/${ref}`, ...read.picture } };
  }
  if (read.text !== undefined) return { ...received, document: startOf(read.text) };
  if (!isSpeech(kind, mimeType)) return received;
  const recording = async () => ({
    path: path.join(await deps.files.open(folder), file),
    name,
    mimeType,
    seconds,
  });
  return { ...received, ...(await listen(deps.transcriber, recording, signal)) };
}

/** Endings of names that promise a text. */
const TEXT_NAME = /\.(csv|tsv|txt|log|md|json|xml|html?|ya?ml|ini|srt)$/i;

/** What the person reads about a file whose content the model cannot read; undefined if nothing is missing. */
function unreadText(name: string, mimeType: string, reason: string | undefined): TextRef | undefined {
  if (reason !== undefined) return textRef('upload.unreadable', { why: reason });
  const isUnreadText = mimeType === 'application/octet-stream' && TEXT_NAME.test(name);
  return isUnreadText ? textRef('upload.no_text') : undefined;
}

async function* pieces(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** What the person reads about a refused file. */
function wordRefusal(error: unknown, limit: Limit | undefined): TextRef {
  const { code, message, textRef: wording } = toGatewayError(error);
  // A platform may have its own limit, which it words itself.
  if (error instanceof ToolError && code === 'too_large' && limit !== undefined) return limit.refusal;
  if (code === 'empty') return textRef('upload.empty');
  if (code === 'workspace_full') return textRef('upload.folder_full');
  if (error instanceof ChannelError)
    return textRef('upload.not_fetched_because', { why: wording ?? message });
  if (!(error instanceof GatewayError)) return textRef('upload.not_fetched');
  return wording ?? textRef('upload.other', { why: message });
}

/** The beginning of a document that the model reads with the message, with no character cut in two. Never throws. */
function startOf(text: string): DocumentStart {
  const whole = Buffer.from(text);
  if (whole.length <= START_BYTES) return { text, bytes: whole.length, totalBytes: whole.length };
  let end = START_BYTES;
  while ((whole[end]! & 0xc0) === 0x80) end -= 1;
  return { text: whole.toString('utf8', 0, end), bytes: end, totalBytes: whole.length };
}
