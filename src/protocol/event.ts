/** The events of the gateway, the same in process and on the wire: each kind once, as a schema; types and the API's description follow. */
import { z } from 'zod';
import type { Attachment } from './media.ts';
import type { Plan, PlanStep } from './isomorphic/plan-types.ts';
import type { ToolCall, Usage } from './agent/provider.ts';
import type { Todo } from './store/notes.ts';
import { isTextKey, type TextRef } from './texts/say.ts';

/**
 * Why a turn ended. `cut_off`: the last answer reached its maximum length. `filtered`: the model refused to answer, or
 * its server's content filter ended the answer.
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
export type TurnEndReason = (typeof TURN_END_REASONS)[number];

/** True for a turn that has its answer, even if cut off. */
export function isAnswered(reason: TurnEndReason): boolean {
  return reason === 'completed' || reason === 'cut_off';
}

/** True for a turn that has no answer, only a reason why there is none. */
export function isFailure(reason: TurnEndReason): boolean {
  return reason === 'failed' || reason === 'interrupted';
}

/** What a schema with further fields accepts: an interface as a type. */
type Plain<Value> = Value extends readonly (infer Item)[]
  ? Plain<Item>[]
  : Value extends object
    ? { [Key in keyof Value]: Plain<Value[Key]> }
    : Value;

/** A record that events carry whole: the schema has the fields that clients may rely on, and accepts each such record. */
function carried<Value>() {
  return <Schema extends z.ZodType>(
    schema: Schema & (Plain<Value> extends z.input<Schema> ? unknown : never),
  ): z.ZodType<Value> => schema as z.ZodType<Value>;
}

const executor = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('tool'), tool: z.string() }),
  z.object({ kind: z.literal('agent'), profileId: z.string() }),
  z.object({ kind: z.literal('self') }),
]);

/** A text by its key, which each reader sees in their language. */
const keptText: z.ZodType<TextRef> = z
  .object({
    key: z.string().refine(isTextKey),
    values: z.lazy(() => z.record(z.string(), z.union([z.string(), z.number(), keptText]))).optional(),
  })
  .meta({ id: 'KeptText' });

const planStepFields = z
  .looseObject({
    id: z.string(),
    index: z.int().describe('place in the plan, from 0'),
    description: z.string(),
    executor,
    args: z.record(z.string(), z.unknown()).optional().describe('of a tool, once they are known'),
    risk: z.enum(['safe', 'caution', 'dangerous']),
    status: z.enum(['pending', 'running', 'done', 'failed', 'skipped']),
    validation: z.string().optional().describe('how it was checked that the step is done'),
    attempts: z.int(),
    corrections: z.int(),
    revision: z.string().optional().describe('why it was last corrected'),
  })
  .meta({ id: 'PlanStep' });
const planStep = carried<PlanStep>()(planStepFields);

const plan = carried<Plan>()(
  z
    .looseObject({
      id: z.string(),
      goal: z.string(),
      milestones: z.array(z.string()),
      steps: z.array(planStepFields),
      mode: z.enum(['planner', 'agentic', 'teacher']),
      state: z.enum(['stored', 'running', 'paused', 'completed', 'cancelled', 'ignored']),
      originalLength: z.int(),
      reason: z.string().optional().describe('why it was cancelled, in English or as the model wrote it'),
      why: keptText.optional().describe('the same by the key of its text, where the gateway itself says it'),
      version: z.int().optional().describe('rises with each change that a person makes'),
      runs: z.int().optional(),
      language: z.string().optional().describe('of its card in chats, if it is not English'),
      origin: z
        .object({ planId: z.string(), run: z.int() })
        .optional()
        .describe('of a run: the plan that is run'),
    })
    .meta({ id: 'Plan' }),
);

const usage = carried<Usage>()(
  z
    .looseObject({
      promptTokens: z.int(),
      completionTokens: z.int(),
      modelMs: z.number(),
      estimated: z.literal(true).optional(),
    })
    .meta({ id: 'Usage' }),
);

const toolCall = carried<ToolCall>()(
  z.looseObject({
    id: z.string(),
    name: z.string(),
    args: z.record(z.string(), z.unknown()),
    malformed: z.string().optional().describe('arguments that are not an object, as the model wrote them'),
    extra: z
      .record(z.string(), z.unknown())
      .optional()
      .describe("further fields of the call, in the form of the model's server"),
  }),
);

const attachment = carried<Attachment>()(
  z.looseObject({
    kind: z.string(),
    name: z.string(),
    mimeType: z.string(),
    bytes: z.int(),
    file: z.string().describe('its name for GET /v1/sessions/{key}/files/…'),
  }),
);

