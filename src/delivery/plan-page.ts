/** A plan as one message: its goal, its numbered steps with how each stands, and who carries it out. Pure. */
import type { Paragraph, PhrasingContent, RootContent } from 'mdast';
import type { Rendered } from '../channel.ts';
import type { Plan, PlanStep, StepStatus } from '../plan.ts';
import { cutPage, rootOf } from './cut.ts';
import type { Sheet } from './cut.ts';

/** The marks of the steps. */
export const STEP_MARKS: Record<StepStatus, string> = {
  pending: '☐',
  running: '▶',
  done: '✔',
  failed: '✖',
  skipped: '↷',
};

/** How much of goal, steps and note is shown, in UTF-16 units: the first that fits the message. */
const WIDTHS = [600, 240, 120, 70, 40, 20];

/** Where the ref of a plan's card stands among the deliveries. */
export function cardRef(planId: string): string {
  return `plan:${planId}`;
}

/** The card in a channel's markup, never longer than its message; `note` is a last line about this moment. */
export function planPage(plan: Plan, sheet: Sheet, note?: string): Rendered {
  for (const width of WIDTHS) {
    const page = sheet.render(rootOf(blocksOf(plan, plan.steps, width, note)));
    if (page.length <= sheet.maxLength) return page;
  }
  const width = WIDTHS.at(-1) ?? 0;
  // What is over makes room for what is to come.
  const open = plan.steps.filter(({ status }) => status !== 'done' && status !== 'skipped');
  return cutPage(blocksOf(plan, open, width, note), sheet).page;
}

function blocksOf(plan: Plan, steps: PlanStep[], width: number, note: string | undefined): RootContent[] {
  const goal = clip(plan.goal, width);
  const head = paragraph([{ type: 'strong', children: [text(`Plan: ${goal}`)] }], [text(stateLine(plan))]);
  const lines = paragraph(...steps.map((step) => stepLine(step, width)));
  const foot: RootContent[] =
    note === undefined ? [] : [paragraph([{ type: 'emphasis', children: [text(clip(note, width))] }])];
  return [head, ...(steps.length === 0 ? [] : [lines]), ...foot];
}

function stateLine({ state, steps }: Plan): string {
  const over = steps.filter(({ status }) => status === 'done' || status === 'skipped').length;
  const count = `${over} of ${steps.length} ${steps.length === 1 ? 'step' : 'steps'} done`;
  switch (state) {
    case 'running':
      return count;
    case 'paused':
      return `⏸ Paused · ${count}`;
    case 'completed':
      return `✔ Completed · ${count}`;
    case 'cancelled':
      return `✖ Cancelled · ${count}`;
    default:
      return state satisfies never;
  }
}

function stepLine(step: PlanStep, width: number): PhrasingContent[] {
  const said = text(`${STEP_MARKS[step.status]} ${step.index + 1}. ${clip(step.description, width)}`);
  const shown: PhrasingContent[] =
    step.status === 'running' ? [{ type: 'strong', children: [said] }] : [said];
  const again = step.attempts > 1 ? [text(` · attempt ${step.attempts}`)] : [];
  return [...shown, ...executor(step), ...again];
}

/** Who carries a step out; the agent itself needs no name. */
function executor({ executor: by }: PlanStep): PhrasingContent[] {
  switch (by.kind) {
    case 'tool':
      return [text(' — '), { type: 'inlineCode', value: clip(by.tool, 60) }];
    case 'agent':
      return [text(` — ◆ ${clip(by.profileId, 60)}`)];
    case 'self':
      return [];
    default:
      return by satisfies never;
  }
}

function paragraph(...lines: PhrasingContent[][]): Paragraph {
  const children = lines.flatMap((line, n) => (n === 0 ? line : [{ type: 'break' as const }, ...line]));
  return { type: 'paragraph', children };
}

function text(value: string): PhrasingContent {
  return { type: 'text', value };
}

function clip(words: string, width: number): string {
  const line = words.replaceAll(/\s+/g, ' ').trim();
  return line.length <= width ? line : `${line.slice(0, width - 1).toWellFormed()}…`;
}
