/** Posts a form with one file, which is read from the disk while it is sent. */
import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { pipeline } from 'node:stream/promises';
import { GatewayError } from '../../protocol/errors.ts';
import { textRef } from '../../protocol/texts/say.ts';

/** Largest answer that is read, in bytes. */
export const MAX_ANSWER_BYTES = 1_000_000;

export interface Form {
  url: string;
  headers: Record<string, string>;
  fields: Record<string, string>;
  file: { path: string; name: string; mimeType: string };
}

export interface FormAnswer {
  status: number;
  body: string;
  retryAfterMs?: number | undefined;
}

/** Throws the connection's error, the signal's, or `GatewayError('bad_response')` for an endless answer. */
export async function postForm(
  { url, headers, fields, file }: Form,
  signal: AbortSignal,
): Promise<FormAnswer> {
  const boundary = `parley-${randomBytes(16).toString('hex')}`;
  const head = Buffer.from(
    [
      ...Object.entries(fields).map(([name, value]) => part(boundary, `name="${name}"`, value)),
      part(boundary, `name="file"; filename="${file.name}"\r\nContent-Type: ${file.mimeType}`, ''),
    ].join('\r\n'),
  );
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  const { size } = await stat(file.path);
  const open = url.startsWith('http:') ? httpRequest : httpsRequest;
  const call = open(url, {
    method: 'POST',
    signal,
    headers: {
      ...headers,
      accept: 'application/json',
      'content-type': `multipart/form-data; boundary=${boundary}`,
      'content-length': head.length + size + tail.length,
    },
  });
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  call.on('response', resolve);
  call.on('error', reject);
  const body = async function* (): AsyncGenerator<Uint8Array> {
    yield head;
    yield* createReadStream(file.path) as AsyncIterable<Uint8Array>;
    yield tail;
  };
  // A server may refuse a recording before it has received all of it: then its answer counts, not the broken
  // connection.
  pipeline(body, call).catch(reject);
  return await readAnswer(await promise);
}

function part(boundary: string, disposition: string, value: string): string {
  return `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${value}`;
}

async function readAnswer(response: IncomingMessage): Promise<FormAnswer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MAX_ANSWER_BYTES) throw new GatewayError('bad_response', textRef('hear.endless'));
    chunks.push(chunk);
  }
  const seconds = Number(response.headers['retry-after']);
  return {
    status: response.statusCode ?? 0,
    body: Buffer.concat(chunks).toString('utf8'),
    ...(seconds > 0 && { retryAfterMs: seconds * 1_000 }),
  };
}
