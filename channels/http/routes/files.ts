/**
 * The routes of a session's files: a file comes before the message that names it, and anyone who may read the session
 * may fetch it.
 */
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { pipeline } from 'node:stream/promises';
import type { ReadableFile } from '../../../src/contracts/file-api.ts';
import type { SessionKey } from '../../../src/contracts/message.ts';
import { refuseEncodings } from '../body.ts';
import { HttpError, noSession } from '../errors.ts';
import { postableId, readableKey } from '../inbound.ts';
import { requestId } from '../route.ts';
import type { HandlerDeps, HttpContext } from '../route.ts';
import { readUpload, refuseLength } from '../upload.ts';
import { wireFile } from '../wire.ts';

/** What may be sent, for clients that ask before they send. */
export function readFileLimits(c: HttpContext, deps: HandlerDeps): Response {
  return c.json(deps.gateway.files.limits);
}

/** Stores the file of the body, raw or as a form; the answer has the name by which a message refers to it. */
export async function uploadFile(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const { incoming, outgoing } = c.env;
  const { files } = deps.gateway;
  const caller = c.get('caller');
  const key: SessionKey = `http:${postableId(c.req.param('key') ?? '')}`;
  refuseEncodings(incoming);
  refuseLength(incoming, files.limits.maxFileBytes);
  const end = await deps.limits.beginUpload(caller, key);
  try {
    if (incoming.headers.expect !== undefined) outgoing.writeContinue();
    const upload = await readUpload(incoming, c.req.query('name'));
    const stored = await files.upload(caller, key, upload);
    if (stored === undefined) throw noSession(key);
    return c.json(wireFile(stored), 201);
  } finally {
    end();
  }
}

/** The files of the session, newest first. */
export async function listFiles(c: HttpContext, { gateway }: HandlerDeps): Promise<Response> {
  const key = readableKey(c.req.param('key') ?? '');
  const found = await gateway.files.list(c.get('caller'), key);
  if (found === undefined) throw noSession(key);
  return c.json(found);
}

/** The bytes of a file. Only pictures are shown in place; nothing in a file runs. */
export async function downloadFile(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const key = readableKey(c.req.param('key') ?? '');
  const { outgoing } = c.env;
  await using file = await deps.gateway.files.open(c.get('caller'), key, pathIn(c));
  if (file === undefined) throw noSession(key);
  outgoing.writeHead(200, headersOf(file));
  try {
    await pipeline(file.chunks(), outgoing);
  } catch (error) {
    // The client disconnected, or the file was cut short: the client sees that the response ended early.
    deps.log.debug({ err: error, requestId: requestId(outgoing) }, 'download_ended');
  }
  return RESPONSE_ALREADY_SENT;
}

/** Removes an uploaded file. */
export async function deleteFile(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const key = readableKey(c.req.param('key') ?? '');
  const file = pathIn(c);
  if ((await deps.gateway.files.remove(c.get('caller'), key, file)) === undefined) throw noSession(key);
  return c.json({ file, deleted: true });
}

/** The path after `/files/`; its slashes may be written as they are or as `%2F`. */
function pathIn(c: HttpContext): string {
  const path = c.req.path.split('/').slice(5).join('/');
  try {
    return decodeURIComponent(path);
  } catch (cause) {
    throw new HttpError(400, 'bad_path', 'The path of the file is not valid in a URL.', { cause });
  }
}

/** Pictures that every browser draws and none runs: the only files that are shown in place. */
const SHOWN = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif']);
/** Types that a download may declare; any other is sent as bytes. */
const DECLARED_TYPES =
  /^(?:(?:audio|video)\/[\w.+-]+|text\/(?:plain|csv|markdown)|application\/(?:pdf|json|zip))$/;

function headersOf({ mimeType, name, bytes }: ReadableFile): Record<string, string> {
  const isShown = SHOWN.has(mimeType);
  const type = isShown || DECLARED_TYPES.test(mimeType) ? mimeType : 'application/octet-stream';
  const quoted = name.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_');
  const encoded = encodeURIComponent(name).replaceAll(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16)}`,
  );
  return {
    'content-type': type.startsWith('text/') ? `${type}; charset=utf-8` : type,
    'content-length': String(bytes),
    'content-disposition': `${isShown ? 'inline' : 'attachment'}; filename="${quoted}"; filename*=UTF-8''${encoded}`,
    'content-security-policy': "default-src 'none'; sandbox",
    'cross-origin-resource-policy': 'same-origin',
    'cache-control': 'private, no-cache',
  };
}
