/** Reads a JSON body within bounds on its size and depth. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { z } from 'zod';
import { MAX_BODY_BYTES, MAX_JSON_DEPTH } from './config.ts';
import { HttpError } from './errors.ts';

/**
 * The body, parsed by the schema: other fields, `__proto__` among them, are dropped.
 * Throws `HttpError` 415, 413 or 400, naming the field.
 */
export async function readJson<Shape>(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  schema: z.ZodType<Shape>,
): Promise<Shape> {
  const type = incoming.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
  if (type !== 'application/json') {
    throw new HttpError(
      415,
      'unsupported_media_type',
      'Send the body with "Content-Type: application/json".',
      {
        param: 'content-type',
      },
    );
  }
  const value = parseJson(await readText(incoming, outgoing));
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const param = issue?.path.join('.') ?? '';
  const where = param === '' ? 'The body' : `"${param}"`;
  throw new HttpError(
    400,
    'invalid_body',
    `${where}: ${issue?.message ?? 'invalid'}.`,
    param === '' ? {} : { param },
  );
}

/** Collects the bytes up to the limit. The server drains the rest, so that a client that is still sending can read the answer. */
function readText(incoming: IncomingMessage, outgoing: ServerResponse): Promise<string> {
  const tooLarge = (): HttpError =>
    new HttpError(413, 'body_too_large', `The body is larger than ${MAX_BODY_BYTES} bytes.`);
  if (Number(incoming.headers['content-length'] ?? 0) > MAX_BODY_BYTES) throw tooLarge();
  if (incoming.headers.expect !== undefined) outgoing.writeContinue();
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const settle = (done: () => void): void => {
      incoming.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
      done();
    };
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      if (size > MAX_BODY_BYTES) settle(() => reject(tooLarge()));
      else chunks.push(chunk);
    };
    const onEnd = (): void => settle(() => resolve(Buffer.concat(chunks).toString('utf8')));
    const onClose = (): void =>
      settle(() =>
        reject(new HttpError(400, 'body_incomplete', 'The connection closed before the body was complete.')),
      );
    incoming.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
  });
}

function parseJson(text: string): unknown {
  if (depthOf(text) > MAX_JSON_DEPTH) {
    throw new HttpError(400, 'body_too_deep', `The body is nested deeper than ${MAX_JSON_DEPTH} levels.`);
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new HttpError(400, 'invalid_json', 'The body is not valid JSON.', { cause });
  }
}

/** The deepest nesting of brackets outside strings: one pass, before anything recursive sees the text. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  let quoted = false;
  for (let i = 0; i < text.length; i += 1) {
    const char = text[i];
    if (quoted) {
      if (char === '\\') i += 1;
      else if (char === '"') quoted = false;
    } else if (char === '"') quoted = true;
    else if (char === '{' || char === '[') deepest = Math.max(deepest, (depth += 1));
    else if (char === '}' || char === ']') depth -= 1;
  }
  return deepest;
}
