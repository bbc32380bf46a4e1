/** The brake before each model call of a turn or subagent: it reserves what the call may cost, or parks the turn to ask for more. */
import { createHash } from 'node:crypto';
import { MAX_ALSO_ASKED, MAX_ASKED } from '../../protocol/agent/approvals.ts';
import {
  amountText,
  type Cap,
  capText,
  inUnit,
  RESERVED_ANSWER,
  type Reserved,
  resetText,
  type Spender,
} from '../../protocol/agent/budgets.ts';
import type { ChatRequest } from '../../protocol/agent/provider.ts';
import type { ModelUsage } from '../../protocol/agent/usage.ts';
import { toGatewayError } from '../../protocol/errors.ts';
import { type Address, parseAddress } from '../../protocol/message.ts';
import { recipientOf } from '../../protocol/texts/languages.ts';
import type { AgentShared, Emit } from '../deps.ts';
import { ApprovalWait } from '../tools/approval-gate.ts';
import { type Turn, usageOf } from '../turn/turn-state.ts';

/** The share of a cap that a question offers to add, if that is enough for the call. */
const OFFERED_SHARE = 0.5;

/** On whose account a turn works now. */
function spenderOf({ payer, profile, plan }: Turn): Spender {
  return { ...payer, profile: profile.id, plan: plan?.origin?.planId ?? plan?.id ?? payer.plan };
}

/**
 * Reserves for the next call what all calls of the turn have used so far and what this one may use. `promptTokens` is the
 * size of its prompt, `more` usage that the turn does not know yet. Throws `ApprovalWait` to ask for more, and
 * `GatewayError('rate_limited')` where that was refused, has expired, or no one can be asked; `GatewayError('no_price')`.
 */
export async function holdCall(
  shared: AgentShared,
  turn: Turn,
  { model, maxTokens = RESERVED_ANSWER }: Pick<ChatRequest, 'model' | 'maxTokens'>,
  promptTokens: number,
  emit: Emit,
  more: readonly ModelUsage[] = [],
): Promise<void> {
  const { budgets } = shared;
  const caps = budgets.capsFor(spenderOf(turn));
  if (caps.length === 0) return;
  const work = { holder: turn.turnId, fence: turn.fence };
  const call = { model, promptTokens, completionTokens: maxTokens };
  const outcome = await budgets.reserve(work, caps, [...usageOf(turn), ...more], call);
  if (outcome.kind === 'refused') throw refusalOf(shared, turn, outcome);
  for (const cap of outcome.nearly) await tellNearly(shared, turn, cap, emit);
}

/** The question for more, or the error of a turn that must not ask. */
function refusalOf(
  { budgets }: AgentShared,
  turn: Turn,
  { cap, state, missing }: Extract<Reserved, { kind: 'refused' }>,
): Error {
  const callKey = `budget:${cap.key}`;
  const requests = turn.approvals.filter((one) => one.callKey === callKey);
  const isOver = requests[0]?.decision === 'denied' || requests.length >= MAX_ASKED;
  if (state.refused || isOver || turn.mayAsk === false) return budgets.usedUp(cap);
  const { say, userId, address } = turn;
  const add = inUnit(cap, roundUp(Math.max(missing, cap.limit * OFFERED_SHARE)));
  const warning = say('budget.asks', {
    ...capText(cap, cap.limit + state.more, say.language),
    spent: amountText(cap, state.spent + state.held, say.language),
    reset: resetText(cap),
  });
  return new ApprovalWait({
    callKey,
    toolCallId: '',
    tool: 'budget',
    args: { add },
    digest: createHash('sha256').update(callKey).digest('hex'),
    warning,
    userId,
    address,
    place: turn.askedIn,
    language: say.language,
    budget: { key: cap.key, unit: cap.unit, asks: 'here' },
  });
}

/** To two significant digits. */
function roundUp(amount: number): number {
  const step = 10 ** Math.max(0, Math.floor(Math.log10(amount)) - 1);
  return Math.ceil(amount / step) * step;
}

/**
 * Tells once in its period that most of a cap is used: the person whose cap it is, in private; of any other, owners. A
 * failure is logged, and the next call tries again. Throws nothing.
 */
async function tellNearly(shared: AgentShared, turn: Turn, cap: Cap, emit: Emit): Promise<void> {
  const { budgets, stores, chats, log } = shared;
  try {
    const isTheirs = turn.askedIn === 'private' && (cap.scope === 'person' || turn.isOwner === true);
    const readers = isTheirs ? [turn.address] : (await shared.ownerChats()).slice(0, MAX_ALSO_ASKED);
    for (const address of readers) {
      const language = isTheirs ? turn.say.language : await chats.languages.languageOf(address);
      const say = chats.languages.say(recipientOf(address, language));
      const text = say('budget.nearly', { ...capText(cap, cap.limit, say.language), reset: resetText(cap) });
      if (isOverHttp(address)) emit({ type: 'notice', code: 'budget_nearly', text });
      else {
        const message = { ...parseAddress(address), content: text, media: [], buttons: [] };
        await stores.ledger.enqueue(address, { ref: `nearly:${cap.key}`, message });
      }
    }
    await budgets.noteTold(cap.key);
    shared.background.sweepSoon();
  } catch (error) {
    log.warn({ err: toGatewayError(error), budget: cap.key }, 'budget_not_told');
  }
}

function isOverHttp(address: Address): boolean {
  return parseAddress(address).channel === 'http';
}
