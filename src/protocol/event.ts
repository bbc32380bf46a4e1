/** The events of the gateway: one union, `type` in snake_case, the same in process and on the wire. */
import type { Attachment } from './media.ts';
import type { SessionKey } from './message.ts';
import type { Plan, PlanStep } from './isomorphic/plan-types.ts';
import type { ToolCall, Usage } from './agent/provider.ts';
import type { Todo } from './store/notes.ts';
import type { TextRef } from './texts/say.ts';

/**
 * Why a turn ended. `cut_off`: the last answer reached its maximum length. `filtered`: the model refused to answer, or the
 * content filter of its server ended the answer.
 */
export const TURN_END_REASONS = [
  'completed',
  'cut_off',
  'filtered',
  'stopped',
  'max_iterations',
  'failed',
  'interrupted',
] as const;
/** One of them. */
export type TurnEndReason = (typeof TURN_END_REASONS)[number];

/** True for a turn that has its answer, even if cut off. */
export function isAnswered(reason: TurnEndReason): boolean {
  return reason === 'completed' || reason === 'cut_off';
}

/** True for a turn that has no answer, only a reason why there is none. */
export function isFailure(reason: TurnEndReason): boolean {
  return reason === 'failed' || reason === 'interrupted';
}

/** What happened. `msgId` is unique per model call (B-37). */
export type EventBody =
  | { type: 'message_received'; content: string; seq: number; senderName?: string | undefined }
  /** A message besides an answer: in the middle of a turn, or of a webhook outside any; it is stored among the session's messages. */
  | { type: 'message_sent'; seq: number; content: string; attachments?: readonly Attachment[] }
  | { type: 'turn_started' }
  /**
   * Thinking starts / grows / ends; always before the text of the same model call (N-48). `title`: what it is about, if
   * it is not the answer's own thinking.
   */
  | { type: 'thinking_started'; msgId: string; title?: string | undefined }
  | { type: 'thinking_delta'; msgId: string; delta: string }
  /** `usage` and `model` when the whole call is shown as thinking (planning, a step of a plan) and no `stream_end` reports it. */
  | { type: 'thinking_finished'; msgId: string; usage?: Usage | undefined; model?: string | undefined }
  /**
   * One model call's text. The deltas of all calls of a turn that were not reset, joined, equal the stored text.
   * `failure`: it is not the model's, but the gateway's reason why the turn ends without an answer.
   */
  | { type: 'stream_start'; msgId: string; failure?: true }
  | { type: 'stream_chunk'; msgId: string; delta: string }
  /** The deltas of `msgId` are void: the call is repeated after a crash, an overflow or a broken stream. */
  | { type: 'stream_reset'; msgId: string }
  | { type: 'stream_end'; msgId: string; content: string; usage: Usage }
  | { type: 'tool_call'; toolCallId: string; name: string; args: Record<string, unknown> }
  /** Progress of a running call: one line, in the words of the tool. At most twice a second. */
  | { type: 'tool_progress'; toolCallId: string; name: string; text: string }
  | { type: 'tool_result'; toolCallId: string; name: string; result: string; isError: boolean }
  | { type: 'plan_ready'; plan: Plan }
  | { type: 'plan_revised'; plan: Plan; reason: string }
  /** A person has changed the plan, or a run of it has started. Outside a turn, too. */
  | { type: 'plan_edited'; plan: Plan }
  /** A plan ends with `plan_completed` or `plan_cancelled`; a later run of its turn emits the end again after `plan_ready`. */
  | { type: 'plan_completed' }
  | { type: 'plan_paused' }
  | { type: 'plan_resumed' }
  /** `why` is the reason as people read it, if a table of texts has it. */
  | { type: 'plan_cancelled'; reason: string; why?: TextRef }
  | { type: 'step_changed'; step: PlanStep }
  | { type: 'agent_thinking'; step: PlanStep }
  | { type: 'agent_stuck'; step?: PlanStep; reason: string; why?: TextRef }
  | { type: 'retry_attempt'; step: PlanStep; attempt: number; newCommand?: string }
  | { type: 'step_skipped'; step: PlanStep }
  | { type: 'budget_warning'; remaining: number; total: number }
  /** `toolCallId` names the waiting call; a waiting plan has none. */
  | { type: 'approval_needed'; approvalId: string; toolCallId?: string; warningMessage?: string }
  /**
   * `by` is the name of the person; without one no one decided in time, or a stop did. `decidedAt` is an ISO date;
   * `reason` is what the person wrote with a denial.
   */
  | {
      type: 'approval_decided';
      approvalId: string;
      decision: 'approved' | 'denied';
      toolCallId?: string;
      by?: string;
      how?: 'person' | 'expiry' | 'stop';
      decidedAt?: string;
      reason?: string;
    }
  /** The turn waits for its caller, who runs these tools. */
  | { type: 'tool_results_needed'; calls: ToolCall[] }
  /** The whole list, at most `MAX_TODOS` items. */
  | { type: 'todo_changed'; items: Pick<Todo, 'text' | 'status'>[] }
  | { type: 'mode_changed'; mode: string }
  | { type: 'profile_switched'; profileId: string }
  | { type: 'subagent_spawned'; profileId: string; task: string }
  | { type: 'subagent_completed'; result: string; completedNormally: boolean }
  | { type: 'context_compressed'; before: number; after: number }
  /** Number of messages of the same session waiting before this one. */
  | { type: 'queue_position'; position: number }
  /** Waiting messages have joined this turn; their own turns have ended (`joined`). */
  | { type: 'messages_joined'; turnIds: string[] }
  /** Information for the user: `model_unavailable`, `dead_letter`, `outcome_unknown`, … */
  | { type: 'notice'; code: string; text: string }
  | { type: 'heartbeat_tick' }
  /** A person, or the gateway after the first answer, has given the session a title; null = it no longer has one. */
  | { type: 'session_titled'; title: string | null }
  /** A person has asked a question again, chosen among its answers, taken them back, or begun a new conversation: reload the messages. */
  | { type: 'context_changed' }
  /** A chat has joined those that share the session, or has left them. */
  | { type: 'surfaces_changed' }
  /** A person has edited, moved or dropped waiting messages. */
  | { type: 'queue_changed' }
  /** The session and everything that belongs to it is gone; always its last event. */
  | { type: 'session_deleted' }
  | { type: 'cron_executed'; scheduleId: string }
  /** The text of the turn so far, sent when individual deltas are no longer available. */
  | { type: 'snapshot'; text: string }
  /** The turn has ended and is committed; always the last event of a turn. */
  | { type: 'turn_ended'; reason: TurnEndReason };

/** Envelope of an event. Events of a turn have `turnId`, `epoch` and a gapless `eventSeq`; others have none of these. */
export interface EventEnvelope {
  sessionKey: SessionKey;
  turnId?: string | undefined;
  /** The lane epoch under which the turn runs; a turn resumed after a crash has a higher one. */
  epoch?: number | undefined;
  /** Counts from 1 within (session, epoch). */
  eventSeq?: number | undefined;
  /** Epoch milliseconds. */
  at: number;
  agentId?: string | undefined;
  isSubagent?: boolean | undefined;
}

export type AgentEvent = EventEnvelope & EventBody;

/** The id an SSE client echoes as `Last-Event-ID`; undefined for events outside a turn. */
export function sseId(event: EventEnvelope): string | undefined {
  return event.epoch === undefined || event.eventSeq === undefined
    ? undefined
    : `${event.epoch}-${event.eventSeq}`;
}

/** The place before every event of a session: a replay from it returns all that are still kept. */
export const FIRST_EVENT_ID = '0-0';
