/** A message for a session, by a POST or over a WebSocket. */
import { z } from 'zod';
import type { Caller } from '../../../src/protocol/access.ts';
import type { Media } from '../../../src/protocol/media.ts';
import { readMode } from '../../../src/protocol/agent/plan.ts';
import { MAX_QUOTED_CHARS } from '../../../src/protocol/message.ts';
import { cleanText } from '../../../src/lib/text.ts';
import { MAX_FILE_REFERENCE, MODELS_TIMEOUT_MS } from '../config.ts';
import { HttpError, noSession } from '../errors.ts';
import { checkRepeat, refusal, toInbound } from '../inbound.ts';
import type { HandlerDeps } from '../route.ts';
import { acceptedAt } from '../wire.ts';
import { endUserSchema } from './end-user.ts';

/** What a message for a session says. */
export const messageSchema = z.strictObject({
  content: z.string(),
  /** Files of the session that were uploaded for this message. */
  files: z.array(z.string().min(1).max(MAX_FILE_REFERENCE)).default([]),
  /** What the message replies to, as someone else's text. */
  quoted: z
    .strictObject({
      text: z.string().min(1).max(MAX_QUOTED_CHARS),
      author: z.string().max(200).optional(),
    })
    .optional(),
  /** As in chat completions: the end user whose memories count. */
  user: endUserSchema,
  /** As in chat completions, for this turn only. */
  model: z.string().min(1).optional(),
  /** The plan mode of this turn, instead of the session's. */
  mode: z.string().optional(),
  /** Settings of the session, which count when this is its first message. */
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

type Answered = ReturnType<typeof acceptedAt>;
/** The answer to a message; of a command also whether there is a session. */
export type PostedAnswer =
  | Exclude<Answered, { handled: true }>
  | (Extract<Answered, { handled: true }> & { session: boolean });

/** Passes the message to the gateway; what it answers is committed. Throws `HttpError` and other `GatewayError`s. */
export async function acceptPosted(
  deps: Pick<HandlerDeps, 'gateway' | 'receive'>,
  caller: Caller,
  posted: Posted,
): Promise<PostedAnswer> {
  const { id, key, user, quoted } = posted;
  const media = await mediaOf(deps, caller, id, posted.files);
  const content = cleanText(posted.content);
  const message = toInbound(key, caller, id, { content, media, user, quoted, language: posted.language });
  const signal = AbortSignal.timeout(MODELS_TIMEOUT_MS);
  const choice = posted.model === undefined ? {} : await deps.gateway.resolveModel(posted.model, signal);
  const mode = posted.mode === undefined ? undefined : readMode(posted.mode);
  const begins = posted.session && (await checkedBeginning(deps, caller, posted.session));
  // Read before the message is accepted: a fast turn may have ended when this answer is made.
  const before = deps.gateway.lastEventId(`http:${id}`);
  const receipt = await deps.receive(message, { caller, mode, begins, ...choice });
  if (receipt.kind === 'refused') throw refusal(receipt, `http:${id}`);
  checkRepeat(receipt);
  const answer = acceptedAt(receipt, before);
  if (answer.handled !== true) return answer;
  // A command may leave a new chat without a session: then a client has nothing to follow yet.
  return { ...answer, session: (await deps.gateway.session(caller, `http:${id}`)) !== undefined };
}

function checkedBeginning(
  { gateway }: Pick<HandlerDeps, 'gateway'>,
  caller: Caller,
  { profileId, model, mode }: NonNullable<Posted['session']>,
): ReturnType<HandlerDeps['gateway']['conversations']['checkChoice']> {
  return gateway.conversations.checkChoice(caller, {
    ...(profileId !== undefined && { profileId }),
    ...(model !== undefined && { model }),
    ...(mode !== undefined && { mode }),
  });
}

/** The uploaded files that the message names. Throws `HttpError` 400 or 404. */
async function mediaOf(
  { gateway }: Pick<HandlerDeps, 'gateway'>,
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
