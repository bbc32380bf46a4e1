/** Deciding: who may answer a question, and carrying the answer out, whichever door it comes by. */
import type { ApprovalRecord, Approvals, ApprovalStore, Decided, Decider } from '../contracts/approvals.ts';
import type { MessageBus } from '../contracts/bus.ts';
import type { LaneStore } from '../contracts/lanes.ts';
import type { Log } from '../contracts/log.ts';

export interface ApprovalsDeps {
  store: ApprovalStore;
  lanes: Pick<LaneStore, 'decide'>;
  bus: Pick<MessageBus, 'sweepSoon'>;
  log: Log;
}

/** Makes the house's answer to questions. */
export function createApprovals({ store, lanes, bus, log }: ApprovalsDeps): Approvals {
  return {
    pending: (filter) => store.pendingApprovals(filter),
    async decide(id, decision, by) {
      const record = await store.approval(id);
      const refusal = record === undefined ? ({ kind: 'unknown' } as const) : refused(record, by);
      if (refusal !== undefined) {
        log.info({ approvalId: id, userId: by.userId, why: refusal.kind }, 'decision refused');
        return refusal;
      }
      if (await lanes.decide(id, decision, by.userId, by.name)) {
        bus.sweepSoon();
        return { kind: 'decided', decision };
      }
      // Somebody was faster, or the time was over.
      const now = await store.approval(id);
      if (now === undefined) return { kind: 'unknown' };
      return standing(now) ?? { kind: 'expired' };
    },
  };
}

/** Why this person's answer changes nothing; undefined when it may. */
function refused(record: ApprovalRecord, by: Decider): Decided | undefined {
  if (by.pressed === true && by.at?.address !== record.address) return { kind: 'elsewhere' };
  if (!isEntitled(record, by)) return { kind: 'forbidden' };
  return standing(record);
}

/** How a question that no longer waits stands. */
function standing(record: ApprovalRecord): Decided | undefined {
  if (record.expired) return { kind: 'expired' };
  return record.state === 'pending' ? undefined : { kind: 'settled', record };
}

/**
 * Owners decide everything. Others what was asked in a chat of theirs alone: in the private chat it was asked in, where
 * nobody else can press or write, or in a session their own token made.
 */
function isEntitled(record: ApprovalRecord, { owner, tokenId, userId, at }: Decider): boolean {
  if (owner) return true;
  if (tokenId !== undefined) return record.ownerTokenId === tokenId;
  if (at?.place !== 'private' || at.address !== record.address) return false;
  return record.userId === userId || record.userId === 'system';
}

/** What people read of an answer's outcome; at most 200 characters. */
export function describeDecided(decided: Decided): string {
  switch (decided.kind) {
    case 'decided':
      return decided.decision === 'approved' ? 'Approved.' : 'Denied: it will not be run.';
    case 'settled':
      return `Nothing changed: ${howSettled(decided.record)}.`;
    case 'expired':
      return 'Too late: nobody answered in time, and it was not run.';
    case 'unknown':
      return 'This question is no longer there. Nothing was changed.';
    case 'elsewhere':
      return 'This button belongs to another chat. Nothing was changed.';
    case 'forbidden':
      return 'This is not yours to decide: an owner of this bot must.';
    default:
      return decided satisfies never;
  }
}

/** Longest name shown of who decided. */
const MAX_NAME = 60;

function howSettled({ state, decidedBy, decidedName }: ApprovalRecord): string {
  if (decidedBy === 'stop') return 'it was stopped';
  const who = (decidedName ?? decidedBy ?? 'somebody').replaceAll(/[\p{C}`]/gu, '').slice(0, MAX_NAME);
  return `it was ${state} already, by ${who.toWellFormed()}`;
}
