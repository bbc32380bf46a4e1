/** Reads a JSON body within bounds on its size and depth. */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { z } from 'zod';
import { MAX_JSON_DEPTH } from '../../src/lib/json/json.ts';
import {
  MAX_BODY_BYTES,
  MAX_INLINE_BODY_BYTES,
  MAX_JSON_VALUES,
  REQUEST_TIMEOUT_MS,
  UPLOAD_STALL_MS,
} from './config.ts';
import { HttpError } from './errors.ts';
import type { LargeBodies } from './limits/bodies.ts';
import { tooSlow } from './limits/strangers.ts';
import { checkFields } from './model-apis/fields.ts';
import type { HandlerDeps, ServedRoute } from './route.ts';

/** The body of a request, with the fields that its schema knows. Throws `HttpError` 415, 413, 408 or 400, naming the field. */
export async function readBody<Body>(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { method, path, body: schema, bodyOptional, anyType, carriesFiles, fields }: ServedRoute<Body>,
  deps: HandlerDeps,
): Promise<Body> {
  if (schema === undefined) throw new TypeError(`${method} ${path} has no schema of a body`);
  const { headers } = incoming;
  const isEmpty = Number(headers['content-length'] ?? 0) === 0 && headers['transfer-encoding'] === undefined;
  if (bodyOptional === true && isEmpty) return parseShape({}, schema);
  if (
    anyType !== true &&
    headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() !== 'application/json'
  ) {
    const text = 'Send the body with "Content-Type: application/json".';
    throw new HttpError(415, 'unsupported_media_type', text, { param: 'content-type' });
  }
  refuseEncodings(incoming);
  const value = parseJson(
    await readText(incoming, outgoing, deps, carriesFiles === true ? deps.largeBodies : undefined),
  );
  if (fields !== undefined && typeof value === 'object' && value !== null && !Array.isArray(value))
    checkFields({ ...value }, fields);
  return parseShape(value, schema);
}

/** The bytes of a body that was signed, which must be UTF-8. Throws `HttpError` 400, 408, 413 or 415. */
export async function readSigned(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  deps: HandlerDeps,
): Promise<Buffer> {
  refuseEncodings(incoming);
  return Buffer.from(await readText(incoming, outgoing, deps, undefined), 'utf8');
}

/** The bytes of a body, whatever they are. Throws `HttpError` 408 or 413. */
export async function readExact(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  deps: HandlerDeps,
): Promise<Buffer> {
  return await readBytes(incoming, outgoing, deps, undefined);
}

/** A text as JSON of this shape. Throws `HttpError` 400 or 413. */
export function parseText<Shape>(text: string, schema: z.ZodType<Shape>): Shape {
  return parseShape(parseJson(text), schema);
}

/** A value of this shape; `at` is its place in the body. Throws `HttpError` 400. */
export function parseShape<Shape>(value: unknown, schema: z.ZodType<Shape>, at?: string): Shape {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const { path, message } = clearestIssue(parsed.error.issues);
  const param = [...(at === undefined ? [] : [at]), ...path].join('.');
  const where = param === '' ? 'The body' : `"${param}"`;
  throw new HttpError(400, 'invalid_body', `${where}: ${message}.`, param === '' ? {} : { param });
}

/** Refuses a compressed body and any charset other than UTF-8, the only one that JSON allows (RFC 8259, 8.1). */
export function refuseEncodings({ headers }: IncomingMessage): void {
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding.trim().toLowerCase() !== 'identity') {
    const text = 'Send the body as it is: no Content-Encoding is supported.';
    throw new HttpError(415, 'unsupported_encoding', text, { param: 'content-encoding' });
  }
  const charset = /;\s*charset\s*=\s*"?([^\s";]*)/i.exec(headers['content-type'] ?? '')?.[1] ?? 'utf-8';
  if (/^utf-?8$/i.test(charset)) return;
  throw new HttpError(415, 'unsupported_charset', 'Send the body in UTF-8.', { param: 'content-type' });
}

async function readText(...args: Parameters<typeof readBytes>): Promise<string> {
  const bytes = await readBytes(...args);
  // Replaced characters would be stored as if they had been sent.
  if (isUtf8(bytes)) return bytes.toString('utf8');
  throw new HttpError(400, 'invalid_utf8', 'The body is not valid UTF-8.');
}

