/** Approvals: checks who may decide a request, and commits the decision, no matter which channel it comes from. */
import { fromUnit } from '../../protocol/agent/budgets.ts';
import type { ApprovalDecision } from '../../protocol/store/records.ts';
import {
  type ApprovalRecord,
  approvalRef,
  budgetArgs,
  type BudgetChange,
  type CheckArgs,
  type Approvals,
  type ApprovalStore,
  type Decided,
  type Decider,
  isApprovalId,
  MAX_ASKED_CHARS,
  shownArgs,
  MAX_APPROVAL_RULES,
} from '../../protocol/agent/approvals.ts';
import { type Address, addressOf, parseAddress } from '../../protocol/message.ts';
import type { MessageBus } from '../../protocol/bus.ts';
import type { LaneStore } from '../../protocol/store/lanes.ts';
import type { Log } from '../../protocol/log.ts';
import type { Say } from '../../protocol/texts/say.ts';

/** Makes `Approvals`. */
export function createApprovals(
  store: ApprovalStore,
  lanes: LaneStore,
  bus: MessageBus,
  checkArgs: CheckArgs,
  log: Log,
): Approvals {
  return {
    pending: (filter) => store.pendingApprovals(filter),
    questions: (of) => store.questions(of),
    rules: (filter) => store.rules(filter),
    removeRule: (id, filter) => store.removeRule(id, filter),
    async shownIn(id, address) {
      const record = await store.approval(id);
      const isOwn = record === undefined || record.question !== undefined || record.address === address;
      return approvalRef(id, isOwn ? undefined : address);
    },
    async decidable(id, by) {
      const request = isApprovalId(id) ? await store.approval(id) : undefined;
      const outcome = request === undefined ? ({ kind: 'unknown' } as const) : refused(request, by);
      return request === undefined || outcome !== undefined
        ? { outcome: outcome ?? { kind: 'unknown' } }
        : { request };
    },
    async undoAnswer(id, { userId }) {
      const record = isApprovalId(id) ? await store.approval(id) : undefined;
      if (record?.question?.userId !== userId || record.byNext !== true) return undefined;
      const isUndone =
        (record.state === 'pending' && record.replyOnly === true) || (await lanes.undoAnswer(id, userId));
      if (isUndone) bus.sweepSoon();
      return isUndone ? record.reason : undefined;
    },
    async decide(id, decision, by, detail = {}) {
      if (!isApprovalId(id)) return { kind: 'unknown' };
      const { always: isAlways, args } = detail;
      const record = await store.approval(id);
      const repeated = decidedBy(record, detail.message);
      if (repeated !== undefined) return repeated;
      const refusal = record === undefined ? ({ kind: 'unknown' } as const) : refused(record, by);
      if (refusal !== undefined) {
        log.info({ approvalId: id, userId: by.userId, why: refusal.kind }, 'approval_decision_refused');
        return refusal;
      }
      const problem = record && args && problemOf(record, args, checkArgs);
      if (problem !== undefined) return { kind: 'bad_args', problem };
      const budget = record && budgetChange(record, decision, args);
      if (await lanes.decide(id, decision, by.userId, { ...detail, name: by.name, budget })) {
        if (budget !== undefined) await decideOthers(store, lanes, budget.key, { decision, by });
        bus.sweepSoon();
        const rule = isAlways === true && record ? await ruleOf(store, record) : undefined;
        return { kind: 'decided', decision, rule, ...(args !== undefined && { changed: true }) };
      }
      // Someone else decided first, or it expired.
      const current = await store.approval(id);
      return current === undefined ? { kind: 'unknown' } : (outcomeOf(current) ?? { kind: 'expired' });
    },
  };
}

/** The outcome of a message that has decided the request before: a platform repeats what it does not know to be handled. */
function decidedBy(record: ApprovalRecord | undefined, message: string | undefined): Decided | undefined {
  if (message === undefined || record?.decidedIn !== message || record.state === 'pending') return undefined;
  return { kind: 'decided', decision: record.state, ...(record.changed !== undefined && { changed: true }) };
}

/** Why a request cannot be approved with these arguments. */
function problemOf(
  { tool, plan, question, budget }: ApprovalRecord,
  args: Readonly<Record<string, unknown>>,
  checkArgs: CheckArgs,
): string | undefined {
  if (budget !== undefined)
    return budgetArgs.safeParse(args).success
      ? undefined
      : '"add" must be an amount above 0, such as {"add": 5}.';
  if (plan !== undefined || question !== undefined) return 'this has no arguments that can be changed.';
  const { length } = shownArgs(args);
  if (length > MAX_ASKED_CHARS)
    return `the arguments have ${length} characters; at most ${MAX_ASKED_CHARS} can be approved.`;
  return checkArgs(tool, args);
}

/** What a decision does to the budget that its request is about. */
function budgetChange(
  { budget, args: offered }: ApprovalRecord,
  decision: ApprovalDecision,
  args: unknown,
): BudgetChange | undefined {
  if (budget === undefined) return undefined;
  const { key } = budget;
  if (decision === 'denied') return { key, refused: true };
  const { add } = budgetArgs.parse(args ?? offered);
  return { key, more: Math.max(1, fromUnit(budget, add)) };
}

