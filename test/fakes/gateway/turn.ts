/** A turn of the fake gateway, driven by the test. */
import type { Attachment } from '../../../src/protocol/media.ts';
import { type EventBody, isFailure, type TurnEndReason } from '../../../src/protocol/event.ts';
import type { InboundMessage, SessionKey } from '../../../src/protocol/message.ts';
import type { Plan } from '../../../src/protocol/agent/plan.ts';
import type { PlanRecord } from '../../../src/protocol/agent/plan-store.ts';
import type { Usage } from '../../../src/protocol/agent/provider.ts';
import type { ReceiveOptions } from '../../../src/protocol/receive.ts';
import type { MessageRecord, TurnFailure } from '../../../src/protocol/store/records.ts';
import type { TurnStatus } from '../../../src/protocol/sessions/session-list.ts';
import type { FakeEvents } from './events.ts';

/** What every model call of the fake gateway costs. */
export const USAGE: Usage = { promptTokens: 11, completionTokens: 7, modelMs: 5 };

/** What a turn needs from its gateway. */
export interface TurnGateway {
  events: FakeEvents;
  commit(
    key: SessionKey,
    turnId: string,
    role: 'assistant',
    content: string,
    isError: boolean,
    isPlan?: boolean,
  ): MessageRecord;
  newestPlans: Map<SessionKey, PlanRecord>;
  next(key: SessionKey): void;
}

/** A turn: each method emits its events at once; `end` commits the answer and emits `turn_ended` last. */
export class FakeTurn {
  readonly id: string;
  readonly message: InboundMessage;
  readonly options: ReceiveOptions;
  readonly stopped = new AbortController();
  state: TurnStatus['state'] = 'queued';
  reason: TurnEndReason | undefined;
  final: MessageRecord | undefined;
  /** The files of its answer; set them before `end`. */
  attachments: readonly Attachment[] = [];
  /** Why it failed; set it before `end('failed')`. */
  failure: TurnFailure | undefined;
  readonly #gateway: TurnGateway;
  readonly #key: SessionKey;
  #text = '';
  #call = '';
  #calls = 0;

  constructor(
    gateway: TurnGateway,
    key: SessionKey,
    id: string,
    message: InboundMessage,
    options: ReceiveOptions,
  ) {
    this.#gateway = gateway;
    this.#key = key;
    this.id = id;
    this.message = message;
    this.options = options;
  }

  emit(body: EventBody, from: { agentId?: string; isSubagent?: boolean } = {}): void {
    this.#gateway.events.emit(this.#key, { ...body, ...from }, this.id);
  }

  /** Starts a plan: stores it, commits its message, emits `plan_ready`. */
  follow(plan: Plan): void {
    this.store(plan);
    const steps = plan.steps.map(({ description }, index) => `${index + 1}. ${description}`);
    this.#gateway.commit(this.#key, this.id, 'assistant', [plan.goal, '', ...steps].join('\n'), false, true);
    this.emit({ type: 'plan_ready', plan });
  }

  /** Stores the plan without an event. */
  store(plan: Plan): void {
    const now = new Date();
    const record = {
      plan,
      session: this.#key,
      turnId: this.id,
      createdAt: now,
      updatedAt: now,
      pendingEdits: 0,
      etag: '',
    };
    this.#gateway.newestPlans.set(this.#key, record);
  }

  think(...deltas: string[]): void {
    const msgId = this.#msgId();
    this.emit({ type: 'thinking_started', msgId });
    for (const delta of deltas) this.emit({ type: 'thinking_delta', msgId, delta });
    this.emit({ type: 'thinking_finished', msgId });
  }

  say(...deltas: string[]): void {
    if (this.#call === '') this.#begin();
    for (const delta of deltas) {
      this.#text += delta;
      this.emit({ type: 'stream_chunk', msgId: this.#call, delta });
    }
  }

  /** The model call is repeated: its text so far is void. */
  reset(): void {
    this.#text = '';
    this.emit({ type: 'stream_reset', msgId: this.#call });
    this.#call = '';
  }

  tool(name: string, args: Record<string, unknown>): string {
    this.#endCall();
    const toolCallId = `call-${this.id}-${(this.#calls += 1)}`;
    this.emit({ type: 'tool_call', toolCallId, name, args });
    return toolCallId;
  }

  result(toolCallId: string, name: string, result: string, isError = false): void {
    this.emit({ type: 'tool_result', toolCallId, name, result, isError });
  }

  /** Ends the turn. `lastText` arrives as a separate model call, as from the real gateway. */
  end(reason: TurnEndReason = 'completed', lastText = ''): void {
    if (this.state === 'done') return;
    this.#endCall();
    if (lastText !== '') {
      if (isFailure(reason)) this.#begin({ failure: true });
      this.say(`${this.#text === '' ? '' : '\n\n'}${lastText}`);
      this.#endCall();
    }
    this.state = 'done';
    this.reason = reason;
    const isError = reason === 'failed';
    if (this.#text !== '')
      this.final = this.#gateway.commit(this.#key, this.id, 'assistant', this.#text, isError);
    if (this.final !== undefined && this.attachments.length > 0) this.final.attachments = this.attachments;
    this.emit({ type: 'turn_ended', reason });
    this.#gateway.next(this.#key);
  }

  /** The state of the turn, as `GatewayApi.turn` reports it. */
  status(): TurnStatus {
    const { state, reason, failure, final } = this;
    return { state, reason, failure, final, usage: state === 'done' ? USAGE : undefined };
  }

  /** Emits all text so far, numbered like the last event it covers. */
  snapshot(): void {
    this.#gateway.events.snapshot(this.#key, this.id, this.#text);
  }

  #begin(of: { failure?: true } = {}): void {
    this.#call = this.#msgId();
    this.emit({ type: 'stream_start', msgId: this.#call, ...of });
  }

  #msgId(): string {
    return `msg-${this.id}-${(this.#calls += 1)}`;
  }

  #endCall(): void {
    if (this.#call !== '')
      this.emit({ type: 'stream_end', msgId: this.#call, content: this.#text, usage: USAGE });
    this.#call = '';
  }
}
