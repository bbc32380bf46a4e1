/** Files that a request contains: read for its one answer and not stored. */
import { GatewayError, toGatewayError } from '../protocol/errors.ts';
import type { ReadInline, Transcriber } from '../protocol/media.ts';
import { safeFileName } from '../lib/file-name.ts';
import { inMegabytes } from '../lib/text.ts';
import { isSpeech, listenTo } from './speech-of.ts';
import type { ReadFile, Reader } from './reader/reader.ts';

export interface InlineDeps {
  reader: Reader;
  /** Of one file. */
  maxFileBytes: number;
  /** Undefined: recordings are not transcribed. */
  transcriber: Pick<Transcriber, 'transcribe'> | undefined;
}

/** Makes `ReadInline`. */
export function createReadInline({ reader, maxFileBytes, transcriber }: InlineDeps): ReadInline {
  return async ({ name: given, base64 }, userId, signal) => {
    const name = safeFileName(given);
    const bytes = Buffer.from(base64, 'base64');
    if (bytes.length > maxFileBytes) {
      const text = `"${name}" is too large: a file may have at most ${inMegabytes(maxFileBytes)}.`;
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
    const { mimeType } = read;
    const { spoken, problem } = await listenTo(transcriber, { bytes, name, mimeType }, signal);
    if (spoken === undefined) throw unreadable(name, problem ?? 'nothing is said in it');
    return { name, spoken };
  };
}

function unreadable(name: string, why: string, cause?: unknown): GatewayError {
  return new GatewayError('unreadable_file', `"${name}" cannot be read: ${why}.`, { cause });
}
