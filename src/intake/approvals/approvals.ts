/** Approvals: checks who may decide a request, and commits the decision, whichever channel it comes from. */
import { isApprovalId, MAX_APPROVAL_RULES } from '../../contracts/approvals.ts';
import type {
  ApprovalRecord,
  Approvals,
  ApprovalStore,
  Decided,
  Decider,
} from '../../contracts/approvals.ts';
import type { MessageBus } from '../../contracts/bus.ts';
import type { LaneStore } from '../../contracts/store/lanes.ts';
import type { Log } from '../../contracts/log.ts';

export interface ApprovalsDeps {
  store: Pick<ApprovalStore, 'approval' | 'pendingApprovals' | 'rules' | 'removeRule' | 'hasRule'>;
  lanes: Pick<LaneStore, 'decide'>;
  bus: Pick<MessageBus, 'sweepSoon'>;
  log: Log;
}

/** Makes `Approvals`. */
export function createApprovals({ store, lanes, bus, log }: ApprovalsDeps): Approvals {
  return {
    pending: (filter) => store.pendingApprovals(filter),
    rules: (filter) => store.rules(filter),
    removeRule: (id, filter) => store.removeRule(id, filter),
    async decidable(id, by) {
      const record = isApprovalId(id) ? await store.approval(id) : undefined;
      return record !== undefined && refused(record, by) === undefined;
    },
    async decide(id, decision, by, { reason, always } = {}) {
      if (!isApprovalId(id)) return { kind: 'unknown' };
      const record = await store.approval(id);
      const refusal = record === undefined ? ({ kind: 'unknown' } as const) : refused(record, by);
      if (refusal !== undefined) {
        log.info({ approvalId: id, userId: by.userId, why: refusal.kind }, 'approval_decision_refused');
        return refusal;
      }
      if (await lanes.decide(id, decision, by.userId, { name: by.name, reason, always })) {
        bus.sweepSoon();
        const rule = always === true && record ? await ruleOf(store, record) : undefined;
        return { kind: 'decided', decision, rule };
      }
      // Someone else decided first, or it expired.
      const current = await store.approval(id);
      if (current === undefined) return { kind: 'unknown' };
      return outcomeOf(current) ?? { kind: 'expired' };
    },
  };
}

/** What became of the rule that was asked for with an approval. */
async function ruleOf(
  store: Pick<ApprovalStore, 'hasRule'>,
  { session, rule }: ApprovalRecord,
): Promise<'stored' | 'full' | 'not_offered'> {
  if (rule === undefined) return 'not_offered';
  return (await store.hasRule(session, rule)) ? 'stored' : 'full';
}

/** Reason why this decision changes nothing; undefined when it may. */
function refused(record: ApprovalRecord, by: Decider): Decided | undefined {
  if (by.pressed === true && by.at?.address !== record.address) return { kind: 'elsewhere' };
  if (!isEntitled(record, by)) return { kind: 'forbidden' };
  return outcomeOf(record);
}

/** Outcome of a request that is not pending any more; undefined while it is. */
function outcomeOf(record: ApprovalRecord): Decided | undefined {
  if (record.expired) return { kind: 'expired' };
  return record.state === 'pending' ? undefined : { kind: 'settled', record };
}

/**
 * Owners may decide every request. Others may decide a request in the private chat it was sent to, where no one else can
 * press or write, or in a session that their own token created, if it has the scope `approve`.
 */
function isEntitled(record: ApprovalRecord, { owner, tokenId, approves, userId, at }: Decider): boolean {
  if (owner) return true;
  if (tokenId !== undefined) {
    return record.ownerTokenId === tokenId && (approves === true || record.plan !== undefined);
  }
  if (at?.place !== 'private' || at.address !== record.address) return false;
  return record.userId === userId || record.userId === 'system';
}

/** Describes the outcome of a decision for users, in at most 200 characters. */
export function describeDecided(decided: Decided): string {
  switch (decided.kind) {
    case 'decided':
      return decided.decision === 'denied'
        ? 'Denied: it will not be run.'
        : `Approved.${describeRule(decided.rule)}`;
    case 'settled':
      return `Nothing changed: ${howSettled(decided.record)}.`;
    case 'expired':
      return 'This request expired; nothing was run.';
    case 'unknown':
      return 'This request no longer exists. Nothing was changed.';
    case 'elsewhere':
      return 'This button belongs to another chat. Nothing was changed.';
    case 'forbidden':
      return 'Only an owner of this bot can decide this.';
    default:
      return decided satisfies never;
  }
}

function describeRule(rule: Extract<Decided, { kind: 'decided' }>['rule']): string {
  switch (rule) {
    case undefined:
      return '';
    case 'stored':
      return ' Exactly this runs here without a question from now on; /rules shows and removes that.';
    case 'full':
      return ` Not remembered: this chat has ${MAX_APPROVAL_RULES} rules, see /rules.`;
    case 'not_offered':
      return ' Only this once: it cannot be allowed for good.';
    default:
      return rule satisfies never;
  }
}

/** Longest name shown of the user who decided. */
const MAX_NAME = 60;

function howSettled({ state, decidedBy, decidedName }: ApprovalRecord): string {
  if (decidedBy === 'stop') return 'it was stopped';
  const who = (decidedName ?? decidedBy ?? 'someone').replaceAll(/[\p{C}`]/gu, '').slice(0, MAX_NAME);
  return `it was already ${state} by ${who.toWellFormed()}`;
}