/** The decision about a budget is that of all turns that wait for it. One that a crash leaves out is decided by its expiry. */
async function decideOthers(
  store: ApprovalStore,
  lanes: LaneStore,
  key: string,
  { decision, by }: { decision: ApprovalDecision; by: Decider },
): Promise<void> {
  for (const { id } of await store.pendingBudgets(key))
    await lanes.decide(id, decision, by.userId, { name: by.name });
}

/** What happened to the rule that was requested with an approval. */
async function ruleOf(
  store: ApprovalStore,
  { session, rule }: ApprovalRecord,
): Promise<'stored' | 'full' | 'not_offered'> {
  if (rule === undefined) return 'not_offered';
  return (await store.hasRule(session, rule)) ? 'stored' : 'full';
}

/** Reason why this decision changes nothing; undefined when it may change something. */
function refused(record: ApprovalRecord, by: Decider): Decided | undefined {
  if (record.question !== undefined) {
    // Whoever has it asked has no part in the answer, not even as an owner.
    return record.question.userId === by.userId ? outcomeOf(record) : { kind: 'forbidden' };
  }
  if (by.pressed === true && !isShownIn(record, by.at)) return { kind: 'elsewhere' };
  if (!isEntitled(record, by)) return { kind: 'forbidden' };
  return outcomeOf(record);
}

/** Outcome of a request that is no longer pending; undefined while it is. */
function outcomeOf(record: ApprovalRecord): Decided | undefined {
  if (record.expired) return { kind: 'expired' };
  return record.state === 'pending' ? undefined : { kind: 'settled', record };
}

function isAskedIn({ address, surfaces }: ApprovalRecord, at: Address | undefined): boolean {
  return at === address || (at !== undefined && surfaces.includes(at));
}

/**
 * Also where it was asked later, where only owners may decide; and in the private chat to whose person a chat of others
 * belongs, where the bot shows what is not for those others.
 */
function isShownIn(record: ApprovalRecord, at: Decider['at']): boolean {
  if (at === undefined) return false;
  const { channel, chatId } = parseAddress(record.address);
  const isOfPerson = at.place === 'private' && record.place === 'group';
  if (isOfPerson && at.address === addressOf({ channel, chatId })) return true;
  return isAskedIn(record, at.address) || (record.alsoAsked ?? []).includes(at.address);
}

/**
 * Owners may decide everything, and only they what a group's turn asked. Others may decide in the private chats that
 * were asked, or, with the scope `approve`, in a session of their own token.
 */
function isEntitled(record: ApprovalRecord, { owner, tokenId, approves, userId, at }: Decider): boolean {
  if (owner) return true;
  // What a person may spend is not theirs to decide.
  if (record.budget !== undefined) return false;
  if (tokenId !== undefined) {
    return record.ownerTokenId === tokenId && (approves === true || record.plan !== undefined);
  }
  if (at?.place !== 'private' || !isAskedIn(record, at.address)) return false;
  // A person who agreed to share a conversation in private decides for those who share it.
  return record.userId === userId || record.userId === 'system' || at.address !== record.address;
}

/** Describes the outcome of a decision for users, in at most 200 characters. */
export function describeDecided(outcome: Decided, say: Say): string {
  switch (outcome.kind) {
    case 'decided':
      if (outcome.changed === true) return say('decided.changed');
      return outcome.decision === 'denied' ? say('decided.denied') : describeApproved(outcome.rule, say);
    case 'bad_args':
      return say('decided.bad_args', { problem: outcome.problem });
    case 'settled':
      return describeSettled(outcome.record, say);
    case 'expired':
    case 'unknown':
      return say(`decided.${outcome.kind}`);
    case 'elsewhere':
      return say('button.elsewhere');
    case 'forbidden':
      return say('decided.owners_only');
    default:
      return outcome satisfies never;
  }
}

function describeApproved(rule: Extract<Decided, { kind: 'decided' }>['rule'], say: Say): string {
  switch (rule) {
    case undefined:
      return say('decided.approved');
    case 'full':
      return say('decided.rule_full', { most: MAX_APPROVAL_RULES });
    case 'stored':
    case 'not_offered':
      return say(`decided.rule_${rule}`);
    default:
      return rule satisfies never;
  }
}

/** Longest name shown of the user who decided. */
const MAX_NAME = 60;

function describeSettled({ state, decidedBy, decidedName }: ApprovalRecord, say: Say): string {
  if (decidedBy === 'stop') return say('decided.stopped');
  const name = decidedName ?? decidedBy ?? say('decided.someone');
  const who = name
    .replaceAll(/[\p{C}`]/gu, '')
    .slice(0, MAX_NAME)
    .toWellFormed();
  return say(state === 'denied' ? 'decided.already_denied' : 'decided.already_approved', { who });
}
