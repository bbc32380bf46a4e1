/** Recordings that callers of the API send to have them transcribed: kept nowhere. */
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { type AudioApi, TYPE_HEAD_BYTES } from '../protocol/file-api.ts';
import { GatewayError, toGatewayError } from '../protocol/errors.ts';
import type { MediaKind, ReadInline, Recording, Transcriber } from '../protocol/media.ts';
import { inEnglish, textRef, type TextRef } from '../protocol/texts/say.ts';
import { safeFileName } from '../lib/file-name.ts';
import { inMegabytes } from '../lib/text.ts';
import { fileTypeOf } from './reader/file-type.ts';
import type { MediaContext } from './fetch-file.ts';
import type { ReadFile } from './reader/reader.ts';
import { fileLimitsOf } from './settings.ts';

/** Makes what `AudioApi` does with recordings. */
export function createTranscribe(
  transcriber: Transcriber | undefined,
  maxFileBytes: number,
): Pick<AudioApi, 'transcribe' | 'canTranscribe'> {
  const transcribe: AudioApi['transcribe'] = async ({ name: sentName, chunks }, request, signal) => {
    if (transcriber === undefined) throw new GatewayError('not_configured', textRef('hear.not_set'));
    const name = safeFileName(sentName);
    const folder = await mkdtemp(path.join(os.tmpdir(), 'parley-recording-'));
    try {
      const place = path.join(folder, 'recording');
      const head = await writeRecording(place, chunks, maxFileBytes);
      const { kind, mimeType } = await fileTypeOf(head, name);
      if (kind !== 'video' && !isSpeech(kind, mimeType)) {
        throw new GatewayError('unreadable_file', `"${name}" is ${mimeType}, not a recording.`);
      }
      const { userId, ...wish } = request();
      return await transcriber.transcript({ path: place, name, mimeType, userId }, wish, signal);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  };
  return { transcribe, canTranscribe: transcriber !== undefined };
}

/** Writes the recording; returns its first bytes. Throws `GatewayError('file_too_large' | 'empty_file')`. */
async function writeRecording(
  place: string,
  chunks: AsyncIterable<Uint8Array>,
  maxFileBytes: number,
): Promise<Uint8Array> {
  await using file = await open(place, 'wx+', 0o600);
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > maxFileBytes) {
      throw new GatewayError('file_too_large', `Files can have at most ${inMegabytes(maxFileBytes)}.`);
    }
    await file.writeFile(chunk);
  }
  if (bytes === 0) throw new GatewayError('empty_file', 'The recording is empty.');
  const { buffer, bytesRead } = await file.read(Buffer.alloc(TYPE_HEAD_BYTES), 0, TYPE_HEAD_BYTES, 0);
  return buffer.subarray(0, bytesRead);
}

/** What is said in a recording, or why that is unknown. */
interface Heard {
  spoken?: string;
  problem?: string;
  problemText?: TextRef;
}

/** True for sound. */
export function isSpeech(kind: MediaKind, mimeType: string): boolean {
  return kind === 'voice' || kind === 'audio' || mimeType.startsWith('audio/');
}

/** Transcribes a recording on this node. Throws only the signal's reason. */
export async function listen(
  transcriber: Transcriber | undefined,
  recording: () => Promise<Recording>,
  signal: AbortSignal,
): Promise<Heard> {
  if (transcriber === undefined) return problemOf(textRef('hear.none'));
  try {
    const text = (await transcriber.transcribe(await recording(), signal)).trim();
    return text === '' ? problemOf(textRef('hear.nothing')) : { spoken: text };
  } catch (error) {
    signal.throwIfAborted();
    const { textRef: ref, message } = toGatewayError(error);
    return problemOf(textRef('hear.failed', { why: ref ?? message }));
  }
}

/** A problem for both of its readers. */
export function problemOf(problemText: TextRef): { problem: string; problemText: TextRef } {
  return { problem: inEnglish.text(problemText), problemText };
}

/** Transcribes a recording that is not stored. Throws the signal's reason, or an error of the disk. */
async function listenTo(
  transcriber: Transcriber | undefined,
  bytes: Uint8Array,
  name: string,
  mimeType: string,
  { userId, signal }: { userId: string; signal: AbortSignal },
): Promise<Heard> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'parley-heard-'));
  try {
    const place = path.join(folder, 'recording');
    await writeFile(place, bytes, { mode: 0o600 });
    return await listen(transcriber, async () => ({ name, mimeType, path: place, userId }), signal);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Makes `ReadInline`. */
export function createReadInline({ reader, settings, transcriber }: MediaContext): ReadInline {
  const { maxFileBytes } = fileLimitsOf(settings);
  return async ({ name: sentName, base64 }, userId, signal) => {
    const name = safeFileName(sentName);
    const bytes = Buffer.from(base64, 'base64');
    if (bytes.length > maxFileBytes) {
      const text = `"${name}" is too large: files can have at most ${inMegabytes(maxFileBytes)}.`;
      throw new GatewayError('file_too_large', text);
    }
    const read = await reader(bytes, userId, signal).catch((error: unknown): ReadFile => {
      signal.throwIfAborted();
      throw unreadable(name, toGatewayError(error).message, error);
    });
    if (read.problem !== undefined) throw unreadable(name, `it ${read.problem}`);
    if (read.image !== undefined) {
      return { name, picture: { mimeType: 'image/jpeg', base64: read.image.toString('base64') } };
    }
    if (read.text !== undefined) return { name, text: read.text };
    if (!isSpeech('file', read.mimeType))
      throw unreadable(name, `it is ${read.mimeType}, which holds neither text, a picture nor sound`);
    const speech = await listenTo(transcriber, bytes, name, read.mimeType, { userId, signal });
    if (speech.spoken === undefined) throw unreadable(name, speech.problem ?? 'no speech was found in it');
    return { name, spoken: speech.spoken };
  };
}

function unreadable(name: string, reason: string, cause?: unknown): GatewayError {
  return new GatewayError('unreadable_file', `"${name}" cannot be read: ${reason}.`, { cause });
}