const todo = carried<{ text: Todo['text']; status: Todo['status'] }>()(
  z.looseObject({ text: z.string(), status: z.string() }),
);

/** One kind of event, and when it is sent. */
function event<Type extends string, Fields extends z.ZodRawShape = {}>(
  type: Type,
  when: string,
  fields: Fields = {} as Fields,
) {
  return z.looseObject({ type: z.literal(type), ...fields }).describe(when);
}

/** `msgId` is unique per model call (B-37). */
const call = { msgId: z.string().describe('names the call of the model') };
const ofTool = { toolCallId: z.string(), name: z.string() };

const MESSAGES = [
  event('message_received', 'a message was accepted', {
    content: z.string(),
    seq: z.int(),
    senderName: z.string().optional(),
  }),
  event('message_sent', 'a message besides an answer: in the middle of a turn, or of a webhook', {
    seq: z.int(),
    content: z.string(),
    attachments: z.array(attachment).readonly().optional(),
  }),
  // Messages of the same session before this one.
  event('queue_position', 'a message waits behind others', { position: z.int() }),
  // Their own turns have ended (`joined`).
  event('messages_joined', 'waiting messages have joined the running turn', { turnIds: z.array(z.string()) }),
  event('queue_changed', 'a person has edited, moved or dropped messages that wait'),
  event(
    'context_changed',
    'a question was asked again, its answer chosen or taken back, or `/new` began a new conversation: read the messages again',
  ),
] as const;

const ANSWERS = [
  event('turn_started', 'the first event of a turn'),
  // Always before the text of the same call (N-48). `title`: what it is about, if it is not the answer's own thinking.
  event('thinking_started', 'the model reasons, before its text', { ...call, title: z.string().optional() }),
  event('thinking_delta', 'its thinking grows', { ...call, delta: z.string() }),
  // With `usage` and `model` when the whole call is shown as thinking, and no `stream_end` reports it.
  event('thinking_finished', 'its thinking has ended', {
    ...call,
    usage: usage.optional(),
    model: z.string().optional().describe('of the call, where it has a usage'),
  }),
  // The deltas of all calls of a turn that were not reset, joined, equal the stored text.
  event('stream_start', 'a call of the model begins', {
    ...call,
    failure: z.literal(true).optional().describe('the text is the reason why the turn has no answer'),
  }),
  event('stream_chunk', 'the text grows', { ...call, delta: z.string() }),
  // After a crash, an overflow or a broken stream.
  event('stream_reset', 'the deltas of a call are void: it is repeated', call),
  event('stream_end', 'a call of the model has ended', { ...call, content: z.string(), usage }),
  event('snapshot', 'the whole text so far, where single deltas are no longer known', { text: z.string() }),
  event('turn_ended', 'the turn is stored; always its last event', {
    reason: z.enum(TURN_END_REASONS),
  }),
] as const;

const TOOLS = [
  event('tool_call', 'before a tool', { ...ofTool, args: z.record(z.string(), z.unknown()) }),
  // One line, in the words of the tool, at most twice a second.
  event('tool_progress', 'the progress that a running tool reports', { ...ofTool, text: z.string() }),
  event('tool_result', 'after a tool', { ...ofTool, result: z.string(), isError: z.boolean() }),
  event('tool_results_needed', 'the turn waits for the client that runs these tools', {
    calls: z.array(toolCall),
  }),
  // A waiting plan has no `toolCallId`.
  event('approval_needed', 'a tool call waits for a person', {
    approvalId: z.string(),
    toolCallId: z.string().optional(),
    warningMessage: z.string().optional(),
  }),
  // `by` is the name of the person; `decidedAt` is an ISO date; `reason` is what the person wrote with a denial.
  event('approval_decided', 'a person has decided, or no one did in time', {
    approvalId: z.string(),
    decision: z.enum(['approved', 'denied']),
    toolCallId: z.string().optional(),
    by: z.string().optional(),
    how: z.enum(['person', 'expiry', 'stop']).optional(),
    decidedAt: z.string().optional(),
    reason: z.string().optional(),
    /** The arguments with which a person has approved it instead. */
    args: z.record(z.string(), z.unknown()).optional(),
  }),
  event('subagent_spawned', 'a subagent begins', { profileId: z.string(), task: z.string() }),
  event('subagent_completed', 'a subagent has ended', { result: z.string(), completedNormally: z.boolean() }),
] as const;

