/** `GET /v1/events`: what happens in all sessions that the caller may see, without texts: for lists that stay up to date. */
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { type Caller, hasScope } from '../../../src/protocol/access.ts';
import type { AgentEvent } from '../../../src/protocol/event.ts';
import type { GatewayApi } from '../../../src/protocol/gateway-api.ts';
import type { SessionKey } from '../../../src/protocol/message.ts';
import { Recent } from '../../../src/lib/recent.ts';
import { EVENTS } from '../event-stream.ts';
import type { HandlerDeps, HttpContext } from '../route.ts';

/** Time that a browser waits before it reconnects. */
const RETRY_MS = 1_000;
/** Sessions whose owner is remembered, for all streams together. */
const MAX_KNOWN = 10_000;

/**
 * Every kind of event: `each` is passed on each time, `once` at the beginning of a run of the same kind, because tokens and
 * progress without their texts say no more than that something grows.
 */
const LISTED: Readonly<Record<AgentEvent['type'], 'each' | 'once'>> = {
  message_received: 'each',
  message_sent: 'each',
  queue_position: 'each',
  messages_joined: 'each',
  queue_changed: 'each',
  context_changed: 'each',
  turn_started: 'each',
  thinking_started: 'each',
  thinking_delta: 'once',
  thinking_finished: 'each',
  stream_start: 'each',
  stream_chunk: 'once',
  stream_reset: 'each',
  stream_end: 'each',
  snapshot: 'each',
  turn_ended: 'each',
  tool_call: 'each',
  tool_progress: 'once',
  tool_result: 'each',
  tool_results_needed: 'each',
  approval_needed: 'each',
  approval_decided: 'each',
  subagent_spawned: 'each',
  subagent_completed: 'each',
  plan_ready: 'each',
  plan_revised: 'each',
  plan_edited: 'each',
  plan_completed: 'each',
  plan_paused: 'each',
  plan_resumed: 'each',
  plan_cancelled: 'each',
  step_changed: 'each',
  agent_thinking: 'each',
  agent_stuck: 'each',
  retry_attempt: 'each',
  step_skipped: 'each',
  budget_warning: 'each',
  todo_changed: 'each',
  mode_changed: 'each',
  profile_switched: 'each',
  session_titled: 'each',
  context_compressed: 'each',
  notice: 'each',
  cron_executed: 'each',
  heartbeat_tick: 'each',
  surfaces_changed: 'each',
  session_deleted: 'each',
};

/** Receives each event as JSON. */
type ListReader = (json: string) => void;

/** One subscription for all streams of a gateway: each model token is checked once, however many pages are open. */
class ListEvents {
  readonly #gateway: GatewayApi;
  readonly #readers = new Map<ListReader, Caller>();
  /** Whether a token may see a session, which never changes while the session exists; asked once, also while the answer is on its way. */
  readonly #seen = new Recent<Promise<boolean>>(Number.POSITIVE_INFINITY, MAX_KNOWN, () => 0);
  /** What grows now, by session and agent. */
  readonly #growing = new Recent<AgentEvent['type']>(Number.POSITIVE_INFINITY, MAX_KNOWN, () => 0);
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
    if (LISTED[type] === 'each') {
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
    const known = this.#seen.get(pair);
    if (known !== undefined) return known;
    const asked = this.#gateway.session(caller, key).then(
      (session) => session !== undefined,
      () => {
        // The store cannot be reached: the reader loads its list again when it reconnects, and other events follow.
        this.#seen.delete(pair);
        return false;
      },
    );
    this.#seen.set(pair, asked);
    return asked;
  }
}

function pairOf(tokenId: string, key: SessionKey): string {
  return `${tokenId} ${key}`;
}

const lists = new WeakMap<GatewayApi, ListEvents>();

/**
 * Follows what happens in all sessions that this caller may see; returns the function that ends that. The events have
 * no texts and no ids.
 */
export function followAll(gateway: GatewayApi, caller: Caller, reader: ListReader): () => void {
  const events = lists.get(gateway) ?? new ListEvents(gateway);
  lists.set(gateway, events);
  return events.add(reader, caller);
}

/** Opens the stream. Its events have no ids: a reader that reconnects loads its lists again. Throws `HttpError` 429. */
export function allEvents(c: HttpContext, { gateway, streams }: HandlerDeps): Response {
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
}
