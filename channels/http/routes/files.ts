/** The routes of a session's files: a file comes before the message that names it; readers of the session may fetch it. */
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import type { ReadableFile } from '../../../src/protocol/file-api.ts';
import type { SessionKey } from '../../../src/protocol/message.ts';
import { refuseEncodings } from '../body.ts';
import { HttpError, noSession } from '../errors.ts';
import { inSession, postableId } from '../inbound.ts';
import { type HttpContext, requestId, type Route, routeOf } from '../route.ts';
import { readUpload, refuseLength } from '../upload.ts';
import { wireFile } from '../wire.ts';

/** What a request for a file gets: the whole, a part from `from` to before `to`, nothing new, or a refusal. */
type Selection =
  | { status: 200 }
  | { status: 206; from: number; to: number }
  | { status: 304 }
  | { status: 416 };

/** Pictures that every browser draws and none runs: the only files that are shown in place. */
const SHOWN = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif']);

/** Types that a download may declare; any other is sent as bytes. */
const DECLARED_TYPES =
  /^(?:(?:audio|video)\/[\w.+-]+|text\/(?:plain|csv|markdown)|application\/(?:pdf|json|zip))$/;

/** A client asks each time whether it may still have the file, and whether it has changed. */
const CACHE_CONTROL = 'private, no-cache';

const listedFileJson = z.object({
  file: z.string().describe('its path, as in `GET /v1/sessions/{key}/files/…`'),
  name: z.string(),
  bytes: z.int(),
  changedAt: z.string(),
});

const file = { type: 'string', format: 'binary' };
/** A file as the body, or in a form. */
const FILE_OR_FORM = {
  'application/octet-stream': { schema: file },
  'multipart/form-data': { schema: { type: 'object', properties: { file } } },
};

const route = routeOf('files');

export const fileRoutes: readonly Route[] = [
  route('GET', '/v1/sessions/:key/files', 'chat', {
    summary: 'The files of the session, the newest first',
    description: 'At most 500, `more` if there are others.',
    answer: z.object({ files: z.array(listedFileJson), more: z.boolean() }),
    async handle(c, { gateway }) {
      return c.json(await inSession(c, (caller, key) => gateway.files.list(caller, key)));
    },
  }),
  route('POST', '/v1/sessions/:key/files', 'chat', {
    summary: 'Store a file for a message',
    description:
      'The bytes as they are, or a form with one file. The same content under the same name is one file. A message names it in `files`.',
    query: { name: 'its name; not for a form' },
    upload: FILE_OR_FORM,
    status: 201,
    async handle(c, deps) {
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
        const attachment = await files.upload(caller, key, upload);
        if (attachment === undefined) throw noSession(key);
        return c.json(wireFile(attachment), 201);
      } finally {
        end();
      }
    },
  }),
  route('GET', '/v1/sessions/:key/files/*', 'chat', {
    summary: 'A file of the session',
    description:
      'With an ETag, and in parts with `Range`. Only pictures are shown in place; nothing in a file runs.',
    answer: 'bytes',
    others: [
      { status: 206, type: '*/*', body: 'bytes' },
      { status: 304, body: 'nothing' },
    ],
    /** The file, or the part that `Range` asks for; 304 for a client that has it. Only pictures are shown in place. */
    async handle(c, deps) {
      const { incoming, outgoing } = c.env;
      await using file = await inSession(c, (caller, key) => deps.gateway.files.open(caller, key, pathIn(c)));
      const { bytes } = file;
      const etag = `"${bytes.toString(36)}-${file.changedAt.getTime().toString(36)}"`;
      const selection = selectionOf(incoming, etag, bytes);
      const headers = { ...headersOf(file), 'accept-ranges': 'bytes', etag };
      if (selection.status === 304) return c.body(null, 304, { etag, 'cache-control': CACHE_CONTROL });
      if (selection.status === 416) {
        outgoing.setHeader('content-range', `bytes */${bytes}`);
        throw new HttpError(416, 'range_not_satisfiable', `The file has ${bytes} bytes.`, { param: 'range' });
      }
      const { from, to } = selection.status === 206 ? selection : { from: 0, to: bytes };
      outgoing.writeHead(selection.status, {
        ...headers,
        'content-length': String(to - from),
        ...(selection.status === 206 && { 'content-range': `bytes ${from}-${to - 1}/${bytes}` }),
      });
      if (incoming.method === 'HEAD') {
        outgoing.end();
        return RESPONSE_ALREADY_SENT;
      }
      try {
        await pipeline(file.chunks(from, to), outgoing);
      } catch (error) {
        // The client disconnected, or the file was cut short: the client sees that the response ended early.
        deps.log.debug({ err: error, requestId: requestId(outgoing) }, 'download_ended');
      }
      return RESPONSE_ALREADY_SENT;
    },
  }),
  route('DELETE', '/v1/sessions/:key/files/*', 'chat', {
    summary: 'Remove a file that was sent',
    description: 'Only files that were sent over the API; the messages that brought it stay.',
    async handle(c, deps) {
      const file = pathIn(c);
      await inSession(c, (caller, key) => deps.gateway.files.remove(caller, key, file));
      return c.json({ file, deleted: true });
    },
  }),
  route('GET', '/v1/file-limits', 'chat', {
    summary: 'How large files may be, and how many a message brings',
    description: 'For clients that check before they send.',
    handle(c, deps) {
      return c.json(deps.gateway.files.limits);
    },
  }),
];

