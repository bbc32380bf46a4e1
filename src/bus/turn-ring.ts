/** The latest events of one turn under one lane epoch, for readers that reconnect. */
import { RING_EVENTS } from '../contracts/bus.ts';
import type { AgentEvent } from '../contracts/event.ts';
import type { SessionKey } from '../contracts/message.ts';
import { TurnText } from './turn-text.ts';

/** What an event counts against a ring besides its texts: its numbers, keys and place. */
export const EVENT_OVERHEAD_BYTES = 64;

/** Dropped events are cut off the array once there are this many. */
const CUT = 256;

/** Which run of which turn a ring holds. */
export interface TurnRun {
  sessionKey: SessionKey;
  turnId: string;
  epoch: number;
}

export class TurnRing implements TurnRun {
  readonly sessionKey: SessionKey;
  readonly turnId: string;
  readonly epoch: number;
  /** Made by an emitter of this node: this node can tell others the whole text. */
  readonly local: boolean;
  /** `eventSeq` before the turn's first event; above 0 when an earlier turn ran under the same epoch. */
  readonly startSeq: number;
  /** `eventSeq` of the newest event. */
  lastSeq: number;
  /** False once deltas were lost on the way from another node; then `text` is only a part. */
  whole: boolean;
  /** Set by the same turn's next run: what this run still says is void. */
  superseded = false;
  /** Steady clock at `turn_ended`. */
  endedAt: number | undefined;
  #events: AgentEvent[] = [];
  /** Events before this index were dropped; cut off together, so that a full ring moves no array per token. */
  #first = 0;
  #bytes = 0;
  #text: TurnText;
  readonly #openedAt: number;

  constructor(
    run: TurnRun,
    start: { local: boolean; seq: number; text: string; whole: boolean; at: number },
  ) {
    this.sessionKey = run.sessionKey;
    this.turnId = run.turnId;
    this.epoch = run.epoch;
    this.local = start.local;
    this.startSeq = start.seq;
    this.lastSeq = start.seq;
    this.whole = start.whole;
    this.#text = new TurnText(start.text);
    this.#openedAt = start.at;
  }

  get ended(): boolean {
    return this.endedAt !== undefined;
  }

  get text(): string {
    return this.#text.toString();
  }

  /** Takes the next event, `eventSeq` = `lastSeq` + 1. The oldest go when a bound bites; the newest always stays. */
  push(event: AgentEvent, maxBytes: number): void {
    this.lastSeq += 1;
    if (event.isSubagent !== true) this.#text.take(event);
    this.#events.push(event);
    this.#bytes += sizeOf(event);
    while (this.#kept > RING_EVENTS || (this.#bytes > maxBytes && this.#kept > 1)) {
      this.#bytes -= sizeOf(this.#events[this.#first]!);
      this.#first += 1;
    }
    if (this.#first >= CUT) {
      this.#events.splice(0, this.#first);
      this.#first = 0;
    }
  }

  get #kept(): number {
    return this.#events.length - this.#first;
  }

  /** Events up to `seq` were lost on the way here: what is kept from before them no longer joins up. */
  skipTo(seq: number): void {
    this.#events = [];
    this.#first = 0;
    this.#bytes = 0;
    this.lastSeq = seq;
    this.whole = false;
  }

  /** The run's own node says what the text was after event `seq`. */
  restore(seq: number, text: string): void {
    this.skipTo(seq);
    this.#text = new TurnText(text);
    this.whole = true;
  }

  /** True when `seq` is a place a reader of this run can have stopped at. */
  covers(epoch: number, seq: number): boolean {
    return epoch === this.epoch && seq >= this.startSeq && seq <= this.lastSeq;
  }

  /** The events after `seq`, or where some of them are gone a snapshot in their place. */
  since(seq: number): AgentEvent[] {
    const dropped = this.lastSeq - this.#kept;
    if (seq < dropped) return this.toSnapshot();
    const events = this.#events.slice(this.#first + seq - dropped);
    const base = this.#text.base;
    if (seq > this.startSeq || base === '') return events;
    return [this.#snapshotOf(base, this.startSeq), ...events];
  }

  /** All of the run in one event, and its end if it has ended: whoever waits for the end must see it. */
  toSnapshot(): AgentEvent[] {
    const end = this.#events.at(-1);
    if (end?.type !== 'turn_ended') return [this.#snapshotOf(this.text, this.lastSeq)];
    return [this.#snapshotOf(this.text, this.lastSeq - 1), end];
  }

  /** A snapshot carries the number of the last event it stands for, so that a reader can go on from there. */
  #snapshotOf(text: string, eventSeq: number): AgentEvent {
    const { sessionKey, turnId, epoch } = this;
    const at = this.#events.at(-1)?.at ?? this.#openedAt;
    return { sessionKey, turnId, epoch, eventSeq, at, type: 'snapshot', text };
  }
}

/** What an event counts against `RING_BYTES`: its texts in UTF-8 and a fixed part. */
export function sizeOf(event: AgentEvent): number {
  switch (event.type) {
    case 'stream_chunk':
    case 'thinking_delta':
      return EVENT_OVERHEAD_BYTES + Buffer.byteLength(event.delta);
    case 'stream_end':
      return EVENT_OVERHEAD_BYTES + Buffer.byteLength(event.content);
    case 'tool_result':
      return EVENT_OVERHEAD_BYTES + Buffer.byteLength(event.result);
    default:
      // Rare events of many shapes: a few per turn, so measuring them as JSON costs nothing that shows.
      return EVENT_OVERHEAD_BYTES + Buffer.byteLength(JSON.stringify(event));
  }
}