// A plan ends with `plan_completed`, `plan_ignored` or `plan_cancelled`; a later run of its turn emits the end again after `plan_ready`.
const PLANS = [
  event('plan_ready', 'a plan was made, or a run of one begins', { plan }),
  event('plan_revised', 'the executor has changed the plan', { plan, reason: z.string() }),
  event('plan_edited', 'a person has changed the plan', { plan }),
  event('plan_completed', 'all steps have ended'),
  event('plan_ignored', 'the turn has answered without a step of the plan'),
  event('plan_paused', 'the plan waits'),
  event('plan_resumed', 'the plan continues'),
  event('plan_cancelled', 'the plan has ended before its last step', {
    reason: z.string(),
    why: keptText.optional(),
  }),
  event('step_changed', 'a step begins or ends', { step: planStep }),
  event('agent_thinking', 'the agent works on a step', { step: planStep }),
  event('agent_stuck', 'a step cannot be corrected', {
    step: planStep.optional(),
    reason: z.string(),
    why: keptText.optional(),
  }),
  event('retry_attempt', 'a step is tried again', {
    step: planStep,
    attempt: z.int(),
    newCommand: z.string().optional(),
  }),
  event('step_skipped', 'a step was left out', { step: planStep }),
  event('budget_warning', 'few model calls are left for the plan', { remaining: z.int(), total: z.int() }),
] as const;

const SESSIONS = [
  event('todo_changed', 'the list of the session', { items: z.array(todo) }),
  event('mode_changed', 'how plans are followed here', { mode: z.string() }),
  event('profile_switched', 'another profile answers here', { profileId: z.string() }),
  event('session_titled', 'the session has a title, or no longer has one', { title: z.string().nullable() }),
  event('context_compressed', 'old turns were summarized', { before: z.int(), after: z.int() }),
  // `model_unavailable`, `model_slow`, `dead_letter`, `outcome_unknown`, …
  event('notice', 'something that the user should know now', { code: z.string(), text: z.string() }),
  event('cron_executed', 'a schedule ran', { scheduleId: z.string() }),
  event('heartbeat_tick', 'the heartbeat ran'),
  event('surfaces_changed', 'a chat has joined those that share the session, or has left them'),
  event('session_deleted', 'the session is gone; its last event'),
] as const;

/** Every kind of event. Nothing is checked by these schemas when it is emitted or read. */
export const EVENTS = [...MESSAGES, ...ANSWERS, ...TOOLS, ...PLANS, ...SESSIONS] as const;

/** Envelope of an event. Events of a turn have `turnId`, `epoch` and a gapless `eventSeq`; others have none of these. */
export const ENVELOPE = {
  sessionKey: z.templateLiteral([z.string(), ':', z.string()]),
  turnId: z.string().optional(),
  // The lane epoch under which the turn runs; a turn resumed after a crash has a higher one.
  epoch: z.int().optional(),
  // Counts from 1 within (session, epoch).
  eventSeq: z.int().optional(),
  at: z.number().describe('epoch milliseconds'),
  agentId: z.string().optional(),
  isSubagent: z.boolean().optional(),
};

/** The fields of a schema, without the further ones that it accepts. */
type FieldsOf<Shape extends z.ZodRawShape> = z.output<z.ZodObject<Shape>>;
/** Of each kind by itself. */
type BodyOf<Kind> = Kind extends z.ZodObject<infer Shape> ? FieldsOf<Shape> : never;

/** What happened. */
export type EventBody = BodyOf<(typeof EVENTS)[number]>;
export type EventEnvelope = FieldsOf<typeof ENVELOPE>;
export type AgentEvent = EventEnvelope & EventBody;

/** The id an SSE client echoes as `Last-Event-ID`; undefined for events outside a turn. */
export function sseId({ epoch, eventSeq, turnId, type }: AgentEvent): string | undefined {
  if (epoch === undefined || eventSeq === undefined) return undefined;
  return eventId(epoch, eventSeq, type === 'turn_ended' ? turnId : undefined);
}

/**
 * `<epoch>-<number>`, and for the end of a turn `<epoch>-<number>-<turn>`: nodes that lost touch may number an end
 * differently, so only the turn tells each of them that its reader has the end.
 */
export function eventId(epoch: number, eventSeq: number, endedTurn: string | undefined): string {
  return endedTurn === undefined ? `${epoch}-${eventSeq}` : `${epoch}-${eventSeq}-${endedTurn}`;
}

/** What `eventId` returns. */
export const EVENT_ID = /^(\d{1,15})-(\d{1,15})(?:-([\w-]{1,64}))?$/;

/** The place before every event of a session: a replay from it returns all that are still kept. */
export const FIRST_EVENT_ID = '0-0';
