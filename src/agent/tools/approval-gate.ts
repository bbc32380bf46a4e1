/** The gate before every tool call of a turn: a dangerous one waits for a human, and only its own answer lets it pass (S-45). */
import { createHash } from 'node:crypto';
import type { ApprovalSubject } from '../../contracts/approvals.ts';
import { cleanJson, sortKeys } from '../../lib/json.ts';
import type { Tool } from '../../contracts/tool.ts';
import { judgeCall, mustAsk } from './risk.ts';
import { taintOf } from './taint.ts';
import { failure } from './tool-run.ts';
import type { Outcome } from './tool-run.ts';
import type { Turn, TurnContext, TurnIdentity, TurnProgress } from '../state/turn-state.ts';

/** Thrown where a turn must wait for a human; nothing of it may go on before the turn handler has parked it. */
export class ApprovalWait extends Error {
  readonly subject: ApprovalSubject;

  constructor(subject: ApprovalSubject) {
    super(`${subject.tool} waits for a human.`);
    this.name = 'ApprovalWait';
    this.subject = subject;
  }
}

/** One checked call, before anything of it is done. */
export interface GatedCall {
  /** Names the call within all turns; the same at every attempt. */
  callKey: string;
  toolCallId: string;
  tool: Tool;
  args: unknown;
  /** Set when a subagent makes the call. */
  agentId?: string | undefined;
}

/** The parts of a turn that the gate reads. */
type Gated = TurnIdentity &
  Pick<TurnContext, 'profile'> &
  Pick<TurnProgress, 'approvals'> &
  Pick<Turn, 'mayAsk'> &
  TaintSeen;

/** The parts of a turn that its taint is derived from. */
type TaintSeen = Pick<TurnContext, 'past' | 'promptContext'> & Pick<TurnProgress, 'rows'>;

/**
 * Undefined when the call may run; a result for the model when a human said no, or nobody did in time. The answer is
 * bound to the call's key and to its exact arguments: a call that differs from what was shown does not run.
 * Throws `ApprovalWait` when nobody has been asked yet.
 */
export function passGate(turn: Gated, call: GatedCall): Outcome | undefined {
  const { callKey, toolCallId, tool, args, agentId } = call;
  const answer = turn.approvals.find((approval) => approval.callKey === callKey);
  // First: what made the call dangerous may have been forgotten while it waited; a no is still a no.
  if (answer?.decision === 'denied') return failure(refusalText(tool.name, answer.decidedBy));
  const judgement = judgeCall(tool, args, turnTaint(turn));
  if (!mustAsk(turn.profile, judgement)) return undefined;
  const digest = digestOf(turn.sessionKey, call);
  if (answer === undefined) {
    if (turn.mayAsk === false) return failure(cannotAsk(tool.name));
    const { userId, address } = turn;
    const { warning } = judgement;
    const subject = { callKey, toolCallId, tool: tool.name, args, digest, warning, userId, address, agentId };
    throw new ApprovalWait(subject);
  }
  if (answer.digest === digest) return undefined;
  return failure(`Not run: what was approved was another call of ${tool.name} than this one.`);
}

/** The taint of the turn's context by now. */
export function turnTaint({ past, rows, promptContext }: TaintSeen): ReturnType<typeof taintOf> {
  return taintOf([...past, rows.user, ...rows.steps], promptContext.untrusted ? ['local'] : []);
}

/** Equal exactly for the same call with the same arguments, whichever order their fields came in. */
function digestOf(sessionKey: string, { callKey, tool, args }: GatedCall): string {
  const whole = cleanJson(sortKeys([sessionKey, callKey, tool.name, args]));
  return createHash('sha256').update(whole).digest('hex');
}

function cannotAsk(name: string): string {
  return (
    `Not run: ${name} waits for a human here, and a subagent in the background cannot ask one. ` +
    'Say in your result what you wanted to do and why, so that the main agent can do it.'
  );
}

function refusalText(name: string, decidedBy: string): string {
  const instead = 'Do not try to reach the same in another way; say what you wanted to do and why.';
  if (decidedBy === 'expiry') return `Not run: nobody allowed ${name} in time. ${instead}`;
  return `Not run: a person was asked and did not allow ${name}. ${instead}`;
}
