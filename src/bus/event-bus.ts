/** The event bus: live events, delivered at once in this process and in batches to the other nodes. */
import type {
  EventBus,
  EventFilter,
  EventListener,
  EventReplay,
  Fanout,
  TurnEmitter,
} from '../protocol/bus.ts';
import type { AgentEvent, EventBody, TurnEndReason } from '../protocol/event.ts';
import type { LaneKey } from '../protocol/store/lanes.ts';
import type { Log } from '../protocol/log.ts';
import type { SessionKey } from '../protocol/message.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import { newId } from '../lib/ids.ts';
import { toGatewayError } from '../protocol/errors.ts';
import type { StopNotifier } from './message-bus.ts';
import { NodeLink } from './node-link.ts';
import { MAX_RUNS, type NodeRecord, type RunPlace } from './node-records.ts';
import { type StoredTurns, StoredEnds } from './stored-ends.ts';
import { TurnRing, type TurnRun } from './turn-ring.ts';
import { TurnRings } from './turn-rings.ts';

/** Calls a listener with an event that its filter lets through. Never throws. */
type Deliver = (event: AgentEvent) => void;

const NONE: readonly Deliver[] = [];

class Listeners {
  readonly #log: Log;
  /** Listeners without a filter. All lists are replaced, never changed: a listener may add or remove one during a dispatch. */
  #ofAll = NONE;
  /** By turn id if the filter names one, else by session. */
  readonly #byKey = new Map<string, readonly Deliver[]>();
  #queue: AgentEvent[] = [];
  #dispatching = false;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Adds a listener; returns the function that removes it. What it throws is logged, and does not stop the others. */
  add(filter: EventFilter, listener: EventListener): () => void {
    const key = filter.turnId ?? filter.sessionKey;
    let isEnded = false;
    const deliver: Deliver = (event) => {
      if (isEnded || (filter.sessionKey !== undefined && filter.sessionKey !== event.sessionKey)) return;
      try {
        const result: unknown = listener(event);
        if (result instanceof Promise) result.catch((error: unknown) => this.#logFailure(error, event));
      } catch (error) {
        this.#logFailure(error, event);
      }
    };
    this.#change(key, (listeners) => [...listeners, deliver]);
    return () => {
      if (isEnded) return;
      isEnded = true;
      this.#change(key, (listeners) => listeners.filter((other) => other !== deliver));
    };
  }

  /** Calls the listeners now; an event that one of them emits is delivered after this one, to all. Never throws. */
  dispatch(event: AgentEvent): void {
    if (this.#dispatching) {
      this.#queue.push(event);
      return;
    }
    this.#dispatching = true;
    for (let next: AgentEvent | undefined = event; next !== undefined; next = this.#queue.shift()) {
      for (const deliver of this.#ofAll) deliver(next);
      for (const deliver of this.#byKey.get(next.sessionKey) ?? NONE) deliver(next);
      if (next.turnId === undefined) continue;
      for (const deliver of this.#byKey.get(next.turnId) ?? NONE) deliver(next);
    }
    this.#dispatching = false;
  }

  #change(key: string | undefined, change: (before: readonly Deliver[]) => Deliver[]): void {
    if (key === undefined) {
      this.#ofAll = change(this.#ofAll);
      return;
    }
    const next = change(this.#byKey.get(key) ?? NONE);
    if (next.length > 0) this.#byKey.set(key, next);
    else this.#byKey.delete(key);
  }

  #logFailure(error: unknown, event: AgentEvent): void {
    const { sessionKey, turnId, type } = event;
    this.#log.warn({ err: toGatewayError(error), sessionKey, turnId, type }, 'event_listener_failed');
  }
}

/** Time between two removals of expired rings, in milliseconds; opening a turn also removes them. */
const EXPIRE_EVERY_MS = 10_000;
/** Pause before a node asks again for the text of a turn with a gap: the first question or its answer may be lost, too. */
export const ASK_AGAIN_MS = 250;
/** Times a node asks before it delivers the end of a turn without the text that was lost. */
export const ASKS_AT_END = 8;

/** How often a node tells the others how far its turns are, and looks for those of others that have gone silent, in milliseconds. */
export const RECONCILE_EVERY_MS = 5_000;
/** How long owners have, after a lost connection, to tell of their turns with their own numbers, before the database is read, in milliseconds. */
export const LOOK_AFTER_MS = 1_000;
/** How long after its end a turn is told of: three times, because the last events and a telling may both be lost. */
export const ENDS_TOLD_MS = 3 * RECONCILE_EVERY_MS + 1_000;

export interface EventBusOptions {
  /** Where the ends of turns are read whose node is gone or out of reach; without it their readers wait for that node. */
  turns?: StoredTurns;
  /** Absent on the embedded database without workers: there are no other nodes. */
  fanout?: Fanout | undefined;
  /** Unique for this process, as by default; at most 40 characters without spaces. */
  nodeId?: string;
  log: Log;
  clock?: Clock;
}

/**
 * The event bus of this process. Where listeners may have missed deltas (lost between nodes, or a turn resumed here) they
 * get a `snapshot`; an earlier run of a turn emits nothing once a later one has started.
 */
export function createEventBus(options: EventBusOptions): EventBus & { stopNotifier: StopNotifier } {
  return new NodeEventBus(options);
}

class NodeEventBus implements EventBus {
  readonly stopNotifier: StopNotifier;
  readonly #clock: Clock;
  readonly #listeners: Listeners;
  readonly #rings = new TurnRings();
  readonly #link: NodeLink | undefined;
  readonly #stopListeners = new Set<(lane: LaneKey) => void>();
  /** Ends of turns whose text has a gap: each waits for the text. The function cancels the next question. */
  readonly #heldEnds = new Map<TurnRing, { event: AgentEvent; cancel: () => void }>();
  readonly #storedEnds: StoredEnds | undefined;
  #cancelLook = (): void => undefined;
  #expireTimer: NodeJS.Timeout | undefined;
  #reconcileTimer: NodeJS.Timeout | undefined;

  constructor(options: EventBusOptions) {
    const { fanout, nodeId = newId(), log, turns, clock = systemClock } = options;
    this.#clock = clock;
    this.#listeners = new Listeners(log);
    const onRecord = (record: NodeRecord): void => this.#applyRecord(record);
    const onResumed = (): void => {
      this.#link?.send({ resumed: true });
      this.#reconcile();
      this.#cancelLook();
      this.#cancelLook = clock.after(LOOK_AFTER_MS, () => this.#reconcile(true));
    };
    this.#link = fanout && new NodeLink({ fanout, nodeId, clock, log, onRecord, onResumed });
    this.#storedEnds =
      turns && new StoredEnds(turns, log, (ring, text, reason) => this.#endStored(ring, text, reason));
    this.stopNotifier = {
      notify: (lane) => this.#link?.send({ stop: lane }),
      listen: (listener) => {
        this.#stopListeners.add(listener);
        return () => void this.#stopListeners.delete(listener);
      },
    };
  }

  async start(): Promise<void> {
    await this.#link?.start();
    const expire = (): void => this.#rings.expire(this.#clock.monotonicMs());
    this.#expireTimer = setInterval(expire, EXPIRE_EVERY_MS).unref();
    if (this.#link !== undefined)
      this.#reconcileTimer = setInterval(() => this.#reconcile(), RECONCILE_EVERY_MS).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#expireTimer);
    clearInterval(this.#reconcileTimer);
    this.#cancelLook();
    for (const { cancel } of this.#heldEnds.values()) cancel();
    this.#heldEnds.clear();
    await this.#link?.stop();
  }

  emit(sessionKey: SessionKey, body: EventBody, from?: { agentId: string }): void {
    const event: AgentEvent = { ...body, sessionKey, at: this.#clock.epochMs() };
    if (from !== undefined) markSubagent(event, from.agentId);
    if (this.#link?.any) this.#link.send({ event });
    this.#dispatchUnnumbered(event);
  }

  turn(turn: TurnRun & { textSoFar?: string }): TurnEmitter {
    const ring = this.#openTurn(turn, turn.textSoFar ?? '');
    return { emit: (body, from) => this.#publish(ring, body, from) };
  }

  subscribe(filter: EventFilter, listener: EventListener): () => void {
    return this.#listeners.add(filter, listener);
  }

  replay(sessionKey: SessionKey, lastEventId: string | undefined): EventReplay {
    return this.#rings.replay(sessionKey, lastEventId, this.#clock.epochMs());
  }

  lastEventId(sessionKey: SessionKey): string {
    return this.#rings.lastEventId(sessionKey);
  }

  #openTurn(run: TurnRun, text: string): TurnRing {
    this.#rings.expire(this.#clock.monotonicMs());
    const previous = this.#rings.ofTurn(run.sessionKey, run.turnId);
    if (previous?.local && previous.epoch === run.epoch) return previous;
    const ring = this.#addRing(run, {
      local: true,
      seq: this.#rings.lastSeqOf(run.sessionKey, run.epoch),
      text,
      whole: true,
    });
    if (this.#link?.any) this.#link.send({ state: { ...runOf(ring), seq: ring.lastSeq, text } });
    // A listener may have been added between the start of this process and that of the resumed turn.
    if (previous !== undefined || text !== '') this.#showSnapshot(ring);
    return ring;
  }

  #addRing(run: TurnRun, start: { local: boolean; seq: number; text: string; whole: boolean }): TurnRing {
    const ring = new TurnRing(run, { ...start, at: this.#clock.epochMs() });
    this.#rings.add(ring);
    return ring;
  }

  /** Numbers an event of one of this node's turns, keeps it for readers that reconnect, and delivers it. */
  #publish(ring: TurnRing, body: EventBody, from: { agentId: string } | undefined): void {
    // Another node is now running the turn: this one lost its lease and has not noticed it yet.
    if (ring.superseded) return;
    const { sessionKey, turnId, epoch } = ring;
    const at = this.#clock.epochMs();
    // The spread comes first, which makes it three times as cheap: this object is created for every token.
    const event: AgentEvent = { ...body, sessionKey, turnId, epoch, eventSeq: ring.lastSeq + 1, at };
    if (from !== undefined) markSubagent(event, from.agentId);
    this.#keep(ring, event);
    if (this.#link?.any) this.#link.send({ event });
    this.#listeners.dispatch(event);
  }

  #keep(ring: TurnRing, event: AgentEvent): void {
    ring.push(event, this.#rings.maxBytes);
    if (event.type === 'turn_ended') this.#rings.end(ring, this.#clock.monotonicMs());
  }

  /** Sends this node's listeners the whole text of a turn when the deltas they received do not add up to it. */
  #showSnapshot(ring: TurnRing): void {
    for (const event of ring.toSnapshot()) this.#listeners.dispatch(event);
  }

  #applyRecord(record: NodeRecord): void {
    if ('event' in record) this.#applyEvent(record.event);
    else if ('state' in record) this.#applyState(record.state);
    else if ('want' in record) this.#sendState(record.want);
    else if ('runs' in record) for (const place of record.runs) this.#compare(place);
    else if ('resumed' in record) this.#reconcile();
    else if ('stop' in record) for (const listener of this.#stopListeners) listener(record.stop);
  }

  #applyEvent(event: AgentEvent): void {
    const { sessionKey, turnId, epoch, eventSeq } = event;
    if (turnId === undefined || epoch === undefined || eventSeq === undefined) {
      this.#dispatchUnnumbered(event);
      return;
    }
    const run = { sessionKey, turnId, epoch };
    const previous = this.#rings.ofTurn(run.sessionKey, run.turnId);
    if (previous !== undefined && isOld(previous, epoch, eventSeq)) return;
    let ring = previous;
    if (ring === undefined || ring.epoch < epoch) {
      // Its beginning was lost, or this node started after the turn.
      ring = this.#addRing(run, { local: false, seq: eventSeq - 1, text: '', whole: false });
    } else if (eventSeq > ring.lastSeq + 1) {
      ring.skipTo(eventSeq - 1);
    }
    if (!ring.whole && event.type === 'turn_ended') {
      this.#holdEnd(ring, event);
      return;
    }
    if (!ring.whole && this.#clock.monotonicMs() >= ring.askAgainAt) this.#askFor(ring);
    this.#keep(ring, event);
    this.#listeners.dispatch(event);
  }

  /** No event shows that the last ones were lost: so nodes tell each other how far their turns are. */
  #reconcile(isResumed = false): void {
    const recent = this.#rings.recent(this.#clock.monotonicMs(), ENDS_TOLD_MS);
    const runs = recent
      .filter(({ local, superseded }) => local && !superseded)
      .map((ring) => ({ ...runOf(ring), seq: ring.lastSeq, ended: ring.ended }));
    for (let start = 0; this.#link?.any && start < runs.length; start += MAX_RUNS)
      this.#link.send({ runs: runs.slice(start, start + MAX_RUNS) });
    const elsewhere = recent.filter(({ local, ended }) => !local && !ended);
    this.#storedEnds?.look(elsewhere, isResumed);
  }

  /** Asks for what this node lacks of another's turn. */
  #compare({ seq, ended, ...run }: RunPlace): void {
    const previous = this.#rings.ofTurn(run.sessionKey, run.turnId);
    if (previous !== undefined && (previous.local || previous.epoch > run.epoch || previous.ended)) return;
    const ring =
      previous?.epoch === run.epoch
        ? previous
        : this.#addRing(run, { local: false, seq: ended ? seq - 1 : seq, text: '', whole: false });
    if (!ring.whole || ring.lastSeq < seq) this.#askFor(ring);
  }

  /** Ends a turn whose own node did not tell of the end. */
  #endStored(ring: TurnRing, text: string | undefined, reason: TurnEndReason): void {
    if (ring.ended || ring.superseded) return;
    this.#heldEnds.get(ring)?.cancel();
    this.#heldEnds.delete(ring);
    ring.restore(ring.lastSeq, text ?? ring.text);
    this.#showSnapshot(ring);
    const { sessionKey, turnId, epoch } = ring;
    const place = { sessionKey, turnId, epoch, eventSeq: ring.lastSeq + 1, at: this.#clock.epochMs() };
    const event: AgentEvent = { ...place, type: 'turn_ended', reason };
    this.#keep(ring, event);
    this.#listeners.dispatch(event);
  }

  /** Asks the run's own node for its text. */
  #askFor(ring: TurnRing): void {
    ring.askAgainAt = this.#clock.monotonicMs() + ASK_AGAIN_MS;
    this.#link?.send({ want: runOf(ring) });
  }

  /** Delivers the end of a turn only after its text, which is asked for a few times: a reader stops at the end. */
  #holdEnd(ring: TurnRing, event: AgentEvent, asks = 0): void {
    if (ring.superseded) {
      this.#heldEnds.delete(ring);
    } else if (asks === ASKS_AT_END) {
      this.#deliverHeldEnd(ring);
    } else {
      this.#askFor(ring);
      const cancel = this.#clock.after(ASK_AGAIN_MS, () => this.#holdEnd(ring, event, asks + 1));
      this.#heldEnds.set(ring, { event, cancel });
    }
  }

  #deliverHeldEnd(ring: TurnRing): void {
    const end = this.#heldEnds.get(ring);
    if (end === undefined) return;
    end.cancel();
    this.#heldEnds.delete(ring);
    this.#keep(ring, end.event);
    this.#listeners.dispatch(end.event);
  }

  /** What was kept of a deleted session must not reach readers of a later one with the same name. */
  #dispatchUnnumbered(event: AgentEvent): void {
    if (event.type === 'session_deleted') this.#rings.removeSession(event.sessionKey);
    this.#listeners.dispatch(event);
  }

  #applyState({ seq, text, ...run }: TurnRun & { seq: number; text: string }): void {
    const previous = this.#rings.ofTurn(run.sessionKey, run.turnId);
    if (previous !== undefined && (previous.ended || previous.epoch > run.epoch)) return;
    if (previous === undefined || previous.epoch < run.epoch) {
      const ring = this.#addRing(run, { local: false, seq, text, whole: true });
      if (previous !== undefined || text !== '') this.#showSnapshot(ring);
    } else if (!previous.local && previous.lacks(seq)) {
      previous.restore(seq, text);
      this.#showSnapshot(previous);
      this.#deliverHeldEnd(previous);
    }
  }

  #sendState(run: TurnRun): void {
    const ring = this.#rings.ofTurn(run.sessionKey, run.turnId);
    if (ring === undefined || !ring.local || ring.epoch !== run.epoch) return;
    // Another node may hold the end back until it has the text before it.
    const seq = ring.ended ? ring.lastSeq - 1 : ring.lastSeq;
    this.#link?.send({ state: { ...runOf(ring), seq, text: ring.text } });
    const end = ring.toSnapshot()[1];
    if (end !== undefined) this.#link?.send({ event: end });
  }
}

/** True for an event of an earlier run, of a run on this node, or one that was already received; none follows the end. */
function isOld(previous: TurnRing, epoch: number, eventSeq: number): boolean {
  if (previous.ended) return true;
  if (previous.epoch !== epoch) return previous.epoch > epoch;
  return previous.local || previous.lastSeq >= eventSeq;
}

function runOf({ sessionKey, turnId, epoch }: TurnRun): TurnRun {
  return { sessionKey, turnId, epoch };
}

function markSubagent(event: AgentEvent, agentId: string): void {
  event.agentId = agentId;
  event.isSubagent = true;
}
