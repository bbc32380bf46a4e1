/** The latest events of a turn under one lane epoch, for readers that reconnect. */
import { RING_EVENTS } from '../protocol/bus.ts';
import type { AgentEvent, EventBody } from '../protocol/event.ts';
import type { SessionKey } from '../protocol/message.ts';

/** Consecutive text of one model call. */
interface CallText {
  msgId: string;
  /** Deltas as they arrived, after pieces that were joined from earlier ones: a delta costs one array slot. */
  parts: string[];
  /** Number of parts that are joined pieces. */
  pieces: number;
}

/** The text grows to the length of the stored one, which is bounded by the model's limits. */
class TurnText {
  /** Text from before the first delta received here. */
  #base: string;
  #calls: CallText[] = [];

  constructor(base = '') {
    this.#base = base;
  }

  get base(): string {
    return this.#base;
  }

  /** Applies one event of the turn's own agent; a subagent's text is not the turn's. */
  apply(body: EventBody): void {
    if (body.type === 'stream_chunk') {
      const last = this.#calls.at(-1);
      if (last?.msgId === body.msgId) last.parts.push(body.delta);
      else this.#calls.push({ msgId: body.msgId, parts: [body.delta], pieces: 0 });
    } else if (body.type === 'stream_reset') {
      this.#calls = this.#calls.filter((call) => call.msgId !== body.msgId);
    } else if (body.type === 'snapshot') {
      this.#base = body.text;
      this.#calls = [];
    }
  }

  /** Joins new deltas to one piece: none is kept separately for long, and no text is copied again. */
  compact(): void {
    for (const call of this.#calls) {
      if (call.parts.length - call.pieces > 1) call.parts.push(call.parts.splice(call.pieces).join(''));
      call.pieces = call.parts.length;
    }
  }

  /** The base and all deltas of model calls that were not reset, in order. */
  toString(): string {
    return this.#base + this.#calls.map((call) => call.parts.join('')).join('');
  }
}

/** Size of an event toward a ring's limit besides its texts: its numbers, keys and place. */
export const EVENT_OVERHEAD_BYTES = 64;

/** Dropped events are removed from the array once there are this many. */
const CUT = 256;

/** Most bytes that one UTF-16 unit takes in UTF-8. */
const BYTES_PER_UNIT = 3;

/** One run of a turn: a turn resumed after a crash runs under a higher epoch. */
export interface TurnRun {
  sessionKey: SessionKey;
  turnId: string;
  epoch: number;
}

/** An event type that a model call sends many of. */
type DeltaEvent = Extract<AgentEvent, { type: 'stream_chunk' | 'thinking_delta' }>;

/** An event, or the text of a delta that equals the previous one except for its number and time. */
type Kept = AgentEvent | string;

