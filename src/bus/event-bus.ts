/** The event bus: sights of what happens, told at once in this process and in batches to the other nodes. */
import type {
  EventBus,
  EventFilter,
  EventListener,
  EventReplay,
  Fanout,
  TurnEmitter,
} from '../contracts/bus.ts';
import type { AgentEvent, EventBody } from '../contracts/event.ts';
import type { LaneKey } from '../contracts/lanes.ts';
import type { Log } from '../contracts/log.ts';
import type { SessionKey } from '../contracts/message.ts';
import { systemClock } from '../lib/clock.ts';
import type { Clock } from '../lib/clock.ts';
import { Listeners } from './listeners.ts';
import type { NodeRecord } from './node-records.ts';
import { NodeLink } from './node-link.ts';
import type { StopNotifier } from './stop-notifier.ts';
import { TurnRing } from './turn-ring.ts';
import type { TurnRun } from './turn-ring.ts';
import { TurnRings } from './turn-rings.ts';

/** How often rings of ended turns are looked through; opening a turn does it, too. */
const EXPIRE_EVERY_MS = 10_000;

export interface EventBusOptions {
  /** Absent on the embedded database: there are no other nodes. */
  fanout?: Fanout;
  /** Unique for this process, at most 40 characters without spaces. */
  nodeId: string;
  log: Log;
  clock?: Clock;
}

/**
 * Makes the event bus of this process. Two things it adds to what is emitted: where this node's listeners may have
 * missed deltas (another node lost them on the way, or a crashed turn goes on here) they get a `snapshot`, numbered
 * like the last event it stands for; and an earlier run of a turn falls silent once a later one began.
 */
export function createEventBus(options: EventBusOptions): EventBus & { hints: StopNotifier } {
  return new NodeEventBus(options);
}

class NodeEventBus implements EventBus {
  readonly hints: StopNotifier;
  readonly #clock: Clock;
  readonly #listeners: Listeners;
  readonly #rings = new TurnRings();
  readonly #peers: NodeLink | undefined;
  readonly #stopListeners = new Set<(lane: LaneKey) => void>();
  #expireTimer: NodeJS.Timeout | undefined;

  constructor({ fanout, nodeId, log, clock = systemClock }: EventBusOptions) {
    this.#clock = clock;
    this.#listeners = new Listeners(log);
    const onRecord = (record: NodeRecord): void => this.#take(record);
    this.#peers = fanout && new NodeLink({ fanout, nodeId, clock, log, onRecord });
    this.hints = {
      tell: (lane) => this.#peers?.tell({ stop: lane }),
      listen: (listener) => {
        this.#stopListeners.add(listener);
        return () => void this.#stopListeners.delete(listener);
      },
    };
  }

