/** `GET /v1/events`: what happens in all sessions that the caller may see, without texts: for lists that stay up to date. */
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { type Caller, hasScope } from '../../../src/protocol/access.ts';
import { type AgentEvent, EVENT_ID } from '../../../src/protocol/event.ts';
import type { GatewayApi } from '../../../src/protocol/gateway-api.ts';
import type { SessionKey } from '../../../src/protocol/message.ts';
import { TtlCache } from '../../../src/lib/ttl-cache.ts';
import { HttpError, noSession } from '../errors.ts';
import { eachOnce, EventFrames, EVENTS } from '../event-stream.ts';
import { keyOf } from '../inbound.ts';
import { type Route, routeOf } from '../route.ts';
import { queryOf } from './sign-in.ts';

/** Time that a browser waits before it reconnects. */
const RETRY_MS = 1_000;

/** Sessions whose owner is remembered, for all streams together. */
const MAX_KNOWN = 10_000;

/** Events sent once at the beginning of a run of their kind: without texts, further ones say nothing new. */
const GROWING: ReadonlySet<AgentEvent['type']> = new Set(['thinking_delta', 'stream_chunk', 'tool_progress']);

/** Receives each event as JSON. */
type ListReader = (json: string) => void;

/** One subscription for all streams of a gateway: each model token is checked once, however many pages are open. */
class ListEvents {
  readonly #gateway: GatewayApi;
  readonly #readers = new Map<ListReader, Caller>();
  /** Whether a token may see a session, which never changes while the session exists; asked once, also while the answer is on its way. */
  readonly #seen = new TtlCache<Promise<boolean>>(Number.POSITIVE_INFINITY, MAX_KNOWN, () => 0);
  /** What grows now, by session and agent. */
  readonly #growing = new TtlCache<AgentEvent['type']>(Number.POSITIVE_INFINITY, MAX_KNOWN, () => 0);
  #unsubscribe: (() => void) | undefined;

  constructor(gateway: GatewayApi) {
    this.#gateway = gateway;
  }

  add(reader: ListReader, caller: Caller): () => void {
    this.#readers.set(reader, caller);
    this.#unsubscribe ??= this.#gateway.subscribe({}, (event) => {
      if (this.#isNews(event)) this.#tell(event);
    });
    return () => {
      this.#readers.delete(reader);
      if (this.#readers.size > 0) return;
      this.#unsubscribe?.();
      this.#unsubscribe = undefined;
    };
  }

  /** False for what only continues to grow. */
  #isNews({ type, sessionKey, agentId }: AgentEvent): boolean {
    const place = `${sessionKey} ${agentId ?? ''}`;
    if (!GROWING.has(type)) {
      this.#growing.delete(place);
      return true;
    }
    if (this.#growing.get(place) === type) return false;
    this.#growing.set(place, type);
    return true;
  }

  #tell(event: AgentEvent): void {
    const { type, sessionKey, turnId, at, agentId, isSubagent } = event;
    const json = JSON.stringify({ type, sessionKey, turnId, at, agentId, isSubagent });
    for (const [reader, caller] of this.#readers) {
      if (hasScope(caller, 'admin')) reader(json);
      else void this.#tellIfSeen({ reader, caller, sessionKey, json });
    }
    if (type === 'session_deleted')
      for (const { tokenId } of this.#readers.values()) this.#seen.delete(pairOf(tokenId, sessionKey));
  }

  /** All events of a session wait for the same answer, which keeps their order: a turn must not end before it starts. */
  async #tellIfSeen(about: { reader: ListReader; caller: Caller; sessionKey: SessionKey; json: string }) {
    const { reader, caller, sessionKey, json } = about;
    const isSeen = await this.#maySee(caller, sessionKey);
    if (isSeen && this.#readers.has(reader)) reader(json);
  }