export class TurnRing implements TurnRun {
  readonly sessionKey: SessionKey;
  readonly turnId: string;
  readonly epoch: number;
  /** Created by an emitter of this node, which can send the complete text to other nodes. */
  readonly local: boolean;
  /** `eventSeq` before the turn's first event; greater than 0 if an earlier turn ran under the same epoch. */
  readonly startSeq: number;
  /** `eventSeq` of the newest event. */
  lastSeq: number;
  /** False once deltas from another node were lost; then `text` is incomplete. */
  whole: boolean;
  /** Set when the turn runs again: events that this run still emits are ignored. */
  superseded = false;
  /** Monotonic time from which the run's own node may be asked again for its text. */
  askAgainAt = -Infinity;
  /** Monotonic time of `turn_ended`. */
  endedAt: number | undefined;
  #events: Kept[] = [];
  /** `at` of each event, which turns a kept text back into an event. */
  #times: number[] = [];
  /** The newest event, while further deltas may be kept as texts. */
  #series: DeltaEvent | undefined;
  /** Events before this index were dropped; they are removed in groups, so that a full ring does not shift its array for every token. */
  #first = 0;
  /** Upper bound of the events' size in bytes; the events before `#measured` are counted exactly. */
  #bytesAtMost = 0;
  #measured = 0;
  /** Updated when it is read or events are removed: a token costs nothing here. */
  readonly #texts: { text: TurnText; applied: number };
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
    this.#texts = { text: new TurnText(start.text), applied: 0 };
    this.#openedAt = start.at;
  }

  get ended(): boolean {
    return this.endedAt !== undefined;
  }

  get text(): string {
    return this.#upToDateText().toString();
  }

  /** Keeps the next event, `eventSeq` = `lastSeq` + 1. The oldest are dropped past a limit; the newest always stays. */
  push(event: AgentEvent, maxBytes: number): void {
    this.lastSeq += 1;
    this.#times.push(event.at);
    if (isDelta(event)) {
      // A text is kept for a minute in place of an event: events would be most of what a token leaves behind.
      if (continues(this.#series, event)) this.#events.push(event.delta);
      else this.#events.push((this.#series = event));
      this.#bytesAtMost += EVENT_OVERHEAD_BYTES + BYTES_PER_UNIT * event.delta.length;
    } else {
      this.#series = undefined;
      this.#events.push(event);
      this.#bytesAtMost += sizeOf(event);
    }
    if (this.#kept > RING_EVENTS || this.#bytesAtMost > maxBytes) this.#dropOldest(maxBytes);
  }

  #dropOldest(maxBytes: number): void {
    this.#measure();
    while (this.#kept > RING_EVENTS || (this.#bytesAtMost > maxBytes && this.#kept > 1)) {
      this.#bytesAtMost -= sizeOf(this.#events[this.#first]!);
      this.#first += 1;
    }
    if (this.#first < CUT) return;
    // What precedes the first kept event is dropped: a text without its series is useless.
    for (const event of this.#eventsFrom(this.#first)) {
      this.#events[this.#first] = event;
      break;
    }
    this.#upToDateText().compact();
    this.#events.splice(0, this.#first);
    this.#times.splice(0, this.#first);
    this.#texts.applied -= this.#first;
    this.#measured -= this.#first;
    this.#first = 0;
  }

  /** Counts exactly what was only estimated. */
  #measure(): void {
    for (; this.#measured < this.#events.length; this.#measured += 1) {
      const delta = deltaOf(this.#events[this.#measured]!);
      if (delta !== undefined) this.#bytesAtMost -= BYTES_PER_UNIT * delta.length - Buffer.byteLength(delta);
    }
  }

  /** The kept events from an index on, in their original form. */
  *#eventsFrom(index: number): Generator<AgentEvent> {
    let start = index;
    while (start > 0 && typeof this.#events[start] === 'string') start -= 1;
    const firstSeq = this.lastSeq - this.#events.length + 1;
    let series: DeltaEvent | undefined;
    for (let i = start; i < this.#events.length; i += 1) {
      const entry = this.#events[i]!;
      if (typeof entry !== 'string') {
        series = isDelta(entry) ? entry : undefined;
        if (i >= index) yield entry;
      } else if (i >= index && series !== undefined) {
        yield { ...series, delta: entry, eventSeq: firstSeq + i, at: this.#times[i]! };
      }
    }
  }

  #upToDateText(): TurnText {
    const { text } = this.#texts;
    if (this.#texts.applied === this.#events.length) return text;
    for (const event of this.#eventsFrom(this.#texts.applied)) {
      if (event.isSubagent !== true) text.apply(event);
    }
    this.#texts.applied = this.#events.length;
    return text;
  }

  get #kept(): number {
    return this.#events.length - this.#first;
  }

  /** Events up to `seq` were lost on the way here: the events kept from before them no longer connect to later ones. */
  skipTo(seq: number): void {
    this.#upToDateText();
    this.#events = [];
    this.#times = [];
    this.#series = undefined;
    this.#first = 0;
    this.#bytesAtMost = 0;
    this.#measured = 0;
    this.#texts.applied = 0;
    this.lastSeq = seq;
    this.whole = false;
  }

  /** Sets the text as it was after event `seq`, as the run's own node has it. */
  restore(seq: number, text: string): void {
    this.skipTo(seq);
    this.#texts.text = new TurnText(text);
    this.whole = true;
  }

  /** True when the text up to event `seq` has something that this ring has not received. */
  lacks(seq: number): boolean {
    return this.whole ? seq > this.lastSeq : seq >= this.lastSeq;
  }

  /** True when a reader of this run can have stopped at `seq`. */
  covers(epoch: number, seq: number): boolean {
    return epoch === this.epoch && seq >= this.startSeq && seq <= this.lastSeq;
  }

  /** The events after `seq`, or a snapshot when some of them are no longer kept. */
  since(seq: number): AgentEvent[] {
    const first = this.lastSeq - this.#kept;
    if (seq < first) return this.toSnapshot();
    const events = [...this.#eventsFrom(this.#first + seq - first)];
    const { base } = this.#upToDateText();
    if (seq > this.startSeq || base === '') return events;
    return [this.#snapshotOf(base, this.startSeq), ...events];
  }

  /** The whole run as one snapshot, followed by its `turn_ended` if it has ended, which readers may be waiting for. */
  toSnapshot(): AgentEvent[] {
    const end = this.#events.at(-1);
    if (end === undefined || typeof end === 'string' || end.type !== 'turn_ended')
      return [this.#snapshotOf(this.text, this.lastSeq)];
    return [this.#snapshotOf(this.text, this.lastSeq - 1), end];
  }

  /** A snapshot carries the number of the last event it replaces, so that a reader can continue from there. */
  #snapshotOf(text: string, eventSeq: number): AgentEvent {
    const { sessionKey, turnId, epoch } = this;
    const at = this.#times.at(-1) ?? this.#openedAt;
    return { sessionKey, turnId, epoch, eventSeq, at, type: 'snapshot', text };
  }
}

/** True when a delta differs from those of a series only in its text, number and time. */
function continues(series: DeltaEvent | undefined, delta: DeltaEvent): boolean {
  return (
    series !== undefined &&
    series.msgId === delta.msgId &&
    series.type === delta.type &&
    series.agentId === delta.agentId
  );
}

/** The text of a delta; undefined for any other event. */
function deltaOf(entry: Kept): string | undefined {
  if (typeof entry === 'string') return entry;
  return isDelta(entry) ? entry.delta : undefined;
}

function isDelta(event: AgentEvent): event is DeltaEvent {
  return event.type === 'stream_chunk' || event.type === 'thinking_delta';
}

/** Size of an event against `RING_BYTES`: its texts in UTF-8 and a fixed part. */
function sizeOf(entry: Kept): number {
  if (typeof entry === 'string') return EVENT_OVERHEAD_BYTES + Buffer.byteLength(entry);
  switch (entry.type) {
    case 'stream_chunk':
    case 'thinking_delta':
      return EVENT_OVERHEAD_BYTES + Buffer.byteLength(entry.delta);
    case 'stream_end':
      return EVENT_OVERHEAD_BYTES + Buffer.byteLength(entry.content);
    case 'tool_result':
      return EVENT_OVERHEAD_BYTES + Buffer.byteLength(entry.result);
    default:
      // Rare events of many shapes: a few per turn, so measuring them as JSON costs nothing noticeable.
      return EVENT_OVERHEAD_BYTES + Buffer.byteLength(JSON.stringify(entry));
  }
}
