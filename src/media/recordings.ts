/** Recordings that callers of the API send to have them transcribed: kept nowhere. */
import { open, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { type AudioApi, TYPE_HEAD_BYTES } from '../protocol/file-api.ts';
import { GatewayError } from '../protocol/errors.ts';
import type { Transcriber } from '../protocol/media.ts';
import { textRef } from '../protocol/texts/say.ts';
import { safeFileName } from '../lib/file-name.ts';
import { inMegabytes } from '../lib/text.ts';
import { fileTypeOf } from './file-type.ts';
import { isSpeech } from './speech-of.ts';

export interface TranscribeDeps {
  /** Undefined: no server is set. */
  transcriber: Transcriber | undefined;
  maxFileBytes: number;
}

/** Makes `AudioApi.transcribe`. */
export function createTranscribe({ transcriber, maxFileBytes }: TranscribeDeps): AudioApi['transcribe'] {
  return async ({ name: given, chunks }, request, signal) => {
    if (transcriber === undefined) throw new GatewayError('not_configured', textRef('hear.not_set'));
    const name = safeFileName(given);
    const folder = await mkdtemp(path.join(os.tmpdir(), 'parley-recording-'));
    try {
      const place = path.join(folder, 'recording');
      const head = await writeRecording(place, chunks, maxFileBytes);
      const { kind, mimeType } = await fileTypeOf(head, name);
      if (kind !== 'video' && !isSpeech(kind, mimeType)) {
        throw new GatewayError('unreadable_file', `"${name}" is ${mimeType}, not a recording.`);
      }
      return await transcriber.transcript({ path: place, name, mimeType }, request(), signal);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  };
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
      throw new GatewayError('file_too_large', `A file may have at most ${inMegabytes(maxFileBytes)}.`);
    }
    await file.writeFile(chunk);
  }
  if (bytes === 0) throw new GatewayError('empty_file', 'The recording is empty.');
  const { buffer, bytesRead } = await file.read(Buffer.alloc(TYPE_HEAD_BYTES), 0, TYPE_HEAD_BYTES, 0);
  return buffer.subarray(0, bytesRead);
}
