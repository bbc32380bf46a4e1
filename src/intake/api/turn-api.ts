/** Turns for callers of the API: their state, their plans, and what they wait for. */
import type { TurnExplanation } from '../../protocol/store/traces.ts';
import type { IntakeContext } from '../context.ts';
import { type Caller, hasScope } from '../../protocol/access.ts';
import { type Decider, howDecided } from '../../protocol/agent/approvals.ts';
import type { ContinuedTurn, GatewayApi, ToolAnswers } from '../../protocol/gateway-api.ts';
import type { MessageBus } from '../../protocol/bus.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { Ledger } from '../../protocol/store/ledger.ts';
import { chatOf, type SessionKey } from '../../protocol/message.ts';
import { cleanText, clipMiddle, estimateTokens } from '../../lib/text.ts';
import { MAX_MESSAGE_LENGTH } from '../receive.ts';
import { isAdmin, ownerOf, type Visible } from '../sessions.ts';
import { actOnPlan } from '../plans/plan-control.ts';
import { refuseQuestion } from '../surfaces/answers.ts';
import { isWaiting } from '../surfaces/next-answer.ts';
import type { EventBody } from '../../protocol/event.ts';
import { withoutMarks } from '../../protocol/sessions/marked-text.ts';
import {
  type JournalPage,
  MAX_WORK_TEXT,
  type TurnWork,
  type WorkApproval,
  type WorkEvent,
  type WorkFact,
  type WorkStore,
} from '../../protocol/sessions/turn-work.ts';
import { agentIdOf, SPAWN_TOOL } from '../../protocol/agent/subagents.ts';
import type { PlanStep } from '../../protocol/agent/plan.ts';
import { inEnglish, type Say } from '../../protocol/texts/say.ts';
import { type ContextEntry, type ContextRecord, STEP_ITERATIONS } from '../../protocol/store/records.ts';

/** What happened to a turn; `detail` adds the text of errors. Throws `StoreError`. */
export type ExplainTurn = (
  turnId: string,
  detail: boolean,
  say?: Say,
) => Promise<TurnExplanation | undefined>;

/** Makes it. Methods throw only `GatewayError`. */
export function createTurnApi(context: IntakeContext, explainTurn: ExplainTurn, visible: Visible) {
  const { approvals, ledger, store } = context;
  return {
    async plan(caller, key) {
      if ((await visible(caller, key)) === undefined) return undefined;
      const [newest, todos] = await Promise.all([store.plans.latestPlan(key), store.todos.todos(key)]);
      return { newest, todos };
    },
    async approvals(caller, { limit }) {
      const [pending, questions] = await Promise.all([
        approvals.pending({ limit, ownerTokenId: isAdmin(caller) ? undefined : caller.tokenId }),
        approvals.questions({ userId: deciderOf(caller).userId }),
      ]);
      const waiting = [...pending, ...questions.filter(isWaiting)].slice(0, limit);
      const chats = [...new Set(waiting.map(({ address }) => chatOf(address)))];
      const contacts = await Promise.all(chats.map((chat) => store.contacts.contact(chat)));
      const names = new Map(chats.map((chat, at) => [chat, contacts[at]?.name]));
      return waiting.map((one) => ({ ...one, chatName: names.get(chatOf(one.address)) }));
    },
    async answer(caller, id, reply) {
      const by = deciderOf(caller);
      if ('answer' in reply) return await approvals.decide(id, 'approved', by, { reason: reply.answer });
      return await refuseQuestion(context, id, by, reply.never);
    },
    decide: (caller, approvalId, decision, detail) =>
      approvals.decide(approvalId, decision, deciderOf(caller), detail),
    approvalRules: (caller) => approvals.rules({ ownerTokenId: ownerOf(caller) }),
    removeApprovalRule: (caller, id) => approvals.removeRule(id, { ownerTokenId: ownerOf(caller) }),
    async actOnPlan(caller, planId, action, stepId, say) {
      const record = await store.plans.plan(planId);
      if (record === undefined || (await visible(caller, record.session)) === undefined) return undefined;
      return await actOnPlan(context, record, action, { by: deciderOf(caller), stepId, say });
    },
    turn: (turnId) => ledger.turn(turnId),
    async trace(caller, turnId, say) {
      const explanation = await explainTurn(turnId, isAdmin(caller), say);
      return explanation && (await visible(caller, explanation.session)) && explanation;
    },
    async answerTools(caller, key, answers) {
      return (await visible(caller, key)) && (await answerTools(ledger, context.bus, key, answers));
    },
    newestOwnMessage: (caller, key) => ledger.newestFrom(key, `token:${caller.tokenId}`),
    unfinishedTurns: (turnIds) => ledger.unfinishedTurns(turnIds),
  } satisfies Partial<GatewayApi>;
}

