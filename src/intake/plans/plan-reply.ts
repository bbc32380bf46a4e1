/** A reply to a plan's card changes the plan. */
import { GatewayError, wordError } from '../../protocol/errors.ts';
import type { InboundMessage, SessionKey } from '../../protocol/message.ts';
import { isOpenPlan } from '../../protocol/agent/plan.ts';
import type { Ledger } from '../../protocol/store/ledger.ts';
import { cardRef, editHelpRef, type PlanRecord } from '../../protocol/agent/plan-store.ts';
import { type AskedEdits, type ChangePlanDeps, changeSteps } from './change-plan.ts';
import { editHelp, readEdits } from './edit-text.ts';
import { describeChange } from './plan-text.ts';
import type { Languages } from '../../protocol/texts/languages.ts';
import type { Say } from '../../protocol/texts/say.ts';

export interface PlanReplyDeps extends ChangePlanDeps {
  ledger: ChangePlanDeps['ledger'] & Pick<Ledger, 'sentParts'>;
  languages: Pick<Languages, 'say'>;
}

/** The newest plans of a conversation that a reply is matched against. */
const PLANS_SEARCHED = 5;

/**
 * Reads changes to the current plan. The result throws `GatewayError('plan_unchanged')` for a line that it does not
 * understand.
 */
export function askedIn(text: string, say: Say): AskedEdits {
  return (plan) => {
    const read = readEdits(text, plan);
    if ('edits' in read) return read.edits;
    throw new GatewayError(
      'plan_unchanged',
      `${say('plan.not_understood', { problem: read.problem })}\n${editHelp(say)}`,
    );
  };
}

/**
 * Makes the handler of replies: undefined for a reply to another message, or to the card of a plan that is over. Throws
 * only `StoreError`.
 */
export function createChangeByReply(
  deps: PlanReplyDeps,
): (message: InboundMessage, session: SessionKey) => Promise<string | undefined> {
  return async (message, session) => {
    const { replyTo, content } = message;
    const record = replyTo === undefined ? undefined : await planUnder(deps, replyTo, session);
    if (record === undefined) return undefined;
    const say = deps.languages.say(message);
    try {
      return describeChange(await changeSteps(deps, record.plan.id, askedIn(content, say)), say);
    } catch (error) {
      if (error instanceof GatewayError && (error.code === 'plan_unchanged' || error.code === 'plan_busy'))
        return wordError(error, 'operator', say);
      throw error;
    }
  };
}

/** The plan whose card, or whose explanation of changes, is the message that was replied to. */
async function planUnder(
  { plans, ledger }: PlanReplyDeps,
  messageId: string,
  session: SessionKey,
): Promise<PlanRecord | undefined> {
  const latest = await plans.latestPlan(session);
  if (latest === undefined) return undefined;
  const kept = (await plans.plans(session, PLANS_SEARCHED)).map(({ record }) => record);
  const candidates = [latest, ...kept.filter(({ plan }) => plan.id !== latest.plan.id)];
  for (const record of candidates.filter(({ plan }) => plan.state === 'stored' || isOpenPlan(plan))) {
    const refs = [cardRef(record.plan.id), editHelpRef(record.plan.id)];
    const parts = await Promise.all(refs.map((ref) => ledger.sentParts(ref)));
    if (parts.flat().some(({ id }) => id === messageId)) return record;
  }
  return undefined;
}