  #maySee(caller: Caller, key: SessionKey): Promise<boolean> {
    const pair = pairOf(caller.tokenId, key);
    const existing = this.#seen.get(pair);
    if (existing !== undefined) return existing;
    const access = this.#gateway.session(caller, key).then(
      (session) => session !== undefined,
      () => {
        // The store cannot be reached: the reader loads its list again when it reconnects, and other events follow.
        this.#seen.delete(pair);
        return false;
      },
    );
    this.#seen.set(pair, access);
    return access;
  }
}

const lists = new WeakMap<GatewayApi, ListEvents>();

const route = routeOf('sessions');

export const eventRoutes: readonly Route[] = [
  route('GET', '/v1/events', 'chat', {
    token: 'ticket',
    summary: 'What happens in all sessions of the token, without texts',
    description:
      'For lists and dashboards: every kind of event with `type`, `sessionKey`, `turnId` and `at`; tokens and progress count once until something else happens.',
    answer: 'events',
    handle(c, { gateway, streams }) {
      const { incoming, outgoing } = c.env;
      const caller = c.get('caller');
      // A stream that is never read would stay open.
      if (incoming.method === 'HEAD') return c.body(null, 200, EVENTS.headers);
      const stream = streams.add({ caller, authorization: incoming.headers.authorization ?? '' }, outgoing);
      outgoing.once(
        'close',
        followAll(gateway, caller, (json) => stream.write(`data: ${json}\n\n`)),
      );
      stream.write(`retry: ${RETRY_MS}\n\n`);
      return RESPONSE_ALREADY_SENT;
    },
  }),
  route('GET', '/v1/sessions/:key/events', 'chat', {
    token: 'ticket',
    summary: 'The events of a session, after `Last-Event-ID` where that is sent',
    description:
      'Each event of a turn has an id. A reader that comes too late for single events gets a `snapshot` with the text so far.',
    answer: 'session-events',
    async handle(c, deps) {
      const { incoming, outgoing } = c.env;
      const key = keyOf(c);
      const caller = c.get('caller');
      if ((await deps.gateway.session(caller, key)) === undefined) throw noSession(key);
      // A stream that is never read would stay open.
      if (incoming.method === 'HEAD') return c.body(null, 200, EVENTS.headers);
      const stream = deps.streams.add(
        { caller, authorization: incoming.headers.authorization ?? '' },
        outgoing,
      );
      // A new `EventSource` cannot send the header.
      const header = incoming.headers['last-event-id'] ?? queryOf(incoming).get('last_event_id');
      const lastEventId = typeof header === 'string' && EVENT_ID.test(header) ? header : undefined;

      // Synchronous, so that no event is emitted between the replay and the subscription.
      const frames = new EventFrames();
      const replay = deps.gateway.replay(key, lastEventId);
      const write = eachOnce((event) => {
        stream.write(frames.frameOf(event));
        if (event.type === 'session_deleted') stream.end();
      }, replay.endedTurn);
      const unsubscribe = deps.gateway.subscribe({ sessionKey: key }, write);
      outgoing.once('close', unsubscribe);
      stream.write(`retry: ${RETRY_MS}\n\n`);
      for (const event of replay.events) write(event);
      return RESPONSE_ALREADY_SENT;
    },
  }),
  route('GET', '/v1/ws', 'none', {
    summary: 'A WebSocket: messages, stops and decisions in, events out',
    description:
      'The first frame brings the token unless a header does. The frames are described in the documentation.',
    status: 101,
    answer: 'nothing',
    /** Reached without asking for an upgrade (RFC 9110, 15.5.22). */
    handle(c) {
      c.env.outgoing.setHeader('upgrade', 'websocket');
      throw new HttpError(426, 'upgrade_required', 'This route speaks WebSocket; see docs/http-api.md.');
    },
  }),
];

function pairOf(tokenId: string, key: SessionKey): string {
  return `${tokenId} ${key}`;
}

/** Follows all sessions that this caller may see, without texts and ids; returns the function that ends that. */
export function followAll(gateway: GatewayApi, caller: Caller, reader: ListReader): () => void {
  const events = lists.get(gateway) ?? new ListEvents(gateway);
  lists.set(gateway, events);
  return events.add(reader, caller);
}
