/** One WebSocket after its token is known: frames in, one after the other; answers and events out. */
import { sseId } from '../../../src/protocol/event.ts';
import type { SessionKey } from '../../../src/protocol/message.ts';
import { requireScope } from '../authenticator.ts';
import { MAX_SUBSCRIPTIONS } from '../config.ts';
import { callerReader, errorBody, HttpError, noSession, toHttpError } from '../errors.ts';
import { eachOnce, EventFrames } from '../event-stream.ts';
import { postableId, readableKey } from '../inbound.ts';
import type { HandlerDeps } from '../route.ts';
import { undecided } from '../routes/approvals.ts';
import { followAll } from '../routes/events.ts';
import { acceptPosted } from '../routes/messages.ts';
import { type ClientFrame, type Inbox, readFrame, refOf } from './frames.ts';
import type { SocketStream } from './socket-stream.ts';

/** Serves the socket until it closes; every frame gets `ok` or `error`, with its `ref`. Never throws. */
export async function converse(
  deps: HandlerDeps,
  inbox: Inbox,
  stream: SocketStream,
  language: string | undefined,
): Promise<void> {
  const subscriptions = new Subscriptions(deps, stream);
  stream.write(JSON.stringify({ type: 'ready', scopes: stream.owner.caller.scopes }));
  for (let text = await inbox.next(); text !== undefined; text = await inbox.next())
    await answer(deps, { stream, subscriptions, language }, text);
  subscriptions.end();
}

interface Served {
  stream: SocketStream;
  subscriptions: Subscriptions;
  language: string | undefined;
}

async function answer(deps: HandlerDeps, served: Served, text: string): Promise<void> {
  const { stream } = served;
  let ref: string | number | undefined;
  try {
    const frame = readFrame(text);
    ({ ref } = frame);
    await act(deps, served, frame);
  } catch (error) {
    const httpError = toHttpError(error, callerReader(stream.owner.caller));
    if (httpError.status === 500) deps.log.error({ err: httpError.cause ?? httpError }, 'ws_frame_failed');
    const { retryAfterMs } = httpError;
    const body = { ...errorBody(httpError), ...(retryAfterMs !== undefined && { retryAfterMs }) };
    stream.write(JSON.stringify({ type: 'error', ref: ref ?? refOf(text), ...body }));
  }
}

/** Does what the frame says and answers it. Throws `HttpError` and other `GatewayError`s. */
async function act(
  deps: HandlerDeps,
  { stream, subscriptions, language }: Served,
  frame: ClientFrame,
): Promise<void> {
  const { caller } = stream.owner;
  const ok = (result: object = {}): void =>
    stream.write(JSON.stringify({ type: 'ok', ref: frame.ref, ...result }));
  switch (frame.type) {
    case 'ping':
      return ok();
    case 'subscribe':
    case 'resume':
      return await subscriptions.add(readableKey(frame.session), frame.lastEventId, ok);
    case 'unsubscribe':
      subscriptions.remove(readableKey(frame.session));
      return ok();
    case 'subscribe_all':
      subscriptions.addAll();
      return ok();
    case 'unsubscribe_all':
      subscriptions.removeAll();
      return ok();
    case 'message': {
      const { session, key, ref: _ref, type: _type, ...body } = frame;
      return ok(await acceptPosted(deps, caller, { ...body, id: postableId(session), key, language }));
    }
    case 'stop': {
      const session = readableKey(frame.session);
      const result = await deps.gateway.stop(caller, session);
      if (result === undefined) throw noSession(session);
      return ok({ stopped: result.stopped, cancelled: result.cancelled, agents: result.agents });
    }
    case 'approve': {
      requireScope(caller, 'approve');
      const { id, decision, reason, always: isPermanent, args } = frame;
      const result = await deps.gateway.decide(caller, id, decision, { reason, always: isPermanent, args });
      if (result.kind !== 'decided') throw undecided(result);
      return ok({ id, decision: result.decision, ...(result.rule && { rule: result.rule }) });
    }
    default:
      return frame satisfies never;
  }
}

class Subscriptions {
  readonly #deps: HandlerDeps;
  readonly #stream: SocketStream;
  readonly #ends = new Map<SessionKey, () => void>();
  readonly #frames = new EventFrames();
  #endAll: (() => void) | undefined;

  constructor(deps: HandlerDeps, stream: SocketStream) {
    this.#deps = deps;
    this.#stream = stream;
  }

  /** Follows a session, first what the reader missed; `ok` comes before its events. Throws `HttpError` 404 or 429. */
  async add(key: SessionKey, lastEventId: string | undefined, ok: (said: object) => void): Promise<void> {
    const { gateway } = this.#deps;
    if (!this.#ends.has(key) && this.#ends.size >= MAX_SUBSCRIPTIONS) {
      const text = `A WebSocket follows at most ${MAX_SUBSCRIPTIONS} sessions; "subscribe_all" reports what happens in all.`;
      throw new HttpError(429, 'too_many_subscriptions', text);
    }
    if ((await gateway.session(this.#stream.owner.caller, key)) === undefined) throw noSession(key);
    if (!this.#stream.open) return;
    this.remove(key);
    // Synchronous, so that no event is emitted between the replay and the subscription.
    const replay = gateway.replay(key, lastEventId);
    const write = eachOnce((event) => {
      const id = sseId(event);
      const idField = id === undefined ? '' : `"id":"${id}",`;
      this.#stream.writeEvent(key, id, `{"type":"event",${idField}"event":${this.#frames.jsonOf(event)}}`);
      if (event.type === 'session_deleted') this.remove(key);
    }, replay.endedTurn);
    this.#ends.set(key, gateway.subscribe({ sessionKey: key }, write));
    ok({ session: key });
    for (const event of replay.events) write(event);
  }

  remove(key: SessionKey): void {
    this.#ends.get(key)?.();
    this.#ends.delete(key);
    this.#stream.leave(key);
  }

  addAll(): void {
    this.#endAll ??= followAll(this.#deps.gateway, this.#stream.owner.caller, (json) =>
      this.#stream.write(`{"type":"activity","event":${json}}`),
    );
  }

  removeAll(): void {
    this.#endAll?.();
    this.#endAll = undefined;
  }

  end(): void {
    this.removeAll();
    for (const key of this.#ends.keys()) this.remove(key);
  }
}
