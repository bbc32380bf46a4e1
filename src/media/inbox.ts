/** Fetches the files of messages into the sessions' folders and reads them. */
import path from 'node:path';
import { ChannelError, GatewayError, StoreError, ToolError, toGatewayError } from '../protocol/errors.ts';
import type {
  Attachment,
  DocumentStart,
  FilesOfMessage,
  Media,
  ReceivedFile,
  ReceiveFiles,
} from '../protocol/media.ts';
import { safeFileName } from '../lib/file-name.ts';
import { inboxPath, keepPicture } from './stored-files.ts';
import type { ReadFile } from './reader/reader.ts';
import { MEGABYTE } from './settings.ts';
import { isSpeech, listen, problemOf } from './recordings.ts';
import { type FetchedFile, fetchFile, HERE, type MediaContext } from './fetch-file.ts';
import { inEnglish, textRef, type TextRef } from '../protocol/texts/say.ts';

/** Bytes of a document that are sent with the message: about 2,000 tokens, so that several fit a small window. */
const START_BYTES = 6_000;

/** Makes `ReceiveFiles`. */
export function createInbox(context: MediaContext): ReceiveFiles {
  return async (message, signal) => {
    const files: ReceivedFile[] = [];
    for (const [index, media] of message.media.entries())
      files.push(await receiveOne(context, message, media, index, files, signal));
    return files;
  };
}

/** `previous`: the files of the message before it. Throws only `StoreError`. */
async function receiveOne(
  context: MediaContext,
  message: FilesOfMessage,
  media: Media,
  index: number,
  previous: readonly ReceivedFile[],
  signal: AbortSignal,
): Promise<ReceivedFile> {
  const { kind } = media;
  // A recording is named by the app that made it, so the name means nothing.
  const name = safeFileName((kind === 'voice' ? undefined : media.name) ?? kind, kind);
  let limit: Limit | undefined;
  try {
    limit = await limitFor(context, message.userId, media, index, previous);
    const target = inboxPath(message.laneSeq, index, name);
    const file = await fetchFile(context, message, media, target, limit.maxBytes, signal);
    return await readOne(context, message, media, name, file, signal);
  } catch (error) {
    if (error instanceof StoreError) throw error;
    if (!signal.aborted)
      context.log.warn({ err: toGatewayError(error), channel: message.channel }, 'file_refused');
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
  { settings, keptFiles }: MediaContext,
  userId: string,
  media: Media,
  index: number,
  previous: readonly ReceivedFile[],
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
  const ofMessage = previous.reduce((sum, { attachment }) => sum + (attachment?.bytes ?? 0), 0);
  const room = maxMbPerPerson * MEGABYTE - ofMessage - (await keptFiles.keptBytes(userId, keepDays));
  const refusal = textRef('upload.person_full', { most: maxMbPerPerson, days: keepDays });
  if (room <= 0 || bytes > room) throw new GatewayError('person_full', refusal);
  return room < ofOne.maxBytes ? { maxBytes: room, refusal } : ofOne;
}

async function readOne(
  { reader, files, transcriber }: MediaContext,
  { folder, userId }: FilesOfMessage,
  { kind, seconds }: Media,
  name: string,
  { file, bytes, sha256 }: FetchedFile,
  signal: AbortSignal,
): Promise<ReceivedFile> {
  const content: ReadFile & { problemText?: TextRef | undefined } = await reader(bytes, userId, signal).catch(
    (error: unknown) => {
      signal.throwIfAborted();
      const { message: problem, textRef: problemText } = toGatewayError(error);
      return { mimeType: 'application/octet-stream', problem, problemText };
    },
  );
  const { mimeType, reason, image, picture, text } = content;
  const problemText = content.problemText ?? unreadText(name, mimeType, reason);
  const problem = content.problem ?? (problemText && inEnglish.text(problemText));
  const duration = seconds === undefined ? {} : { seconds };
  const attachment: Attachment = { kind, name, mimeType, bytes: bytes.length, sha256, file, ...duration };
  const received: ReceivedFile = {
    kind,
    name,
    attachment,
    ...(problem !== undefined && { problem, problemText }),
  };
  if (image !== undefined && picture !== undefined) {
    const ref = await keepPicture(files, folder, file, image);
    return { ...received, picture: { ref, ...picture } };
  }
  if (text !== undefined) return { ...received, document: startOf(text) };
  if (!isSpeech(kind, mimeType)) return received;
  const recording = async () => ({
    path: path.join(await files.open(folder), file),
    name,
    mimeType,
    seconds,
    userId,
  });
  return { ...received, ...(await listen(transcriber, recording, signal)) };
}

/** Endings of names that promise a text. */
const TEXT_NAME = /\.(csv|tsv|txt|log|md|json|xml|html?|ya?ml|ini|srt)$/i;

/** What the person reads about a file whose content the model cannot read; undefined if nothing is missing. */
function unreadText(name: string, mimeType: string, reason: string | undefined): TextRef | undefined {
  if (reason !== undefined) return textRef('upload.unreadable', { why: reason });
  const isUnreadText = mimeType === 'application/octet-stream' && TEXT_NAME.test(name);
  return isUnreadText ? textRef('upload.no_text') : undefined;
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
