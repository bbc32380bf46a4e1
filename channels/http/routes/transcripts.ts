/** The export of a session: all of its messages as one file. */
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  readFormat,
  type TranscriptFormat,
  transcriptOf,
  type TranscriptSource,
} from '../../../src/protocol/sessions/session-list.ts';
import { HttpError, noSession } from '../errors.ts';
import { readableKey } from '../inbound.ts';
import { type HandlerDeps, type HttpContext, requestId } from '../route.ts';

const TYPES: Readonly<Record<TranscriptFormat, string>> = {
  md: 'text/markdown; charset=utf-8',
  json: 'application/json; charset=utf-8',
};

/** Streams the session in the `format` of the query, `md` (default) or `json`. */
export async function exportSession(c: HttpContext, { gateway, log }: HandlerDeps): Promise<Response> {
  const key = readableKey(c.req.param('key') ?? '');
  const format = formatOf(c);
  const caller = c.get('caller');
  const session = await gateway.session(caller, key);
  if (session === undefined) throw noSession(key);
  const { incoming, outgoing } = c.env;
  const name = key.replaceAll(/[^A-Za-z0-9_-]/g, '-');
  outgoing.writeHead(200, {
    'content-type': TYPES[format],
    'content-disposition': `attachment; filename="${name}.${format}"`,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  if (incoming.method === 'HEAD') {
    outgoing.end();
    return RESPONSE_ALREADY_SENT;
  }
  const source: TranscriptSource = {
    messages: (page) => gateway.messages(caller, key, page),
    resets: (span) => gateway.conversations.resets(caller, key, span),
  };
  const pieces = transcriptOf(session, source, format);
  try {
    await pipeline(Readable.from(pieces), outgoing);
  } catch (error) {
    // The client disconnected, or the store did: the client sees that the response ended early.
    log.debug({ err: error, requestId: requestId(outgoing) }, 'export_ended');
  }
  return RESPONSE_ALREADY_SENT;
}

function formatOf(c: HttpContext): TranscriptFormat {
  try {
    return readFormat(c.req.query('format') ?? 'md');
  } catch (cause) {
    throw new HttpError(400, 'invalid_query', '"format" must be md or json.', { param: 'format', cause });
  }
}
