/** Follows one turn to its end over an event bus that may lose events; the text it passes on is the stored one. */
import {
  type AgentEvent,
  isFailure,
  TURN_END_REASONS,
  type TurnEndReason,
} from '../../src/protocol/event.ts';
import type { GatewayApi } from '../../src/protocol/gateway-api.ts';
import type { SessionKey } from '../../src/protocol/message.ts';
import type { Usage } from '../../src/protocol/agent/provider.ts';
import type { TurnFailure } from '../../src/protocol/store/records.ts';
import type { TurnStatus } from '../../src/protocol/sessions/session-list.ts';
import { TURN_POLL_MS } from './config.ts';
import { endedTurn, HttpError, toHttpError } from './errors.ts';
import type { AnswerWriter, FinishReason } from './model-apis/answer.ts';

/** Usage of nothing. */
export const NO_USAGE: Usage = { promptTokens: 0, completionTokens: 0, modelMs: 0 };

const RESTARTED = new HttpError(
  500,
  'answer_restarted',
  'The answer was restarted after an error and differs from what was sent. Repeat the request with the same Idempotency-Key to get all of it.',
);

const DELETED = new HttpError(410, 'session_deleted', 'The session was deleted.');

/** The answer for a client whose message became part of another turn. */
const JOINED = 'This message was answered together with the previous one of the same session.';

/** Events of the session that are kept while the message is being accepted; those of its own turn are always newest. */
const MAX_EARLY_EVENTS = 4_096;
/** Checks in a row without an event before the store is read. */
const MAX_SILENT_CHECKS = 3;

/** OpenAI's reasons for the ends of turns that have an answer; any other is `stop`. */
const FINISH_REASONS: Partial<Record<TurnEndReason, FinishReason>> = {
  cut_off: 'length',
  max_iterations: 'length',
  filtered: 'content_filter',
};

/**
 * Subscribes to a session before the message is posted, so that no event is missed. Once `follow` names the turn, the
 * reader gets its events, each once: those the event bus still has, those that came early, then live ones. When events
 * are missing, the stored turn is read.
 */
export class TurnFeed {
  readonly #gateway: GatewayApi;
  readonly #key: SessionKey;
  readonly #unsubscribe: () => void;
  #closed = false;
  #early: AgentEvent[] = [];
  #turnId: string | undefined;
  #reader: AnswerWriter | undefined;
  #poll: NodeJS.Timeout | undefined;
  #silentChecks = 0;
  #readingStore = false;
  #lastEpoch = 0;
  #lastSeq = 0;
  /** False once events were lost or a model call was repeated: the end is then read from the store. */
  #complete = true;
  /** False while the text has a gap, until a snapshot or the end fills it. */
  #contiguous = true;
  /** The text of the events so far, and where the part of each model call begins. */
  #text = '';
  readonly #callStarts = new Map<string, number>();
  /** The call whose text is the reason of a failure: readers get it with the end, not as part of the answer. */
  #failureCall: { msgId: string; start: number } | undefined;
  /** The text of a snapshot is not sent yet: if the turn has just failed, it ends with the reason. */
  #held = false;
  /** True once subagents or plan steps called the model: only the store knows their usage. */
  #hasSideCalls = false;
  /** Text the reader already has; it cannot be taken back. */
  #sent = '';
  #usage: Usage = NO_USAGE;
  /** The part of a continued turn that its reader received in an earlier answer. */
  #before = NOTHING_YET;

  constructor(gateway: GatewayApi, key: SessionKey) {
    this.#gateway = gateway;
    this.#key = key;
    this.#unsubscribe = gateway.subscribe({ sessionKey: key }, (event) => this.#onEvent(event));
  }

