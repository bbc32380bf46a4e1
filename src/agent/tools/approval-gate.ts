/** The approval gate before every tool call: a dangerous call waits until a human approves exactly this call (S-45). */
import { createHash } from 'node:crypto';
import type { ApprovalSubject } from '../../contracts/approvals.ts';
import { cleanJson, sortKeys } from '../../lib/json.ts';
import type { Tool } from '../../contracts/tool.ts';
import { judgeCall, mustAsk } from './risk.ts';
import { taintOf } from './taint.ts';
import { failure } from './tool-run.ts';
import type { Outcome } from './tool-run.ts';
import type { Turn, TurnContext, TurnIdentity, TurnProgress } from '../state/turn-state.ts';

/** Thrown where a turn must wait for a human: the turn handler then parks the turn. */
export class ApprovalWait extends Error {
  readonly subject: ApprovalSubject;

  constructor(subject: ApprovalSubject) {
    super(`${subject.tool} waits for a human.`);
    this.name = 'ApprovalWait';
    this.subject = subject;
  }
}

/** A checked call that has not run yet. */
export interface GatedCall {
  /** Unique among all turns, and the same in every attempt. */
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
  TaintInput;

/** The parts of a turn that determine its taint. */
type TaintInput = Pick<TurnContext, 'past' | 'promptContext'> & Pick<TurnProgress, 'rows'>;

/**
 * Undefined when the call may run; an error result for the model when a human denied it, or nobody answered in time. The
 * approval is bound to the call's key and exact arguments: a call that differs from what was shown does not run. Throws
 * `ApprovalWait` when nobody has been asked yet.
 */
export function passGate(turn: Gated, call: GatedCall): Outcome | undefined {
  const { callKey, toolCallId, tool, args, agentId } = call;
  const approval = turn.approvals.find((one) => one.callKey === callKey);
  // Checked first: a denial stands even when the reason why the call was dangerous is gone by now.
  if (approval?.decision === 'denied') return failure(refusalText(tool.name, approval.decidedBy));
  const judgement = judgeCall(tool, args, turnTaint(turn));
  if (!mustAsk(turn.profile, judgement)) return undefined;
  const digest = digestOf(turn.sessionKey, call);
  if (approval === undefined) {
    if (turn.mayAsk === false) return failure(cannotAsk(tool.name));
    const { userId, address } = turn;
    const { warning } = judgement;
    const subject = { callKey, toolCallId, tool: tool.name, args, digest, warning, userId, address, agentId };
    throw new ApprovalWait(subject);
  }
  if (approval.digest === digest) return undefined;
  return failure(`Not run: a different call of ${tool.name} was approved.`);
}

/** The current taint of the turn's context. */
export function turnTaint({ past, rows, promptContext }: TaintInput): ReturnType<typeof taintOf> {
  return taintOf([...past, rows.user, ...rows.steps], promptContext.untrusted ? ['local'] : []);
}

/** Equal for the same call with the same arguments, in whatever order their fields are. */
function digestOf(sessionKey: string, { callKey, tool, args }: GatedCall): string {
  const whole = cleanJson(sortKeys([sessionKey, callKey, tool.name, args]));
  return createHash('sha256').update(whole).digest('hex');
}

function cannotAsk(name: string): string {
  return (
    `Not run: ${name} needs the approval of a human, and a background subagent cannot ask for it. ` +
    'State in your result what you wanted to do and why, so that the main agent can do it.'
  );
}

function refusalText(name: string, decidedBy: string): string {
  const instead = 'Do not try to reach the same in another way; say what you wanted to do and why.';
  if (decidedBy === 'expiry') return `Not run: nobody allowed ${name} in time. ${instead}`;
  return `Not run: a person was asked and did not allow ${name}. ${instead}`;
}
