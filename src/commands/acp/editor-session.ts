/** One session of the gateway in an editor: its history, its events, its prompts, and the questions of its approvals. */
import type {
  AgentContext,
  ContentBlock,
  PermissionOption,
  SessionUpdate,
  StopReason,
  ToolCallContent,
} from '@agentclientprotocol/sdk';
import { z } from 'zod';
import { type Clock, pauseOn } from '../../lib/clock.ts';
import { newId } from '../../lib/ids.ts';
import { toGatewayError } from '../../protocol/errors.ts';
import { type AgentEvent, TURN_END_REASONS } from '../../protocol/event.ts';
import type { Plan } from '../../protocol/isomorphic/plan-types.ts';
import type { GatewayClient } from './gateway-client.ts';
import {
  AnswerText,
  chunk,
  kindOf,
  planUpdate,
  stopReasonOf,
  textOfPrompt,
  updateOf,
  withStep,
} from './updates.ts';

/** Messages of a session that an editor is shown when it opens it: the most that the API gives at once. */
const HISTORY = 200;
/** Pause before an event stream that has ended is opened again, in milliseconds. */
const REOPEN_MS = 500;

const APPROVE: PermissionOption = { optionId: 'approve', name: 'Approve', kind: 'allow_once' };
const ALWAYS: PermissionOption = { optionId: 'always', name: 'Always in this session', kind: 'allow_always' };
const DENY: PermissionOption = { optionId: 'deny', name: 'Deny', kind: 'reject_once' };

const receipt = z.union([
  z.object({ handled: z.literal(true), reply: z.string().nullable() }),
  z.object({ turnId: z.string(), lastEventId: z.string() }),
]);
const messages = z.object({
  messages: z.array(
    z.object({
      seq: z.int(),
      role: z.string(),
      content: z.string(),
      turnId: z.string(),
      leftOut: z.boolean(),
    }),
  ),
});
const approvals = z.object({
  approvals: z.array(
    z.object({
      id: z.string(),
      session: z.string(),
      toolCallId: z.string().nullish(),
      tool: z.string(),
      args: z.unknown(),
      warning: z.string().nullish(),
      mayAlways: z.boolean(),
      question: z.unknown(),
    }),
  ),
});
type Approval = z.output<typeof approvals>['approvals'][number];
const trace = z.object({ state: z.string(), reason: z.enum(TURN_END_REASONS).nullish() });
const anything = z.unknown();

export interface EditorSessionDeps {
  gateway: GatewayClient;
  /** The editor. */
  editor: AgentContext;
  /** Aborts when the editor has gone. */
  signal: AbortSignal;
  clock: Clock;
  /** Shows a line to whoever reads the standard error of the bridge. */
  report: (line: string) => void;
}

/** Keeps nothing that the gateway does not have: another bridge goes on with `load` where this one has ended. */
export class EditorSession {
  readonly key: string;
  readonly #deps: EditorSessionDeps;
  readonly #path: string;
  /** Prompts that wait for the end of their turn. */
  readonly #prompts = new Map<string, (reason: StopReason) => void>();
  readonly #answers = new Map<string, AnswerText>();
  /** Questions that the editor has been asked, and how each is taken back. */
  readonly #asked = new Map<string, AbortController>();
  /** Texts that the editor itself has sent, by what takes those back that have not reached the gateway. */
  readonly #sending = new Map<AbortController, string>();
  /** Turns that ended while a prompt was being sent: its own may be among them. */
  readonly #ended = new Map<string, StopReason>();
  #plan: Plan | undefined;
  #following = false;

  /** `key` is that of a session of the gateway, which its first prompt makes. */
  constructor(key: string, deps: EditorSessionDeps) {
    this.key = key;
    this.#deps = deps;
    this.#path = `/v1/sessions/${encodeURIComponent(key)}`;
  }