/** Collects the bytes up to the limit. The server drains the rest, so that a client that is still sending can read the answer. */
function readBytes(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  deps: HandlerDeps,
  largeBodies: LargeBodies | undefined,
): Promise<Buffer> {
  const maxBytes = largeBodies === undefined ? MAX_BODY_BYTES : MAX_INLINE_BODY_BYTES;
  const tooLarge = (): HttpError =>
    new HttpError(413, 'body_too_large', `The body is larger than ${maxBytes} bytes.`);
  if (Number(incoming.headers['content-length'] ?? 0) > maxBytes) throw tooLarge();
  if (incoming.headers.expect !== undefined) outgoing.writeContinue();
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const refuse = (error: HttpError): void => settle(() => reject(error));
    const end = limitTime(incoming, deps, () => size, refuse);
    const settle = (report: () => void): void => {
      end();
      incoming.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
      report();
    };
    const onData = (chunk: Buffer): void => {
      const previousSize = size;
      size += chunk.length;
      chunks.push(chunk);
      if (size > maxBytes) return settle(() => reject(tooLarge()));
      if (previousSize > MAX_BODY_BYTES || size <= MAX_BODY_BYTES) return undefined;
      try {
        return largeBodies?.hold(outgoing);
      } catch (error) {
        return settle(() => reject(error));
      }
    };
    const onEnd = (): void => settle(() => resolve(Buffer.concat(chunks)));
    const onClose = (): void => settle(() => reject(incomplete()));
    incoming.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
  });
}

/** Refuses a body that takes too long, which is sooner for a caller who is not known; returns what ends that. */
function limitTime(
  incoming: IncomingMessage,
  { sockets, strangers, addressOf }: HandlerDeps,
  size: () => number,
  refuse: (error: HttpError) => void,
): () => void {
  if (!sockets.isServed(incoming.socket)) return strangers.waitForBody(addressOf(incoming), size, refuse);
  const timer = setTimeout(() => refuse(tooSlow()), REQUEST_TIMEOUT_MS);
  return () => clearTimeout(timer);
}

/** The body as a stream; the connection stays open. Throws `HttpError` 408 if the sender is silent, 400 if it disconnects. */
export async function* bodyChunks(incoming: IncomingMessage): AsyncGenerator<Uint8Array> {
  const body: AsyncIterator<Buffer> = incoming.iterator({ destroyOnReturn: false });
  try {
    for (;;) {
      const { done, value } = await unlessStalled(body.next());
      if (done === true) return;
      yield value;
    }
  } catch (error) {
    throw error instanceof HttpError ? error : incomplete(error);
  } finally {
    // If the sender is silent, ending the iterator waits for its next bytes.
    void body.return?.().catch(() => undefined);
  }
}

async function unlessStalled<Chunk>(next: Promise<Chunk>): Promise<Chunk> {
  const stalled = Promise.withResolvers<never>();
  const timer = setTimeout(() => stalled.reject(tooSlow()), UPLOAD_STALL_MS);
  try {
    return await Promise.race([next, stalled.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function incomplete(cause?: unknown): HttpError {
  return new HttpError(400, 'body_incomplete', 'The connection closed before the body was complete.', {
    cause,
  });
}

function parseJson(text: string): unknown {
  checkShape(text);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new HttpError(400, 'invalid_json', 'The body is not valid JSON.', { cause });
  }
}

/** Counts brackets and values outside strings: one pass, before anything recursive or costly sees the text. */
function checkShape(text: string): void {
  let depth = 0;
  let values = 1;
  for (let i = 0; i < text.length; i += 1) {
    const char = text[i];
    if (char === '"') i = endOfString(text, i);
    else if (char === ',') values += 1;
    else if (char === '{' || char === '[') depth += 1;
    else if (char === '}' || char === ']') depth -= 1;
    if (depth > MAX_JSON_DEPTH)
      throw new HttpError(400, 'body_too_deep', `The body is nested deeper than ${MAX_JSON_DEPTH} levels.`);
    if (values > MAX_JSON_VALUES)
      throw new HttpError(413, 'body_too_many_values', `The body has more than ${MAX_JSON_VALUES} values.`);
  }
}

/** The index of the quote that ends a string, found with a native search: a file is one long string. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text[end - 1 - escapes] === '\\') escapes += 1;
    if (escapes % 2 === 0) return end;
  }
  return text.length;
}

/** Zod's own message for a union. */
const UNWORDED = 'Invalid input';

/** The first issue; in a union without words of its own, the one that lies deepest. Never throws. */
function clearestIssue([issue]: readonly z.core.$ZodIssue[]): { path: PropertyKey[]; message: string } {
  if (issue === undefined) return { path: [], message: 'invalid' };
  const { path, message } = issue;
  if (issue.code !== 'invalid_union' || message !== UNWORDED) return { path, message };
  const inner = issue.errors
    .map((issues) => clearestIssue(issues))
    .toSorted((a, b) => b.path.length - a.path.length)[0];
  return inner === undefined ? { path, message } : { path: [...path, ...inner.path], message: inner.message };
}
