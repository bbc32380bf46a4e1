/** The buttons under the card of a stored plan: run it, run it step by step, explain how it is changed, cancel it. */
import { GatewayError } from '../../contracts/errors.ts';
import type { Address } from '../../contracts/message.ts';
import { parseAddress } from '../../contracts/message.ts';
import { versionOf } from '../../contracts/plans/plan-edits.ts';
import type { PressAnswer } from '../../contracts/receive.ts';
import { cardRef, editHelpRef } from '../../contracts/store/plan-store.ts';
import type { PlanButton, PlanRecord } from '../../contracts/store/plan-store.ts';
import { cancelStored, showCard } from './change-plan.ts';
import type { ChangePlanDeps } from './change-plan.ts';
import { EDIT_HELP } from './edit-text.ts';
import { startPlan } from './start-plan.ts';
import type { StartPlanDeps } from './start-plan.ts';

export interface StoredButtonDeps extends ChangePlanDeps, StartPlanDeps {
  plans: ChangePlanDeps['plans'];
  ledger: ChangePlanDeps['ledger'] & StartPlanDeps['ledger'];
}

/** Acts on a press that belongs to the chat of the plan. A card that is out of date is refused and shown anew. Throws `StoreError`. */
export async function pressStored(
  deps: StoredButtonDeps,
  record: PlanRecord,
  press: StoredPress,
  address: Address,
): Promise<PressAnswer> {
  const answer = await act(deps, record, press, address);
  // A crash may have left a second card, which nobody brings up to date.
  return { ...answer, shownBy: cardRef(record.plan.id) };
}

type StoredPress = Extract<PlanButton, { version: number }>;

async function act(
  deps: StoredButtonDeps,
  record: PlanRecord,
  press: StoredPress,
  address: Address,
): Promise<PressAnswer> {
  const { plan } = record;
  const { version, run } = press;
  if (version !== versionOf(plan)) {
    await showCard(deps, record);
    return { reply: 'This plan has changed since. Its card shows it as it is now; nothing was done.' };
  }
  try {
    switch (press.action) {
      case 'start':
      case 'teach': {
        const mode = press.action === 'start' ? 'agentic' : 'teacher';
        const passedOn = await startPlan(deps, record, { mode, version, run });
        return { reply: mode === 'agentic' ? 'The plan runs.' : 'The plan runs step by step.', passedOn };
      }
      case 'edit':
        await explainEdits(deps, record, address);
        return {
          reply: 'Reply to the plan with your changes, such as "2 drop", "3 before 1" or "2: new words".',
        };
      case 'cancel':
        await cancelStored(deps, plan.id, version);
        return { reply: 'The plan is cancelled; nothing of it runs.' };
      default:
        return press.action satisfies never;
    }
  } catch (error) {
    if (!(error instanceof GatewayError) || !REFUSALS.includes(error.code)) throw error;
    if (error.code === 'plan_started') await showCard(deps, record);
    return { reply: error.message };
  }
}

/** What is told to whoever pressed; everything else is an error of the gateway. */
const REFUSALS = ['already_running', 'plan_changed', 'plan_started', 'plan_unchanged', 'plan_busy'];

/** Sends the explanation once for each plan, as a message that can be replied to, too. */
async function explainEdits(
  { ledger, bus }: StoredButtonDeps,
  { plan }: PlanRecord,
  address: Address,
): Promise<void> {
  const ref = editHelpRef(plan.id);
  const content = `Reply to this message, or to the plan, with your changes, one a line:\n${EDIT_HELP}`;
  const message = { ...parseAddress(address), content, media: [], buttons: [] };
  bus.runHeads(await ledger.enqueue(address, { ref, message }, bus.claimingNode('out')));
}