  async start(): Promise<void> {
    await this.#peers?.start();
    this.#expireTimer = setInterval(
      () => this.#rings.expire(this.#clock.monotonicMs()),
      EXPIRE_EVERY_MS,
    ).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#expireTimer);
    await this.#peers?.stop();
  }

  emit(sessionKey: SessionKey, body: EventBody, from?: { agentId: string }): void {
    const of = from && { agentId: from.agentId, isSubagent: true };
    this.#announce({ sessionKey, at: this.#clock.epochMs(), ...of, ...body });
  }

  turn(turn: TurnRun & { textSoFar?: string }): TurnEmitter {
    const ring = this.#openTurn(turn, turn.textSoFar ?? '');
    const { sessionKey, turnId, epoch } = turn;
    return {
      emit: (body, from) => {
        // Another node runs the turn now: this one lost its lease and only has not noticed yet.
        if (ring.superseded) return;
        const place = { sessionKey, turnId, epoch, eventSeq: ring.lastSeq + 1, at: this.#clock.epochMs() };
        const event: AgentEvent = from
          ? { ...place, agentId: from.agentId, isSubagent: true, ...body }
          : { ...place, ...body };
        this.#keep(ring, event);
        this.#announce(event);
      },
    };
  }

  subscribe(filter: EventFilter, listener: EventListener): () => void {
    return this.#listeners.add(filter, listener);
  }

  replay(sessionKey: SessionKey, lastEventId: string | undefined): EventReplay {
    return { events: this.#rings.replay(sessionKey, lastEventId, this.#clock.epochMs()) };
  }

  #openTurn(run: TurnRun, text: string): TurnRing {
    this.#rings.expire(this.#clock.monotonicMs());
    const known = this.#rings.ofTurn(run);
    if (known?.local && known.epoch === run.epoch) return known;
    const ring = this.#ringOf(run, { local: true, seq: this.#rings.lastSeqOf(run), text, whole: true });
    if (this.#peers?.any) this.#peers.tell({ state: { ...placeOf(ring), seq: ring.lastSeq, text } });
    if (known !== undefined) this.#showSnapshot(ring);
    return ring;
  }

  #ringOf(run: TurnRun, start: { local: boolean; seq: number; text: string; whole: boolean }): TurnRing {
    const ring = new TurnRing(run, { ...start, at: this.#clock.epochMs() });
    this.#rings.add(ring);
    return ring;
  }

  #keep(ring: TurnRing, event: AgentEvent): void {
    ring.push(event, this.#rings.maxBytes);
    if (event.type === 'turn_ended') this.#rings.end(ring, this.#clock.monotonicMs());
  }

  #announce(event: AgentEvent): void {
    if (this.#peers?.any) this.#peers.tell({ event });
    this.#listeners.dispatch(event);
  }

  /** Tells this node's listeners all of a turn's text, where single deltas do not add up for them. */
  #showSnapshot(ring: TurnRing): void {
    for (const event of ring.toSnapshot()) this.#listeners.dispatch(event);
  }

  #take(record: NodeRecord): void {
    if ('event' in record) this.#takeEvent(record.event);
    else if ('state' in record) this.#takeState(record.state);
    else if ('want' in record) this.#answer(record.want);
    else if ('stop' in record) for (const listener of this.#stopListeners) listener(record.stop);
  }

  #takeEvent(event: AgentEvent): void {
    const { sessionKey, turnId, epoch, eventSeq } = event;
    if (turnId === undefined || epoch === undefined || eventSeq === undefined) {
      this.#listeners.dispatch(event);
      return;
    }
    const run = { sessionKey, turnId, epoch };
    const known = this.#rings.ofTurn(run);
    if (known !== undefined && isOld(known, epoch, eventSeq)) return;
    let ring = known;
    if (ring === undefined || ring.epoch < epoch) {
      // Its beginning was lost, or this node came later than the turn.
      ring = this.#ringOf(run, { local: false, seq: eventSeq - 1, text: '', whole: false });
      this.#peers?.tell({ want: run });
    } else if (eventSeq > ring.lastSeq + 1) {
      if (ring.whole) this.#peers?.tell({ want: run });
      ring.skipTo(eventSeq - 1);
    }
    this.#keep(ring, event);
    this.#listeners.dispatch(event);
  }

  #takeState({ seq, text, ...run }: TurnRun & { seq: number; text: string }): void {
    const known = this.#rings.ofTurn(run);
    if (known !== undefined && known.epoch > run.epoch) return;
    if (known === undefined || known.epoch < run.epoch) {
      const ring = this.#ringOf(run, { local: false, seq, text, whole: true });
      if (known !== undefined) this.#showSnapshot(ring);
    } else if (!known.local && !known.whole && !known.ended && seq >= known.lastSeq) {
      known.restore(seq, text);
      this.#showSnapshot(known);
    }
  }

  #answer(run: TurnRun): void {
    const ring = this.#rings.ofTurn(run);
    if (ring === undefined || !ring.local || ring.epoch !== run.epoch) return;
    this.#peers?.tell({ state: { ...placeOf(ring), seq: ring.lastSeq, text: ring.text } });
  }
}

/** True for an event of a run that is over, of one that runs here, or that came before. */
function isOld(known: TurnRing, epoch: number, eventSeq: number): boolean {
  if (known.epoch !== epoch) return known.epoch > epoch;
  return known.local || known.lastSeq >= eventSeq;
}

function placeOf({ sessionKey, turnId, epoch }: TurnRun): TurnRun {
  return { sessionKey, turnId, epoch };
}
