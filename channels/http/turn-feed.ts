/** One turn followed from its acceptance to its end, exactly as it is stored, over an event bus that may lose things. */
import type { AgentEvent, TurnEndReason } from '../../src/contracts/event.ts';
import type { GatewayApi } from '../../src/contracts/gateway-api.ts';
import type { SessionKey } from '../../src/contracts/message.ts';
import type { Usage } from '../../src/contracts/provider.ts';
import { TURN_POLL_MS } from './config.ts';
import { HttpFault, toFault } from './errors.ts';

/** How a turn ended: `text` is the stored one, `lastWords` its end: why, when the turn failed. */
export interface TurnEnd {
  reason: TurnEndReason;
  text: string;
  lastWords: string;
  usage: Usage;
}

/** Who reads a turn. */
export interface TurnReader {
  /** More of the answer. */
  text(delta: string): void;
  thinking(delta: string): void;
  /** So many messages of the session are before this one. */
  waiting(position: number): void;
  /** The turn is over and committed; called once, last. */
  ended(end: TurnEnd): void;
  /** The turn cannot be told to its end; called once, last, instead of `ended`. */
  failed(fault: HttpFault): void;
}

const RESTARTED = new HttpFault(
  500,
  'answer_restarted',
  'The answer was begun again after a fault and differs from what was sent. The same Idempotency-Key gives it whole.',
);

/** Said to whoever waits for a turn of its own. */
const JOINED = 'This message was answered together with the one before it, in the same session.';

/** Events of the session kept while the message is being accepted; its own turn's are always the newest. */
const MAX_EARLY_EVENTS = 4_096;
/** Rounds of silence before the store is asked. */
const QUIET_ROUNDS = 3;

/**
 * Listens to a session from before the message is handed in, so that no event can fall between. Once `follow` names
 * the turn, its events go to the reader: what the ring still has first, then what came early, then live ones, each
 * event once. When the bus falls silent or lost something, the stored turn has the last word.
 */
export class TurnFeed {
  readonly #gateway: GatewayApi;
  readonly #key: SessionKey;
  readonly #unsubscribe: () => void;
  #closed = false;
  #early: AgentEvent[] = [];
  #turnId: string | undefined;
  #reader: TurnReader | undefined;
  #poll: NodeJS.Timeout | undefined;
  #quietRounds = 0;
  #asking = false;
  #last = { epoch: 0, eventSeq: 0 };
  /** False once something was lost or repeated: then the end is read from the store. */
  #whole = true;
  /** False while the text is known to have a hole, until a snapshot or the end mends it. */
  #contiguous = true;
  /** The text by the events so far, and where each model call's part of it begins. */
  #text = '';
  readonly #callStarts = new Map<string, number>();
  #lastCallStart = 0;
  /** True once models worked beside the answer's own calls: what those cost only the store knows. */
  #helped = false;
  /** What the reader has been given; it cannot be taken back. */
  #told = '';
  /** What the answer's own calls cost. */
  #usage: Usage = { promptTokens: 0, completionTokens: 0, modelMs: 0 };

  constructor(gateway: GatewayApi, key: SessionKey) {
    this.#gateway = gateway;
    this.#key = key;
    this.#unsubscribe = gateway.subscribe({ sessionKey: key }, (event) => this.#heard(event));
  }

