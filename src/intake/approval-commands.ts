/** Decisions on approval requests in chats: by a button, or by `/approve` and `/deny`. */
import { approvalRef, readButtonValue } from '../contracts/approvals.ts';
import type { Approvals, Decider } from '../contracts/approvals.ts';
import type { PressHandler } from '../contracts/receive.ts';
import type { Command, CommandCall } from '../contracts/command.ts';
import type { ApprovalDecision } from '../contracts/store/records.ts';
import { describeDecided } from './approvals.ts';

/** Makes the handler of the buttons under a request. */
export function createApprovalButtons(approvals: Approvals): PressHandler {
  return async ({ value, address, place, userId, senderName, owner }) => {
    const decision = readButtonValue(value);
    if (decision === undefined) return undefined;
    const by: Decider = { userId, name: senderName, owner, at: { address, place }, pressed: true };
    const decided = await approvals.decide(decision.id, decision.decision, by);
    const entitled = decided.kind === 'decided' || decided.kind === 'settled' || decided.kind === 'expired';
    return { reply: describeDecided(decided), ...(entitled && { shownBy: approvalRef(decision.id) }) };
  };
}

/** Makes `/approve` and `/deny`: without an id they decide the request that this chat waits for. */
export function createApprovalCommands(approvals: Approvals): Command[] {
  const make = (name: string, description: string, decision: ApprovalDecision): Command => ({
    name,
    description,
    scope: 'approve',
    argument: { name: 'id', description: 'Id of the request; default: the one asked here', required: false },
    run: (call) => decide(approvals, call, decision),
  });
  return [
    make('approve', 'Approve what I asked you about', 'approved'),
    make('deny', 'Deny what I asked you about', 'denied'),
  ];
}

async function decide(approvals: Approvals, call: CommandCall, decision: ApprovalDecision): Promise<string> {
  const { session, address, place = 'group', userId, owner, tokenId } = call;
  const [waiting] = call.args === '' ? await approvals.pending({ session, limit: 1 }) : [];
  const id = call.args === '' ? waiting?.id : call.args;
  if (id === undefined) return 'There is no pending request here.';
  const by: Decider = {
    userId,
    name: call.senderName,
    owner,
    tokenId,
    approves: true,
    at: { address, place },
  };
  return describeDecided(await approvals.decide(id, decision, by));
}