/** Who decides about a call or a plan over the API. */
function deciderOf(caller: Caller): Decider {
  const { tokenId, proxyUser, name = 'the HTTP API' } = caller;
  const approves = hasScope(caller, 'approve');
  return { userId: `token:${tokenId}`, name: proxyUser ?? name, owner: isAdmin(caller), tokenId, approves };
}

/**
 * Stores the results and makes the turn due. Throws `StoreError`, and `GatewayError`: `no_tools_pending`,
 * `bad_tool_results` (not exactly the pending calls, or a result that is too long).
 */
export async function answerTools(
  ledger: Ledger,
  bus: MessageBus,
  session: SessionKey,
  { results, options }: ToolAnswers,
): Promise<ContinuedTurn> {
  const read = results.map(({ toolCallId, content }) => {
    const text = cleanText(content);
    if (text.length > MAX_MESSAGE_LENGTH) {
      throw badResults(`a result has more than ${MAX_MESSAGE_LENGTH} characters`);
    }
    return { toolCallId: cleanText(toolCallId), content: text, tokens: estimateTokens(text) };
  });
  const outcome = await ledger.callerResults({ session, results: read, options });
  switch (outcome.kind) {
    case 'continued':
      bus.sweepSoon();
      return outcome;
    case 'mismatch':
      throw badResults(`the session is waiting for exactly these calls: ${outcome.toolCallIds.join(', ')}`);
    case 'not_waiting':
      throw new GatewayError(
        'no_tools_pending',
        'This session is not waiting for results of these tool calls.',
      );
    default:
      return outcome satisfies never;
  }
}

function badResults(reason: string): GatewayError {
  return new GatewayError('bad_tool_results', `The tool results were not accepted: ${reason}.`);
}

/** Separates the texts of two model calls of a turn, as in its stored answer. */
const PARAGRAPH = '\n\n';

type Answer = ContextEntry & { kind: 'assistant' };

type Result = ContextEntry & { kind: 'tool_result' };

interface Journals {
  session: SessionKey;
  rows: ReadonlyMap<string, ContextRecord[]>;
  approvals: readonly WorkApproval[];
  facts: readonly WorkFact[];
  say: Say;
}

/** The work of these turns of the session, and of the subagents they waited for. Throws `StoreError`. */
export async function workOf(
  store: WorkStore,
  session: SessionKey,
  turnIds: readonly string[],
  say: Say = inEnglish,
): Promise<TurnWork[]> {
  const turns = await store.journals(turnIds);
  const agents = await store.journals(agentsOf(session, turns));
  const journals: Journals = {
    session,
    rows: Map.groupBy([...turns.rows, ...agents.rows], ({ turnId }) => turnId),
    approvals: turns.approvals,
    facts: turns.facts,
    say,
  };
  return turnIds.map((turnId) => ({
    turnId,
    events: [...eventsOf(journals, turnId)],
    complete: !turns.cut.has(turnId),
  }));
}

/** Ids of the subagents that the calls of these journals may have started. */
function agentsOf(session: SessionKey, { rows }: JournalPage): string[] {
  return rows.flatMap(({ turnId, iteration, entry }) => {
    if (entry.kind !== 'assistant') return [];
    return entry.toolCalls.flatMap(({ name }, index) =>
      name === SPAWN_TOOL ? [agentIdOf(session, `${turnId}.${iteration}.${index}`)] : [],
    );
  });
}

/** The events of one journal, of a turn or of a subagent, in their order. */
function* eventsOf(journals: Journals, id: string): Generator<EventBody & Partial<WorkEvent>> {
  const rows = journals.rows.get(id) ?? [];
  const results = new Map(
    rows.flatMap(({ iteration, entry }): [string, Result][] =>
      entry.kind === 'tool_result' ? [[`${iteration}.${entry.callIndex}`, entry]] : [],
    ),
  );
  const titles = stepTitles(journals, id);
  let hasText = false;
  for (const { iteration, entry } of rows) {
    if (entry.kind !== 'assistant') continue;
    const isStep = iteration >= STEP_ITERATIONS;
    yield* isStep
      ? thought(entry, textOfStep(entry), titles.get(runOf(iteration)) ?? journals.say('plan.thinking_some'))
      : thought(entry, entry.thinking ?? '');
    if (!isStep && entry.content !== '') {
      yield { type: 'stream_start', msgId: entry.msgId };
      const delta = (hasText ? PARAGRAPH : '') + entry.content;
      yield { type: 'stream_chunk', msgId: entry.msgId, delta };
      hasText = true;
    }
    for (const [index, call] of entry.toolCalls.entries()) {
      yield { type: 'tool_call', toolCallId: call.id, name: call.name, args: call.args };
      yield* askedFor(journals, call.id, id);
      if (call.name === SPAWN_TOOL)
        yield* agentEvents(journals, agentIdOf(journals.session, `${id}.${iteration}.${index}`), call.args);
      const result = results.get(`${iteration}.${index}`);
      if (result !== undefined) yield resultEvent(result);
    }
  }
}