/** The path after `/files/`; its slashes may be written as they are or as `%2F`. */
function pathIn(c: HttpContext): string {
  const path = c.req.path.split('/').slice(5).join('/');
  try {
    return decodeURIComponent(path);
  } catch (cause) {
    throw new HttpError(400, 'bad_path', 'The path of the file is not valid in a URL.', { cause });
  }
}

function headersOf({ mimeType, name }: ReadableFile): Record<string, string> {
  const isShown = SHOWN.has(mimeType);
  const type = isShown || DECLARED_TYPES.test(mimeType) ? mimeType : 'application/octet-stream';
  const quoted = name.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_');
  const encoded = encodeURIComponent(name).replaceAll(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16)}`,
  );
  return {
    'content-type': type.startsWith('text/') ? `${type}; charset=utf-8` : type,
    'content-disposition': `${isShown ? 'inline' : 'attachment'}; filename="${quoted}"; filename*=UTF-8''${encoded}`,
    'content-security-policy': "default-src 'none'; sandbox",
    'cross-origin-resource-policy': 'same-origin',
    'cache-control': CACHE_CONTROL,
  };
}

/** Reads the headers of a request for a file of that many bytes. Several or malformed ranges get all. Never throws. */
function selectionOf({ headers, method }: IncomingMessage, etag: string, bytes: number): Selection {
  const cachedTags = headers['if-none-match'];
  if (cachedTags !== undefined && matches(cachedTags, etag)) return { status: 304 };
  const { range, 'if-range': validator } = headers;
  if (range === undefined || method !== 'GET') return { status: 200 };
  if (validator !== undefined && validator !== etag) return { status: 200 };
  const [, first, last] = /^bytes=[ \t]*(\d{0,15})-(\d{0,15})[ \t]*$/.exec(range) ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return { status: 200 };
  if (first === '') {
    const length = Math.min(Number(last), bytes);
    return length === 0 ? { status: 416 } : { status: 206, from: bytes - length, to: bytes };
  }
  const from = Number(first);
  if (last !== '' && Number(last) < from) return { status: 200 };
  if (from >= bytes) return { status: 416 };
  return { status: 206, from, to: last === '' ? bytes : Math.min(Number(last) + 1, bytes) };
}

/** True if one of the listed tags is this one: weak or strong, as `If-None-Match` compares. */
function matches(list: string, etag: string): boolean {
  return list.trim() === '*' || list.split(',').some((one) => one.trim().replace(/^W\//, '') === etag);
}
