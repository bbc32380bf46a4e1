/** What a client may say over a WebSocket. */
import type { RawData, WebSocket } from 'ws';
import { z } from 'zod';
import type { Clock } from '../../../src/lib/clock.ts';
import { EVENT_ID } from '../../../src/protocol/event.ts';
import { parseText } from '../body.ts';
import { MAX_WAITING_FRAMES, WEBSOCKET_AUTH_MS } from '../config.ts';
import { HttpError } from '../errors.ts';
import { IDEMPOTENCY_KEY } from '../inbound.ts';
import { consistent, decisionFields } from '../routes/approvals.ts';
import { messageSchema } from '../routes/messages.ts';

/** Close codes: of RFC 6455, 7.4.1, and of this API (4000-4999). */
export const CLOSE = { unsupported: 1003, policy: 1008, tryAgain: 1013, unauthorized: 4401, tooMany: 4429 };

/** Names a frame; its answer has the same name. */
const ref = z.union([z.string().max(64), z.int()]).optional();
const session = z.string().min(1).max(200);
const eventId = z.string().regex(EVENT_ID, 'must be the id of an event');

const framesByType = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('subscribe'), ref, session, lastEventId: eventId.optional() }),
  /** As `subscribe`, from the event after this one. */
  z.strictObject({ type: z.literal('resume'), ref, session, lastEventId: eventId }),
  z.strictObject({ type: z.literal('unsubscribe'), ref, session }),
  /** What happens in all sessions that the token may see, without texts. */
  z.strictObject({ type: z.literal('subscribe_all'), ref }),
  z.strictObject({ type: z.literal('unsubscribe_all'), ref }),
  messageSchema.extend({
    type: z.literal('message'),
    ref,
    session,
    /** As `Idempotency-Key`. */
    key: z.string().regex(IDEMPOTENCY_KEY).optional(),
  }),
  z.strictObject({ type: z.literal('stop'), ref, session }),
  z.strictObject({ type: z.literal('approve'), ref, id: z.string(), ...decisionFields }),
  z.strictObject({ type: z.literal('ping'), ref }),
]);

const approveSchema = consistent(z.object(decisionFields));
const frameSchema = framesByType.superRefine((frame, context) => {
  if (frame.type !== 'approve') return;
  for (const { message, path } of approveSchema.safeParse(frame).error?.issues ?? [])
    context.addIssue({ code: 'custom', message, path });
});

/** A frame of a client. */
export type ClientFrame = z.output<typeof frameSchema>;

const namedSchema = z.object({ ref });
const authSchema = z.strictObject({ type: z.literal('auth'), token: z.string().min(1).max(500), ref });

/** Reads a frame. Throws `HttpError` 400 or 413. */
export function readFrame(text: string): ClientFrame {
  return parseText(text, frameSchema);
}

/** The name of a frame that cannot be read, if it has one. Never throws. */
export function refOf(text: string): string | number | undefined {
  try {
    return parseText(text, namedSchema).ref;
  } catch {
    // The answer says what is wrong with the frame anyway.
    return undefined;
  }
}

/** The token of the frame `auth`, which must come first and within `WEBSOCKET_AUTH_MS`. Throws `HttpError` 401. */
export async function readToken(inbox: Inbox, clock: Clock): Promise<string> {
  const late = Promise.withResolvers<'late'>();
  const cancel = clock.after(WEBSOCKET_AUTH_MS, () => late.resolve('late'));
  const text = await Promise.race([inbox.next(), late.promise]);
  cancel();
  if (text === 'late') {
    const message = `No token came within ${WEBSOCKET_AUTH_MS / 1_000} seconds. ${ASK}`;
    throw new HttpError(401, 'auth_timeout', message);
  }
  try {
    return parseText(text ?? '', authSchema).token;
  } catch (cause) {
    throw new HttpError(401, 'invalid_api_key', ASK, { cause });
  }
}

const ASK =
  'Send your token in the header "Authorization: Bearer …", or as the first frame: {"type": "auth", "token": "…"}.';

/** The frames of a client in order. While some wait, those behind them stay in the client's own socket. */
export class Inbox {
  readonly #webSocket: WebSocket;
  readonly #waiting: string[] = [];
  #reader: ((text: string | undefined) => void) | undefined;

  constructor(webSocket: WebSocket) {
    this.#webSocket = webSocket;
    webSocket.on('message', (data: RawData, isBinary: boolean) => this.#add(data, isBinary));
    webSocket.once('close', () => {
      this.#waiting.length = 0;
      this.#reader?.(undefined);
    });
  }

  /** The next frame; undefined once the socket is closed. One reader at a time. */
  async next(): Promise<string | undefined> {
    const text = this.#waiting.shift();
    if (text !== undefined) return text;
    const { readyState, OPEN } = this.#webSocket;
    if (readyState !== OPEN) return undefined;
    this.#webSocket.resume();
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    this.#reader = resolve;
    return await promise;
  }

  #add(data: RawData, isBinary: boolean): void {
    if (isBinary) return this.#refuse(CLOSE.unsupported, 'text_frames_only');
    if (this.#waiting.length >= MAX_WAITING_FRAMES) return this.#refuse(CLOSE.policy, 'too_many_frames');
    this.#webSocket.pause();
    const reader = this.#reader;
    this.#reader = undefined;
    if (reader === undefined) this.#waiting.push(textOf(data));
    else reader(textOf(data));
    return undefined;
  }

  #refuse(code: number, reason: string): void {
    this.#webSocket.close(code, reason);
    // Paused, it would not notice that the client closes, either.
    this.#webSocket.resume();
  }
}

/** A text frame as text: `ws` has checked that it is UTF-8. */
function textOf(data: RawData): string {
  if (Array.isArray(data)) return Buffer.concat(data).toString('utf8');
  return data instanceof ArrayBuffer ? Buffer.from(data).toString('utf8') : data.toString('utf8');
}
