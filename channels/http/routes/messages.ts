/** A message for a session, by a POST or over a WebSocket. */
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import type { Caller } from '../../../src/protocol/access.ts';
import type { Media } from '../../../src/protocol/media.ts';
import { readMode } from '../../../src/protocol/agent/plan.ts';
import { MAX_QUOTED_CHARS } from '../../../src/protocol/message.ts';
import {
  readFormat,
  type TranscriptFormat,
  transcriptOf,
  type TranscriptSource,
} from '../../../src/protocol/sessions/session-list.ts';
import { cleanText } from '../../../src/lib/text.ts';
import { MAX_FILE_REFERENCE, MODELS_TIMEOUT_MS } from '../config.ts';
import { HttpError, noSession } from '../errors.ts';
import { accept, endUserSchema, keyOf, toInbound } from '../inbound.ts';
import { type HandlerDeps, type HttpContext, requestId, type Route, routeOf } from '../route.ts';
import type { WireReceipt } from '../wire.ts';

/** What a message for a session says. */
export const messageSchema = z.strictObject({
  content: z.string(),
  /** Files of the session that were uploaded for this message. */
  files: z.array(z.string().min(1).max(MAX_FILE_REFERENCE)).default([]),
  /** The files are recordings of the sender's own words for this message: those that hold sound are voice notes. */
  voice: z.boolean().optional(),
  /** What the message replies to, as someone else's text. */
  quoted: z
    .strictObject({
      text: z.string().min(1).max(MAX_QUOTED_CHARS),
      author: z.string().max(200).optional(),
    })
    .optional(),
  /** As in chat completions: the end user whose memories are used. */
  user: endUserSchema,
  /** As in chat completions, for this turn only. */
  model: z.string().min(1).optional(),
  /** The plan mode of this turn, instead of the session's. */
  mode: z.string().optional(),
  /** Settings of the session, used if this is its first message. */
  session: z
    .strictObject({
      profileId: z.string().min(1).optional(),
      model: z.string().min(1).optional(),
      mode: z.string().optional(),
    })
    .optional(),
});

/** A message with the id of its session (the part after `http:`), and the `Idempotency-Key` of its sender. */
export interface Posted extends z.output<typeof messageSchema> {
  id: string;
  key: string | undefined;
  /** The header `Accept-Language`. */
  language?: string | undefined;
}

/** The answer to a message; of a command also whether there is a session. */
export type PostedAnswer =
  | Exclude<WireReceipt, { handled: true }>
  | (Extract<WireReceipt, { handled: true }> & { session: boolean });

const TYPES: Readonly<Record<TranscriptFormat, string>> = {
  md: 'text/markdown; charset=utf-8',
  json: 'application/json; charset=utf-8',
};

const route = routeOf('sessions');

export const messageRoutes: readonly Route[] = [
  route('GET', '/v1/sessions/:key/export', 'chat', {
    summary: 'The whole session as a file',
    description: 'Files are listed, not included.',
    query: { format: '`md` (default) or `json`' },
    answer: 'nothing',
    others: [
      { type: 'text/markdown', body: 'text' },
      { body: z.looseObject({ messages: z.array(z.looseObject({})) }) },
    ],
    async handle(c, { gateway, log }) {
      const key = keyOf(c);
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
    },
  }),
];

/** Passes the message to the gateway; what it answers is committed. Throws `HttpError` and other `GatewayError`s. */
export async function acceptPosted(deps: HandlerDeps, caller: Caller, posted: Posted): Promise<PostedAnswer> {
  const { id, key, user, quoted } = posted;
  const files = await mediaOf(deps, caller, id, posted.files);
  const media = posted.voice === true ? files.map(asVoice) : files;
  const content = cleanText(posted.content);
  const message = toInbound(key, caller, id, { content, media, user, quoted, language: posted.language });
  const signal = AbortSignal.timeout(MODELS_TIMEOUT_MS);
  const choice = posted.model === undefined ? {} : await deps.gateway.resolveModel(posted.model, signal);
  const mode = posted.mode === undefined ? undefined : readMode(posted.mode);
  const begins = posted.session && (await deps.gateway.conversations.checkChoice(caller, posted.session));
  const answer = await accept(deps, message, { caller, mode, begins, ...choice });
  if (answer.handled !== true) return answer;
  // A command may leave a new chat without a session: then a client has nothing to follow yet.
  return { ...answer, session: (await deps.gateway.session(caller, `http:${id}`)) !== undefined };
}

/** Browsers record sound into a container that may also hold video. */
function asVoice(media: Media): Media {
  return media.kind === 'audio' || media.mimeType === 'video/webm' ? { ...media, kind: 'voice' } : media;
}

/** The uploaded files that the message names. Throws `HttpError` 400 or 404. */
async function mediaOf(
  { gateway }: HandlerDeps,
  caller: Caller,
  id: string,
  files: string[],
): Promise<Media[]> {
  if (files.length === 0) return [];
  const { maxFilesPerMessage } = gateway.files.limits;
  if (files.length > maxFilesPerMessage || new Set(files).size < files.length) {
    const text = `A message brings at most ${maxFilesPerMessage} files, each of them once.`;
    throw new HttpError(400, 'too_many_files', text, { param: 'files' });
  }
  const media = await gateway.files.named(caller, `http:${id}`, files);
  if (media === undefined) throw noSession(`http:${id}`);
  return media;
}

function formatOf(c: HttpContext): TranscriptFormat {
  try {
    return readFormat(c.req.query('format') ?? 'md');
  } catch (cause) {
    throw new HttpError(400, 'invalid_query', '"format" must be md or json.', { param: 'format', cause });
  }
}
