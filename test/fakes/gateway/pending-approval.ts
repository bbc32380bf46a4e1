/** A pending approval of the fake gateway: a command that a turn wants to run. */
import type { ApprovalRecord } from '../../../src/protocol/agent/approvals.ts';
import { addressOf } from '../../../src/protocol/message.ts';
import type { FakeTurn } from './turn.ts';

/** What waits in the chat of the turn for an hour from now. */
export function pendingApproval(turn: FakeTurn, id: string, command: string): ApprovalRecord {
  const session = addressOf(turn.message);
  return {
    id,
    session,
    address: session,
    turnId: turn.id,
    callKey: `${turn.id}.1.0`,
    toolCallId: 'c',
    tool: 'exec',
    args: { command },
    digest: 'd',
    warning: 'It deletes files.',
    userId: 'token:admin',
    state: 'pending',
    createdAt: new Date(),
    expiresAt: new Date(Date.now() + 3_600_000),
    expired: false,
    surfaces: [],
  };
}
