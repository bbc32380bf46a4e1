/** Answers to questions as people give them in chats: by a button, or by `/approve` and `/deny`. */
import { readButtonValue } from '../contracts/approvals.ts';
import type { Approvals, Decider } from '../contracts/approvals.ts';
import type { PressHandler } from '../contracts/receive.ts';
import type { Command, CommandCall } from '../contracts/command.ts';
import type { ApprovalDecision } from '../contracts/records.ts';
import { describeDecided } from './approvals.ts';

/** Acts on the buttons under a question. */
export function createApprovalButtons(approvals: Approvals): PressHandler {
  return async ({ value, address, place, userId, senderName, owner }) => {
    const meant = readButtonValue(value);
    if (meant === undefined) return undefined;
    const by: Decider = { userId, name: senderName, owner, at: { address, place }, pressed: true };
    return describeDecided(await approvals.decide(meant.id, meant.decision, by));
  };
}

/** `/approve` and `/deny`: without an id the question that this chat waits for. */
export function createApprovalCommands(approvals: Approvals): Command[] {
  const make = (name: string, description: string, decision: ApprovalDecision): Command => ({
    name,
    description,
    argument: { name: 'id', description: 'Which question; left out: the one asked here', required: false },
    run: (call) => answer(approvals, call, decision),
  });
  return [
    make('approve', 'Allow what I asked you about', 'approved'),
    make('deny', 'Do not allow what I asked you about', 'denied'),
  ];
}

async function answer(approvals: Approvals, call: CommandCall, decision: ApprovalDecision): Promise<string> {
  const { session, address, place = 'group', userId, owner, tokenId } = call;
  const [waiting] = call.args === '' ? await approvals.pending({ session, limit: 1 }) : [];
  const id = call.args === '' ? waiting?.id : call.args;
  if (id === undefined) return 'Nothing waits for your answer here.';
  const by: Decider = { userId, name: call.senderName, owner, tokenId, at: { address, place } };
  return describeDecided(await approvals.decide(id, decision, by));
}