/** The run of a step that an iteration belongs to. */
function runOf(iteration: number): number {
  return Math.floor(iteration / STEP_ITERATIONS);
}

/** The title of each step run while it was running, by the plan as it was then. */
function stepTitles({ facts, say }: Journals, turnId: string): ReadonlyMap<number, string> {
  const titles = new Map<number, string>();
  let steps: readonly PlanStep[] = [];
  for (const { fact } of facts.filter((one) => one.turnId === turnId)) {
    if ('plan' in fact) steps = fact.plan.steps;
    if (fact.type !== 'step_began') continue;
    const step = steps.find(({ id }) => id === fact.stepId);
    if (step === undefined) continue;
    const { index, description } = step;
    titles.set(fact.run, say('plan.thinking_step', { number: index + 1, description }));
  }
  return titles;
}

function textOfStep({ thinking = '', content }: Answer): string {
  return [thinking, content].filter((text) => text !== '').join(PARAGRAPH);
}

function* thought({ msgId }: Answer, text: string, title?: string): Generator<EventBody> {
  if (text === '') return;
  yield { type: 'thinking_started', msgId, ...(title !== undefined && { title }) };
  yield { type: 'thinking_delta', msgId, delta: clipMiddle(text, MAX_WORK_TEXT) };
  yield { type: 'thinking_finished', msgId };
}

function resultEvent({ toolCallId, toolName, content, isError }: Result): EventBody {
  const result = clipMiddle(withoutMarks(content), MAX_WORK_TEXT);
  return { type: 'tool_result', toolCallId, name: toolName, result, isError };
}

/** Who was asked about a call, and what was decided. */
function* askedFor({ approvals }: Journals, toolCallId: string, id: string): Generator<EventBody> {
  const requests = approvals.filter(
    (approval) => approval.toolCallId === toolCallId && (approval.agentId ?? approval.turnId) === id,
  );
  for (const { id: approvalId, warning, state, decidedBy, decidedName, decidedAt, reason } of requests) {
    yield { type: 'approval_needed', approvalId, toolCallId, warningMessage: warning };
    if (state === 'pending') continue;
    yield {
      type: 'approval_decided',
      approvalId,
      toolCallId,
      decision: state,
      how: howDecided(decidedBy ?? undefined),
      ...(decidedName !== null && { by: decidedName }),
      ...(decidedAt !== null && { decidedAt }),
      ...(reason !== null && { reason }),
    };
  }
}

/** The events of a subagent whose journal is kept; one in the background has none once it has ended. */
function* agentEvents(
  journals: Journals,
  agentId: string,
  args: Record<string, unknown>,
): Generator<WorkEvent> {
  const rows = journals.rows.get(agentId);
  if (rows === undefined) return;
  const of = { agentId, isSubagent: true } as const;
  const { task, profile_id: profile } = args;
  const profileId = typeof profile === 'string' ? profile : 'subagent';
  yield { type: 'subagent_spawned', profileId, task: typeof task === 'string' ? task : '', ...of };
  let text = '';
  for (const event of eventsOf(journals, agentId)) {
    if (event.type === 'stream_chunk') text += event.delta;
    yield { ...event, ...of };
  }
  const end = rows.findLast(({ entry }) => entry.kind === 'agent_result')?.entry;
  if (end?.kind !== 'agent_result') return;
  const { content, completedNormally } = end;
  // The last answer has no row of its own: the result is the complete text.
  const rest = content.startsWith(text) ? content.slice(text.length) : content;
  if (rest !== '') yield { type: 'stream_chunk', msgId: `${agentId}.end`, delta: rest, ...of };
  yield { type: 'subagent_completed', result: clipMiddle(content, MAX_WORK_TEXT), completedNormally, ...of };
}
