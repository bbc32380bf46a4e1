/** The steps of a plan as a form shows them, one per line, and the changes in the submitted form. Pure. */
import { GatewayError } from '../../contracts/errors.ts';
import type { Form } from '../../contracts/receive.ts';
import type { Plan, StepEdit } from '../../contracts/plans/plan.ts';
import { oneLine } from '../../lib/text.ts';
import type { AskedEdits } from './change-plan.ts';
import { type Say, textRef } from '../../contracts/texts/say.ts';

const STEPS = 'steps';
/** Longest text of the field; a longer plan is changed by a reply. */
export const MAX_FORM_CHARS = 4_000;

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

/**
 * The changes that someone made in the form. The result throws `GatewayError('plan_unchanged')` when there are none.
 */
export function askedInForm(fields: Readonly<Record<string, string>>): AskedEdits {
  return (plan) => {
    const edits = editsIn(fields[STEPS] ?? '', plan);
    if (edits.length > 0) return edits;
    throw new GatewayError('plan_unchanged', textRef('plan.form_same'));
  };
}

const NUMBERED = /^(\d{1,3}) ?[:.)] ?(\S.*)$/;

/** Lines with a known number are steps that stay, in the order of the lines; the others are new ones after the line above. */
function editsIn(text: string, { steps }: Plan): StepEdit[] {
  const kept: { id: string; at: number }[] = [];
  const edits: StepEdit[] = [];
  const added: { description: string; after: string | undefined }[] = [];
  for (const line of text.split('\n').map(oneLine)) {
    if (line === '') continue;
    const [, number, described = ''] = NUMBERED.exec(line) ?? [];
    const at = Number(number ?? 0) - 1;
    const step = steps[at];
    const last = kept.at(-1);
    if (step === undefined || kept.some(({ id }) => id === step.id)) {
      added.push({ description: step === undefined ? line : described, after: last?.id });
      continue;
    }
    if (described !== oneLine(step.description))
      edits.push({ op: 'reword', step: step.id, description: described });
    if (last !== undefined && kept.some((other) => other.at > at))
      edits.push({ op: 'move', step: step.id, after: last.id });
    kept.push({ id: step.id, at });
  }
  const gone = steps.filter(({ id }) => !kept.some((one) => one.id === id));
  const [first] = kept;
  const below = added.filter(({ after }) => after !== undefined).toReversed();
  const above = added.filter(({ after }) => after === undefined);
  return [
    ...edits,
    ...gone.map(({ id }): StepEdit => ({ op: 'drop', step: id })),
    ...below.map(({ description, after }): StepEdit => ({ op: 'add', description, after })),
    ...above.map(({ description }): StepEdit => ({
      op: 'add',
      description,
      ...(first && { before: first.id }),
    })),
  ];
}