  /** Sets the turn and its reader; `replay`: it may have started long ago; `before`: what its reader had of it. */
  follow(
    turnId: string,
    reader: AnswerWriter,
    { replay, before = NOTHING_YET }: { replay: boolean; before?: TurnSoFar },
  ): void {
    // The client left while the message was being accepted.
    if (this.#closed) return;
    this.#turnId = turnId;
    this.#reader = reader;
    this.#before = before;
    this.#text = this.#sent = before.text;
    const early = this.#early;
    this.#early = [];
    if (replay) {
      // What the event bus still has may belong to the earlier part.
      const events = before === NOTHING_YET ? this.#gateway.replay(this.#key, undefined).events : [];
      for (const event of events) this.#onEvent(event);
      this.#readStoredTurn();
    }
    for (const event of early) this.#onEvent(event);
    this.#poll = setInterval(() => this.#checkSilence(), TURN_POLL_MS).unref();
  }

  /** Stops following; the turn itself continues. May be called twice. */
  close(): void {
    this.#closed = true;
    this.#unsubscribe();
    clearInterval(this.#poll);
    this.#reader = undefined;
    this.#early = [];
  }

  #onEvent(event: AgentEvent): void {
    if (this.#turnId === undefined) {
      // A session deleted before the message was accepted is another one with this name.
      if (event.type === 'session_deleted') return;
      if (this.#early.length >= MAX_EARLY_EVENTS) this.#early.splice(0, MAX_EARLY_EVENTS / 2);
      this.#early.push(event);
      return;
    }
    if (event.type === 'session_deleted') this.#finish((reader) => reader.fail(DELETED));
    if (event.type === 'messages_joined' && event.turnIds.includes(this.#turnId)) this.#readStoredTurn();
    if (event.turnId !== this.#turnId || this.#reader === undefined || !this.#advance(event)) return;
    this.#silentChecks = 0;
    if (event.isSubagent === true) this.#hasSideCalls = true;
    else this.#apply(event, this.#reader);
  }

  /** False for an event seen before. Detects lost events by their numbers; a snapshot has that of the last event it covers. */
  #advance({ type, epoch, eventSeq }: AgentEvent): boolean {
    if (epoch === undefined || eventSeq === undefined) return true;
    const lastEpoch = this.#lastEpoch;
    const lastSeq = this.#lastSeq;
    const newest = epoch > lastEpoch || (epoch === lastEpoch && eventSeq > lastSeq);
    const standsForAll = type === 'snapshot';
    if (!newest && !(standsForAll && epoch === lastEpoch && eventSeq === lastSeq)) return false;
    const follows =
      lastEpoch === 0 ? type === 'turn_started' : epoch === lastEpoch && eventSeq === lastSeq + 1;
    if (!follows && !standsForAll) {
      this.#complete = false;
      this.#contiguous = false;
    }
    this.#lastEpoch = epoch;
    this.#lastSeq = eventSeq;
    return true;
  }

  #apply(event: AgentEvent, reader: AnswerWriter): void {
    switch (event.type) {
      case 'stream_start':
        if (this.#held) this.#catchUp(this.#text, reader);
        this.#callStarts.set(event.msgId, this.#text.length);
        if (event.failure === true) this.#failureCall = { msgId: event.msgId, start: this.#text.length };
        break;
      case 'stream_chunk':
        this.#text += event.delta;
        if (event.msgId === this.#failureCall?.msgId) break;
        if (this.#complete) this.#sendText(event.delta, reader);
        else if (this.#contiguous) this.#catchUp(this.#text, reader);
        break;
      case 'stream_reset':
        this.#text = this.#text.slice(0, this.#callStarts.get(event.msgId) ?? this.#text.length);
        this.#complete = false;
        break;
      case 'snapshot':
        this.#text = event.text;
        this.#complete = false;
        this.#contiguous = true;
        this.#held = true;
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
        // No event carries the usage of the calls that correct or explain its steps.
        if (event.plan.mode !== 'planner') this.#hasSideCalls = true;
        break;
      case 'queue_position':
        reader.waiting();
        break;
      case 'tool_results_needed':
        if (!this.#complete || this.#hasSideCalls) this.#readStoredTurn();
        else this.#endWithCalls({ calls: event.calls, text: this.#text, usage: this.#usage }, NO_USAGE);
        break;
      case 'turn_ended':
        if (!this.#complete || this.#hasSideCalls || isFailure(event.reason)) {
          this.#readStoredTurn();
        } else this.#end(event.reason, this.#text, this.#usage);
        break;
      default:
    }
  }

  #sendText(delta: string, reader: AnswerWriter): void {
    if (reader.whole) return;
    this.#sent += delta;
    reader.text(delta);
  }

  /** Sends the part of `text` that was not sent yet; false when `text` does not start with what was sent. */
  #catchUp(text: string, reader: AnswerWriter): boolean {
    this.#held = false;
    if (!text.startsWith(this.#sent)) return false;
    if (text.length > this.#sent.length) this.#sendText(text.slice(this.#sent.length), reader);
    return true;
  }

  #checkSilence(): void {
    this.#silentChecks += 1;
    if (this.#silentChecks < MAX_SILENT_CHECKS && !this.#held) return;
    this.#silentChecks = 0;
    this.#readStoredTurn();
  }

  #readStoredTurn(): void {
    const turnId = this.#turnId;
    if (turnId === undefined || this.#readingStore) return;
    this.#readingStore = true;
    this.#gateway.turn(turnId).then(
      (turn) => {
        this.#readingStore = false;
        // It was deleted with its session, and that event was lost.
        if (turn === undefined) this.#finish((reader) => reader.fail(DELETED));
        if (turn?.waitsFor !== undefined) this.#endWithCalls(turn.waitsFor, this.#before.usage);
        if (turn?.state !== 'done') {
          if (this.#held && this.#reader !== undefined) this.#catchUp(this.#text, this.#reader);
          return;
        }
        const isJoined = turn.reason === 'joined';
        const text = isJoined ? JOINED : (turn.final?.content ?? '');
        const answerUsage = turn.usage && addUsage(turn.usage, this.#before.usage, -1);
        const reason = isJoined ? 'completed' : readReason(turn.reason);
        this.#end(reason, text, answerUsage ?? this.#usage, turn.failure);
      },
      (error: unknown) => {
        this.#readingStore = false;
        const httpError = toHttpError(error);
        // When the store cannot be reached, the next check reads it again.
        if (httpError.status !== 503) this.#finish((reader) => reader.fail(httpError));
      },
    );
  }

  /** The turn waits for its caller's tools. `spent` is the part of the usage that does not belong to this answer. */
  #endWithCalls({ calls, text, usage }: NonNullable<TurnStatus['waitsFor']>, otherUsage: Usage): void {
    if (calls.some(({ id }) => this.#before.answered.has(id))) return;
    this.#finish((reader) => {
      if (reader.whole) reader.text(text.slice(this.#before.text.length));
      if (reader.whole || this.#catchUp(text, reader)) {
        for (const call of calls) reader.toolCall(call);
        reader.finish('tool_calls', addUsage(usage, otherUsage, -1));
      } else reader.fail(RESTARTED);
    });
  }

  #end(reason: TurnEndReason, text: string, usage: Usage, failure?: TurnFailure): void {
    this.#finish((reader) => {
      if (reader.whole) reader.text(text.slice(this.#before.text.length));
      if (isFailure(reason)) reader.fail(endedTurn(reason, this.#reasonIn(text), failure));
      else if (reader.whole || this.#catchUp(text, reader))
        reader.finish(FINISH_REASONS[reason] ?? 'stop', usage);
      else reader.fail(RESTARTED);
    });
  }

  /** The part of a failed turn's text that is its reason: the gateway's own call, else what follows the text sent so far. */
  #reasonIn(text: string): string {
    const failureStart = text === this.#text ? this.#failureCall?.start : undefined;
    return text.slice(failureStart ?? (text.startsWith(this.#sent) ? this.#sent.length : 0)).trim();
  }

  #finish(report: (reader: AnswerWriter) => void): void {
    const reader = this.#reader;
    this.close();
    if (reader !== undefined) report(reader);
  }
}

/** What the reader of a continued turn received before: the beginning of its text, its usage, the calls it answered. */
interface TurnSoFar {
  text: string;
  usage: Usage;
  answered: ReadonlySet<string>;
}

const NOTHING_YET: TurnSoFar = { text: '', usage: NO_USAGE, answered: new Set() };

/** The sum of two usages; with `sign` -1 the difference, never below zero. */
function addUsage(a: Usage, b: Usage, sign: 1 | -1 = 1): Usage {
  return {
    promptTokens: Math.max(0, a.promptTokens + sign * b.promptTokens),
    completionTokens: Math.max(0, a.completionTokens + sign * b.completionTokens),
    modelMs: Math.max(0, a.modelMs + sign * b.modelMs),
  };
}

/** The reason for which a stored turn ended; an unknown one counts as an interruption. */
function readReason(reason: string | undefined): TurnEndReason {
  return TURN_END_REASONS.find((one) => one === reason) ?? 'interrupted';
}