  /** Shows what was said, and follows what happens. Throws `GatewayError`. */
  async load(): Promise<void> {
    const { messages: stored } = await this.#deps.gateway.call(
      `${this.#path}/messages?limit=${HISTORY}`,
      messages,
    );
    for (const { seq, role, content, leftOut } of stored) {
      if (leftOut) continue;
      await this.#show(
        chunk(role === 'user' ? 'user_message_chunk' : 'agent_message_chunk', content, `${seq}`),
      );
    }
    this.#follow(undefined);
  }

  /** Sends a message, however long the gateway takes to start, and waits for the end of its turn. Throws `GatewayError`. */
  async prompt(blocks: readonly ContentBlock[]): Promise<StopReason> {
    const { gateway, signal } = this.#deps;
    const content = textOfPrompt(blocks);
    const key = { 'idempotency-key': newId() };
    const cancelled = new AbortController();
    this.#sending.set(cancelled, content);
    try {
      const until = AbortSignal.any([signal, cancelled.signal]);
      const path = `${this.#path}/messages`;
      const answer = await gateway.callUntilAnswered(until, path, receipt, { content }, key);
      if ('handled' in answer) {
        if (answer.reply !== null) await this.#show(chunk('agent_message_chunk', answer.reply, newId()));
        return 'end_turn';
      }
      return await this.#endOf(answer);
    } catch (error) {
      if (cancelled.signal.aborted) return 'cancelled';
      throw error;
    } finally {
      this.#sending.delete(cancelled);
      if (this.#sending.size === 0) this.#ended.clear();
    }
  }

  /** Why the turn of a prompt has ended, once it has. */
  async #endOf({ turnId, lastEventId }: { turnId: string; lastEventId: string }): Promise<StopReason> {
    const reason = this.#ended.get(turnId);
    if (reason !== undefined) return reason;
    const { promise, resolve } = Promise.withResolvers<StopReason>();
    this.#prompts.set(turnId, resolve);
    this.#follow(lastEventId);
    return await promise;
  }

  /** Stops what runs, and what has not been sent yet. Throws `GatewayError`. */
  async cancel(): Promise<void> {
    const { gateway, signal } = this.#deps;
    const isSent = this.#prompts.size > 0;
    if (!isSent) for (const unsent of this.#sending.keys()) unsent.abort();
    else await gateway.callUntilAnswered(signal, `${this.#path}/stop`, anything, {});
  }

  /** Follows the session from now on, until the editor has gone; once. */
  #follow(lastEventId: string | undefined): void {
    if (this.#following) return;
    this.#following = true;
    void this.#followAll(lastEventId).catch(async (error: unknown) => await this.#report(error));
  }

  async #followAll(from: string | undefined): Promise<void> {
    const { gateway, signal, clock } = this.#deps;
    let last = from;
    while (!signal.aborted) {
      try {
        await this.#catchUp();
        for await (const { id, event } of gateway.events(this.key, last, signal)) {
          last = id ?? last;
          if (event.type === 'session_deleted') return this.#endAll();
          await this.#take(event);
        }
      } catch (error) {
        if (signal.aborted) return;
        if (!toGatewayError(error).retryable) {
          this.#endAll();
          throw error;
        }
      }
      await pauseOn(clock, REOPEN_MS, signal);
    }
  }

  /** Ends the prompts whose turns have ended unseen, and asks what waits for an answer. Throws `GatewayError`. */
  async #catchUp(): Promise<void> {
    const { gateway } = this.#deps;
    for (const turnId of this.#prompts.keys()) {
      const { state, reason } = await gateway.call(`/v1/turns/${turnId}/trace`, trace);
      if (state === 'done') await this.#endTurn(turnId, stopReasonOf(reason ?? 'completed'));
    }
    const { approvals: waiting } = await gateway.call('/v1/approvals', approvals);
    for (const approval of waiting) if (approval.session === this.key) this.#ask(approval);
  }

  async #take(event: AgentEvent): Promise<void> {
    const { type, turnId } = event;
    // The work of subagents is not shown, but for their questions.
    if (event.agentId !== undefined && type !== 'approval_needed' && type !== 'approval_decided') return;
    switch (type) {
      case 'message_received':
        if ([...this.#sending.values()].includes(event.content)) return;
        return await this.#show(chunk('user_message_chunk', event.content, `${event.seq}`));
      case 'stream_chunk':
      case 'stream_reset':
      case 'snapshot':
        return await this.#show(turnId === undefined ? undefined : this.#answerOf(turnId).add(event));
      case 'plan_ready':
      case 'plan_revised':
      case 'plan_edited':
        this.#plan = event.plan;
        return await this.#show(planUpdate(event.plan));
      case 'step_changed':
        if (this.#plan === undefined) return;
        this.#plan = withStep(this.#plan, event.step);
        return await this.#show(planUpdate(this.#plan));
      case 'approval_needed':
        return await this.#catchUp();
      case 'approval_decided':
        return this.#asked.get(event.approvalId)?.abort();
      case 'turn_ended':
        return turnId === undefined ? undefined : await this.#endTurn(turnId, stopReasonOf(event.reason));
      default:
        return await this.#show(updateOf(event));
    }
  }

  #answerOf(turnId: string): AnswerText {
    const existing = this.#answers.get(turnId);
    if (existing !== undefined) return existing;
    const answer = new AnswerText(turnId);
    this.#answers.set(turnId, answer);
    return answer;
  }

  /** Shows what of the stored answer was not shown as it grew, and ends the prompt. Throws `GatewayError`. */
  async #endTurn(turnId: string, reason: StopReason): Promise<void> {
    const stored = await this.#deps.gateway.call(`${this.#path}/messages?limit=${HISTORY}`, messages);
    const final = stored.messages.findLast((message) => message.turnId === turnId && message.role !== 'user');
    if (final !== undefined) await this.#show(this.#answerOf(turnId).finish(final.content));
    this.#answers.delete(turnId);
    if (this.#sending.size > 0) this.#ended.set(turnId, reason);
    this.#prompts.get(turnId)?.(reason);
    this.#prompts.delete(turnId);
  }

  #endAll(): void {
    for (const end of this.#prompts.values()) end('cancelled');
    this.#prompts.clear();
  }

  /** Asks the editor's person once; the answer is sent when it comes. */
  #ask(approval: Approval): void {
    if (this.#asked.has(approval.id) || approval.question !== null) return;
    const taken = new AbortController();
    this.#asked.set(approval.id, taken);
    void this.#decide(approval, taken.signal).catch(async (error: unknown) => await this.#report(error));
  }

  async #decide(
    { id, toolCallId, tool, args, warning, mayAlways }: Approval,
    taken: AbortSignal,
  ): Promise<void> {
    const { editor, gateway, signal } = this.#deps;
    const content: ToolCallContent[] =
      typeof warning === 'string' && warning !== ''
        ? [{ type: 'content', content: { type: 'text', text: warning } }]
        : [];
    const toolCall = {
      toolCallId: toolCallId ?? id,
      title: tool,
      kind: kindOf(tool),
      rawInput: args,
      content,
    };
    const options = mayAlways ? [APPROVE, ALWAYS, DENY] : [APPROVE, DENY];
    const { outcome } = await editor.request(
      'session/request_permission',
      { sessionId: this.key, toolCall: { ...toolCall, status: 'pending' }, options },
      { cancellationSignal: taken },
    );
    if (taken.aborted || outcome.outcome !== 'selected') return;
    const decision = {
      decision: outcome.optionId === DENY.optionId ? 'denied' : 'approved',
      ...(outcome.optionId === ALWAYS.optionId && { always: true }),
    };
    await gateway.callUntilAnswered(signal, `/v1/approvals/${encodeURIComponent(id)}`, anything, decision);
  }

  async #show(update: SessionUpdate | undefined): Promise<void> {
    if (update === undefined) return;
    await this.#deps.editor.notify('session/update', { sessionId: this.key, update });
  }

  /** Shows what went wrong as the agent's own words. Never rejects. */
  async #report(error: unknown): Promise<void> {
    const { message } = toGatewayError(error);
    this.#deps.report(message);
    try {
      await this.#show(chunk('agent_message_chunk', message, newId()));
    } catch {
      // The editor has gone; whoever reads the standard error has the message.
    }
  }
}
