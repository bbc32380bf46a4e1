/** The buttons under the card of a stored plan: run it, run it step by step, explain how to change it, cancel it. */
import type { IntakeContext } from '../context.ts';
import { deliver } from '../replies.ts';
import { GatewayError, wordError } from '../../protocol/errors.ts';
import { type Address, parseAddress } from '../../protocol/message.ts';
import { versionOf } from '../../protocol/agent/plan-edits.ts';
import type { Form, Press, PressAnswer } from '../../protocol/receive.ts';
import { cardRef, editHelpRef, type PlanButton, type PlanRecord } from '../../protocol/agent/plan-store.ts';
import { type AskedEdits, cancelStored, changeSteps, showCard, startPlan } from './change-plan.ts';
import { editHelp } from './plan-text.ts';
import type { Plan, StepEdit } from '../../protocol/agent/plan.ts';
import { oneLine } from '../../lib/text.ts';
import { type Say, textRef } from '../../protocol/texts/say.ts';

const STEPS = 'steps';

/** Longest text of the field; a longer plan is changed by a reply. */
export const MAX_FORM_CHARS = 4_000;

const NUMBERED = /^(\d{1,3}) ?[:.)] ?(\S.*)$/;

/** Handles a press that belongs to the plan's chat. An outdated card is refused and shown again. Throws `StoreError`. */
export async function pressStored(
  context: IntakeContext,
  record: PlanRecord,
  press: StoredPress,
  from: Press,
): Promise<PressAnswer> {
  const answer = await act(context, record, press, from);
  // A crash may have left a second card, which no one updates.
  return { ...answer, shownBy: cardRef(record.plan.id) };
}

type StoredPress = Extract<PlanButton, { version: number }>;

async function act(
  context: IntakeContext,
  record: PlanRecord,
  press: StoredPress,
  { address, value, forms, fields, say }: Press,
): Promise<PressAnswer> {
  const { plan } = record;
  const { version, run } = press;
  if (version !== versionOf(plan)) {
    await showCard(context, record);
    return { reply: say('plan.other_card') };
  }
  try {
    switch (press.action) {
      case 'start':
      case 'teach': {
        const mode = press.action === 'start' ? 'agentic' : 'teacher';
        const forwarded = await startPlan(context, record, { mode, version, run, say });
        return { reply: say(mode === 'agentic' ? 'plan.runs' : 'plan.runs_stepwise'), forwarded };
      }
      case 'edit': {
        if (fields !== undefined) {
          await changeSteps(context, plan.id, askedInForm(fields), version);
          return { reply: say('plan.changed') };
        }
        const form = forms && planForm(plan, value, say);
        if (form !== undefined) return { reply: '', form };
        await explainEdits(context, record, address, say);
        return { reply: say('plan.edit_pressed') };
      }
      case 'cancel':
        await cancelStored(context, plan.id, version);
        return { reply: say('plan.cancelled') };
      default:
        return press.action satisfies never;
    }
  } catch (error) {
    if (!(error instanceof GatewayError) || !REFUSALS.includes(error.code)) throw error;
    if (error.code === 'plan_started') await showCard(context, record);
    return { reply: wordError(error, 'operator', say) };
  }
}

/** What is reported to the person who pressed; everything else is an error of the gateway. */
const REFUSALS = ['already_running', 'plan_changed', 'plan_started', 'plan_unchanged', 'plan_busy'];

/** Sends the explanation once per plan, as a message that people can also reply to. */
async function explainEdits(
  context: IntakeContext,
  { plan }: PlanRecord,
  address: Address,
  say: Say,
): Promise<void> {
  const ref = editHelpRef(plan.id);
  const content = `${say('plan.edit_reply')}\n${editHelp(say)}`;
  const message = { ...parseAddress(address), content, media: [], buttons: [] };
  await deliver(context, address, { ref, message });
}

/** The form for a plan's steps; undefined for a plan that does not fit. `value` is returned with it. */
export function planForm(plan: Plan, value: string, say: Say): Form | undefined {
  const lines = plan.steps
    .map(({ description }, index) => `${index + 1}: ${oneLine(description)}`)
    .join('\n');
  if (lines.length > MAX_FORM_CHARS) return undefined;
  const field = {
    name: STEPS,
    label: say('plan.form_steps'),
    description: say('plan.form_help'),
    value: lines,
  };
  const bounds = { maxLength: MAX_FORM_CHARS, lines: 'many', required: true } as const;
  return { title: say('plan.form_title'), value, fields: [{ ...field, ...bounds }] };
}

/** The changes in a form. The result throws `GatewayError('plan_unchanged')` when there are none. */
export function askedInForm(fields: Readonly<Record<string, string>>): AskedEdits {
  return (plan) => {
    const edits = editsIn(fields[STEPS] ?? '', plan);
    if (edits.length > 0) return edits;
    throw new GatewayError('plan_unchanged', textRef('plan.form_same'));
  };
}

/** Lines with a known number are steps that stay, in the order of the lines; the others are new ones after the line above. */
function editsIn(text: string, { steps }: Plan): StepEdit[] {
  const remaining: { id: string; at: number }[] = [];
  const edits: StepEdit[] = [];
  const additions: { description: string; after: string | undefined }[] = [];
  for (const line of text.split('\n').map(oneLine)) {
    if (line === '') continue;
    const [, number, described = ''] = NUMBERED.exec(line) ?? [];
    const at = Number(number ?? 0) - 1;
    const step = steps[at];
    const last = remaining.at(-1);
    if (step === undefined || remaining.some(({ id }) => id === step.id)) {
      additions.push({ description: step === undefined ? line : described, after: last?.id });
      continue;
    }
    if (described !== oneLine(step.description))
      edits.push({ op: 'reword', step: step.id, description: described });
    if (last !== undefined && remaining.some((other) => other.at > at))
      edits.push({ op: 'move', step: step.id, after: last.id });
    remaining.push({ id: step.id, at });
  }
  const removals = steps.filter(({ id }) => !remaining.some((one) => one.id === id));
  const [first] = remaining;
  const additionsBelow = additions.filter(({ after }) => after !== undefined).toReversed();
  const additionsAbove = additions.filter(({ after }) => after === undefined);
  return [
    ...edits,
    ...removals.map(({ id }): StepEdit => ({ op: 'drop', step: id })),
    ...additionsBelow.map(({ description, after }): StepEdit => ({ op: 'add', description, after })),
    ...additionsAbove.map(({ description }): StepEdit => ({
      op: 'add',
      description,
      ...(first && { before: first.id }),
    })),
  ];
}
