/** A call whose result is another person's answer: the turn is parked with the question, and continues with the answer. */
import { createHash } from 'node:crypto';
import {
  type ApprovalSubject,
  MAX_WAITING_QUESTIONS,
  type PersonQuestion,
} from '../../protocol/agent/approvals.ts';
import { ToolError } from '../../protocol/errors.ts';
import type { TurnApproval } from '../../protocol/store/records.ts';
import type { AgentShared } from '../deps.ts';
import { type Turn, type TurnResult, userRoleOf } from '../turn/turn-state.ts';
import { ApprovalWait, type GatedCall } from './approval-gate.ts';
import { failure, type Outcome } from './tool-run.ts';

/** What the key of a call is called among the turn's requests, where its approval has the key itself. */
function questionKey(callKey: string): string {
  return `ask:${callKey}`;
}

/**
 * The answer of the person whom the call asks, or why there is none. Throws `ApprovalWait` to wait for it, and
 * `StoreError`.
 */
export async function askPerson(
  { stores: { approvals }, isOwner }: AgentShared,
  turn: Turn,
  { callKey: call, toolCallId, tool, args, agentId }: GatedCall,
): Promise<Outcome> {
  const callKey = questionKey(call);
  const answer = turn.approvals.find((one) => one.callKey === callKey);
  if (answer !== undefined) return outcomeOf(answer);
  if (tool.question === undefined || agentId !== undefined || turn.mayAsk === false)
    return failure('Not asked: subagents cannot ask people. State in your result what you want to know.');
  const { sessionKey, address, userId, userName, place, say } = turn;
  const caller = { sessionKey, address, userId, place, userRole: await userRoleOf(turn, isOwner) };
  const question = await tool.question(args, caller).catch((error: unknown) => {
    if (error instanceof ToolError) return error;
    throw error;
  });
  if (question instanceof ToolError) return failure(question.message);
  const waiting = await approvals.questions({ userId: question.userId });
  if (waiting.filter(({ state, expired }) => state === 'pending' && !expired).length >= MAX_WAITING_QUESTIONS)
    return failure(
      `Not asked: ${MAX_WAITING_QUESTIONS} questions wait for this person already. Try again later.`,
    );
  const asking = { ...question, label: say.text(question.label), asker: userName ?? userId };
  throw waitFor(turn, { callKey, toolCallId, tool: tool.name, args }, asking);
}

/** The name of what asks, where no tool call does. */
const QUESTION = 'question';

/**
 * The end of a turn that is only a question to this person: the answer, or why there is none. Throws `ApprovalWait` to wait
 * for it, or an abort of the lane.
 */
export function askOnly(turn: Turn, question: PersonQuestion): TurnResult {
  turn.signal.throwIfAborted();
  const callKey = questionKey(`${turn.turnId}.1.0`);
  const answer = turn.approvals.find((one) => one.callKey === callKey);
  if (answer === undefined)
    throw waitFor(turn, { callKey, toolCallId: QUESTION, tool: QUESTION, args: {} }, question);
  const { decision, decidedBy, reason } = answer;
  if (decision === 'approved') return { reason: 'completed', text: reason ?? '', isError: false };
  const text = turn.say(decidedBy === 'expiry' ? 'ask.not_in_time' : 'ask.declined');
  return { reason: 'completed', text, isError: true };
}

function waitFor(
  { userId, address, say }: Turn,
  call: Pick<ApprovalSubject, 'callKey' | 'toolCallId' | 'tool' | 'args'>,
  question: PersonQuestion,
): ApprovalWait {
  const digest = createHash('sha256').update(call.callKey).digest('hex');
  return new ApprovalWait({
    ...call,
    digest,
    warning: '',
    userId,
    address,
    question,
    language: say.language,
  });
}

function outcomeOf({ decision, decidedBy, reason }: TurnApproval): Outcome {
  if (decision === 'approved') return { content: reason ?? '', isError: false, sources: ['person'] };
  if (decidedBy === 'expiry')
    return failure('No answer came in time. Tell the user; do not ask again by yourself.');
  if (decidedBy === 'stop') return failure('Stopped before an answer came.');
  return failure('The person does not want to answer this. Tell the user; do not ask them again.');
}