  /** Names the turn and its reader; `replay` when it may have begun long ago (a repeated message). */
  follow(turnId: string, reader: TurnReader, replay: boolean): void {
    // The client left while the message was being accepted.
    if (this.#closed) return;
    this.#turnId = turnId;
    this.#reader = reader;
    const early = this.#early;
    this.#early = [];
    if (replay) {
      for (const event of this.#gateway.replay(this.#key, undefined).events) this.#heard(event);
      this.#askStore();
    }
    for (const event of early) this.#heard(event);
    this.#poll = setInterval(() => this.#round(), TURN_POLL_MS).unref();
  }

  /** Lets go; the turn itself goes on. Twice is fine. */
  close(): void {
    this.#closed = true;
    this.#unsubscribe();
    clearInterval(this.#poll);
    this.#reader = undefined;
    this.#early = [];
  }

  #heard(event: AgentEvent): void {
    if (this.#turnId === undefined) {
      if (this.#early.length >= MAX_EARLY_EVENTS) this.#early.splice(0, MAX_EARLY_EVENTS / 2);
      this.#early.push(event);
      return;
    }
    if (event.type === 'messages_joined' && event.turnIds.includes(this.#turnId)) this.#askStore();
    if (event.turnId !== this.#turnId || this.#reader === undefined || !this.#advance(event)) return;
    this.#quietRounds = 0;
    if (event.isSubagent === true) this.#helped = true;
    else this.#apply(event, this.#reader);
  }

  /**
   * False for an event that was heard before; notes when events between were lost. A snapshot carries the number of
   * the last event it stands for.
   */
  #advance({ type, epoch, eventSeq }: AgentEvent): boolean {
    if (epoch === undefined || eventSeq === undefined) return true;
    const { epoch: lastEpoch, eventSeq: lastSeq } = this.#last;
    const newest = epoch > lastEpoch || (epoch === lastEpoch && eventSeq > lastSeq);
    const standsForAll = type === 'snapshot';
    if (!newest && !(standsForAll && epoch === lastEpoch && eventSeq === lastSeq)) return false;
    const follows =
      lastEpoch === 0 ? type === 'turn_started' : epoch === lastEpoch && eventSeq === lastSeq + 1;
    if (!follows && !standsForAll) {
      this.#whole = false;
      this.#contiguous = false;
    }
    this.#last = { epoch, eventSeq };
    return true;
  }

  #apply(event: AgentEvent, reader: TurnReader): void {
    switch (event.type) {
      case 'stream_start':
        this.#callStarts.set(event.msgId, this.#text.length);
        this.#lastCallStart = this.#text.length;
        break;
      case 'stream_chunk':
        this.#text += event.delta;
        if (this.#whole) this.#tell(event.delta, reader);
        else if (this.#contiguous) this.#catchUp(this.#text, reader);
        break;
      case 'stream_reset':
        this.#text = this.#text.slice(0, this.#callStarts.get(event.msgId) ?? this.#text.length);
        this.#whole = false;
        break;
      case 'snapshot':
        this.#text = event.text;
        this.#whole = false;
        this.#contiguous = true;
        this.#catchUp(this.#text, reader);
        break;
      case 'stream_end':
        this.#usage = addUsage(this.#usage, event.usage);
        break;
      case 'thinking_started':
        if (event.title !== undefined) reader.thinking(`${event.title}\n`);
        break;
      case 'thinking_delta':
        reader.thinking(event.delta);
        break;
      case 'thinking_finished':
        if (event.usage !== undefined) this.#usage = addUsage(this.#usage, event.usage);
        break;
      case 'plan_ready':
        // Its repairs and explanations are calls that no event tells the cost of.
        if (event.plan.mode !== 'planner') this.#helped = true;
        break;
      case 'queue_position':
        reader.waiting(event.position);
        break;
      case 'turn_ended':
        if (!this.#whole || this.#helped || event.reason === 'failed' || event.reason === 'interrupted') {
          this.#askStore();
        } else this.#end(event.reason, this.#text, this.#usage);
        break;
      default:
    }
  }

  #tell(delta: string, reader: TurnReader): void {
    this.#told += delta;
    reader.text(delta);
  }

  /** Gives what `text` adds to what was told; false when it says something else instead. */
  #catchUp(text: string, reader: TurnReader): boolean {
    if (!text.startsWith(this.#told)) return false;
    if (text.length > this.#told.length) this.#tell(text.slice(this.#told.length), reader);
    return true;
  }

  #round(): void {
    this.#quietRounds += 1;
    if (this.#quietRounds < QUIET_ROUNDS) return;
    this.#quietRounds = 0;
    this.#askStore();
  }

  #askStore(): void {
    const turnId = this.#turnId;
    if (turnId === undefined || this.#asking) return;
    this.#asking = true;
    this.#gateway.turn(turnId).then(
      (turn) => {
        this.#asking = false;
        if (turn?.state !== 'done') return;
        const joined = turn.reason === 'joined';
        const text = joined ? JOINED : (turn.final?.content ?? '');
        this.#end(joined ? 'completed' : readReason(turn.reason), text, turn.usage ?? this.#usage);
      },
      (error: unknown) => {
        this.#asking = false;
        const fault = toFault(error);
        // A store that is away for a moment is asked again in the next round.
        if (fault.status !== 503) this.#finish((reader) => reader.failed(fault));
      },
    );
  }

  #end(reason: TurnEndReason, text: string, usage: Usage): void {
    const lastWords = (text === this.#text ? text.slice(this.#lastCallStart) : text).trim();
    this.#finish((reader) => {
      const failed = reason === 'failed' || reason === 'interrupted';
      if (failed || this.#catchUp(text, reader)) reader.ended({ reason, text, lastWords, usage });
      else reader.failed(RESTARTED);
    });
  }

  #finish(tell: (reader: TurnReader) => void): void {
    const reader = this.#reader;
    this.close();
    if (reader !== undefined) tell(reader);
  }
}

const REASONS: readonly TurnEndReason[] = ['completed', 'stopped', 'max_iterations', 'failed', 'interrupted'];

function readReason(reason: string | undefined): TurnEndReason {
  return REASONS.find((known) => known === reason) ?? 'interrupted';
}

function addUsage(a: Usage, b: Usage): Usage {
  return {
    promptTokens: a.promptTokens + b.promptTokens,
    completionTokens: a.completionTokens + b.completionTokens,
    modelMs: a.modelMs + b.modelMs,
  };
}
