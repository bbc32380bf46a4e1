/** The file in the body of a request: the body itself, or the one file of a form. */
import { Busboy, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy';
import type { IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { Upload } from '../../src/protocol/file-api.ts';
import { bodyChunks } from './body.ts';
import { MAX_FORM_BYTES } from './config.ts';
import { HttpError } from './errors.ts';

/** Longest field of a form beside its file. */
const MAX_FIELD_CHARS = 4_000;

/** Throws `HttpError` 413 for a body that is declared larger than any that is accepted. */
export function refuseLength({ headers }: IncomingMessage, maxFileBytes: number): void {
  const frame = isForm(headers['content-type']) ? MAX_FORM_BYTES : 0;
  if (Number(headers['content-length'] ?? 0) <= maxFileBytes + frame) return;
  throw new HttpError(413, 'file_too_large', `A file may have at most ${maxFileBytes} bytes.`);
}

/** A file of a request, and the other fields of its form: all of them are there once the file has been read. */
export interface FormUpload extends Upload {
  fields: ReadonlyMap<string, string>;
}

/** The file, which is read from the body on demand. `name` is that of a raw body. Throws `HttpError` 400. */
export async function readUpload(incoming: IncomingMessage, name: string | undefined): Promise<FormUpload> {
  const type = incoming.headers['content-type'];
  if (isForm(type)) return await readForm(incoming, type);
  if (name === undefined || name === '') {
    const text = 'Say what the file is called: /files?name=photo.png, or send a form with one file.';
    throw new HttpError(400, 'missing_name', text, { param: 'name' });
  }
  return { name, chunks: bodyChunks(incoming), fields: new Map() };
}

/** True for the content type of a form with files. */
export function isForm(type: string | undefined): type is string {
  return type !== undefined && /^multipart\/form-data\b/i.test(type);
}

/** The first file of the form. Its bytes end once the whole form was read, so that a second file refuses both. */
async function readForm(incoming: IncomingMessage, type: string): Promise<FormUpload> {
  const parser = openParser(type);
  const upload = Promise.withResolvers<FormUpload>();
  const fields = new Map<string, string>();
  const read = pipeline(bodyChunks(incoming), parser).then(
    () => upload.reject(badForm('it has no file')),
    (error: unknown) => {
      const failure = error instanceof HttpError ? error : badForm('it is not complete', error);
      upload.reject(failure);
      throw failure;
    },
  );
  // Reported to the reader of the file; before there is one, by `found`.
  read.catch(() => undefined);
  let isSecond = false;
  let isCut = false;
  parser.on('field', (name: string, value: string, _cutName: boolean, cutValue: boolean) => {
    fields.set(name, value);
    isCut ||= cutValue;
  });
  parser.on('filesLimit', () => (isSecond = true));
  parser.on('file', (_field: string, stream: BusboyFileStream, filename: string | undefined) => {
    // Reported by `read`, whose pipeline ends with the same error.
    stream.on('error', () => undefined);
    const chunks = async function* (): AsyncGenerator<Uint8Array> {
      try {
        for await (const chunk of stream) yield chunk;
      } catch {
        // The form ends within the file: `read` says so.
      }
      await read;
      if (isSecond) throw badForm('it has more than one file');
      if (isCut) throw badForm(`a field has more than ${MAX_FIELD_CHARS} characters`);
    };
    upload.resolve({ name: filename ?? '', chunks: chunks(), fields });
  });
  return await upload.promise;
}

function openParser(type: string): BusboyInstance {
  try {
    return new Busboy({
      headers: { 'content-type': type },
      limits: {
        files: 1,
        fields: 10,
        fieldSize: MAX_FIELD_CHARS,
        parts: 12,
        headerPairs: 20,
        headerSize: 4_000,
      },
    });
  } catch (error) {
    throw badForm('its header has no boundary', error);
  }
}

function badForm(reason: string, cause?: unknown): HttpError {
  return new HttpError(400, 'invalid_form', `The form is not one that carries a file: ${reason}.`, { cause });
}
