/** The buttons under the card of a stored plan: run it, run it step by step, explain how to change it, cancel it. */
import { GatewayError, wordError } from '../../contracts/errors.ts';
import { type Address, parseAddress } from '../../contracts/message.ts';
import { versionOf } from '../../contracts/plans/plan-edits.ts';
import type { Press, PressAnswer } from '../../contracts/receive.ts';
import { cardRef, editHelpRef, type PlanButton, type PlanRecord } from '../../contracts/store/plan-store.ts';
import { cancelStored, type ChangePlanDeps, changeSteps, showCard } from './change-plan.ts';
import { editHelp } from './edit-text.ts';
import { askedInForm, planForm } from './plan-form.ts';
import { startPlan, type StartPlanDeps } from './start-plan.ts';
import type { Say } from '../../contracts/texts/say.ts';

export interface StoredButtonDeps extends ChangePlanDeps, StartPlanDeps {
  plans: ChangePlanDeps['plans'];
  ledger: ChangePlanDeps['ledger'] & StartPlanDeps['ledger'];
}

/**
 * Acts on a press that belongs to the chat of the plan. A press on an outdated card is refused and the card shown
 * again. Throws `StoreError`.
 */
export async function pressStored(
  deps: StoredButtonDeps,
  record: PlanRecord,
  press: StoredPress,
  from: Pick<Press, 'address' | 'value' | 'forms' | 'fields' | 'say'>,
): Promise<PressAnswer> {
  const answer = await act(deps, record, press, from);
  // A crash may have left a second card, which no one updates.
  return { ...answer, shownBy: cardRef(record.plan.id) };
}

type StoredPress = Extract<PlanButton, { version: number }>;

async function act(
  deps: StoredButtonDeps,
  record: PlanRecord,
  press: StoredPress,
  { address, value, forms, fields, say }: Pick<Press, 'address' | 'value' | 'forms' | 'fields' | 'say'>,
): Promise<PressAnswer> {
  const { plan } = record;
  const { version, run } = press;
  if (version !== versionOf(plan)) {
    await showCard(deps, record);
    return { reply: say('plan.other_card') };
  }
  try {
    switch (press.action) {
      case 'start':
      case 'teach': {
        const mode = press.action === 'start' ? 'agentic' : 'teacher';
        const passedOn = await startPlan(deps, record, { mode, version, run, say });
        return { reply: say(mode === 'agentic' ? 'plan.runs' : 'plan.runs_stepwise'), passedOn };
      }
      case 'edit': {
        if (fields !== undefined) {
          await changeSteps(deps, plan.id, askedInForm(fields), version);
          return { reply: say('plan.changed') };
        }
        const form = forms && planForm(plan, value, say);
        if (form !== undefined) return { reply: '', form };
        await explainEdits(deps, record, address, say);
        return { reply: say('plan.edit_pressed') };
      }
      case 'cancel':
        await cancelStored(deps, plan.id, version);
        return { reply: say('plan.cancelled') };
      default:
        return press.action satisfies never;
    }
  } catch (error) {
    if (!(error instanceof GatewayError) || !REFUSALS.includes(error.code)) throw error;
    if (error.code === 'plan_started') await showCard(deps, record);
    return { reply: wordError(error, 'operator', say) };
  }
}

/** What is reported to the person who pressed; everything else is an error of the gateway. */
const REFUSALS = ['already_running', 'plan_changed', 'plan_started', 'plan_unchanged', 'plan_busy'];

/** Sends the explanation once per plan, as a message that people can also reply to. */
async function explainEdits(
  { ledger, bus }: StoredButtonDeps,
  { plan }: PlanRecord,
  address: Address,
  say: Say,
): Promise<void> {
  const ref = editHelpRef(plan.id);
  const content = `${say('plan.edit_reply')}\n${editHelp(say)}`;
  const message = { ...parseAddress(address), content, media: [], buttons: [] };
  bus.runHeads(await ledger.enqueue(address, { ref, message }, bus.claimingNode('out')));
}
