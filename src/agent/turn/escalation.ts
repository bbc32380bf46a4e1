/** Requests that no one answers in a group, on the web or after a schedule: one after another, owners are asked in their own chats, too. */
import {
  type ApprovalRecord,
  approvalRef,
  MAX_ALSO_ASKED,
  MAX_LISTED_APPROVALS,
} from '../../protocol/agent/approvals.ts';
import { toGatewayError } from '../../protocol/errors.ts';
import { type Address, chatOf, parseAddress } from '../../protocol/message.ts';
import { recipientOf } from '../../protocol/texts/languages.ts';
import { pause } from '../../lib/async/sleep.ts';
import type { AgentShared, CurrentShared } from '../deps.ts';
import { questionFor } from './approval-question.ts';

/** How often a node looks for requests that wait too long, in milliseconds. */
const LOOK_EVERY_MS = 5_000;

/** Looks for such requests until the signal aborts; any number of nodes may. Never throws. */
export async function escalateUntil(current: CurrentShared, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const shared = current();
    try {
      if (shared.limits.escalateMs > 0) await escalate(shared);
    } catch (error) {
      shared.log.warn({ err: toGatewayError(error) }, 'approvals_not_escalated');
    }
    await pause(LOOK_EVERY_MS, signal);
  }
}

async function escalate(shared: AgentShared): Promise<void> {
  const { stores, limits } = shared;
  const now = shared.environmentNote.epochNow();
  const steps = ({ createdAt }: ApprovalRecord): number =>
    Math.min(MAX_ALSO_ASKED, Math.floor((now - createdAt.getTime()) / limits.escalateMs));
  const pending = await stores.approvals.pendingApprovals({ limit: MAX_LISTED_APPROVALS });
  const late = pending.filter(
    (record) => isEveryOwners(record) && steps(record) > (record.alsoAsked ?? []).length,
  );
  if (late.length === 0) return;
  const chats = await shared.ownerChats();
  for (const record of late) {
    const askedIn = [record.address, ...record.surfaces, ...(record.alsoAsked ?? [])];
    const next = chats.find((chat) => !askedIn.includes(chat));
    if (next !== undefined) await askAlso(shared, record, next, now);
  }
}

/** What a person is asked in their private chat is theirs to answer. */
function isEveryOwners({ address, userId, place, plan, budget }: ApprovalRecord): boolean {
  if (budget !== undefined) return budget.asks !== 'elsewhere';
  const isTheirs = place !== 'group' && userId !== 'system' && !address.startsWith('http:');
  return plan === undefined && !isTheirs;
}

async function askAlso(
  { stores: { lanes, contacts }, chats: { languages }, background, log }: AgentShared,
  record: ApprovalRecord,
  address: Address,
  now: number,
): Promise<void> {
  const { id, expiresAt } = record;
  const say = languages.say(recipientOf(address, await languages.languageOf(address)));
  const group = await contacts.contact(chatOf(record.address));
  const groupName = group?.place === 'group' ? group.name : undefined;
  const leftMs = Math.max(0, expiresAt.getTime() - now);
  const question = questionFor(id, { ...record, address }, leftMs, say, groupName);
  if (question === undefined) return;
  if (!(await lanes.alsoAsk(id, { ...question, ref: approvalRef(id, address) }))) return;
  background.sweepSoon();
  log.info({ approvalId: id, channel: parseAddress(address).channel }, 'approval_escalated');
}
