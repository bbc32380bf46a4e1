/** A plan as one message: its goal, its numbered steps with status and reason, the executor of each, what is left. Pure. */
import type { Paragraph, PhrasingContent, RootContent } from 'mdast';
import type { Rendered } from '../protocol/channel.ts';
import {
  correctionsLeft,
  endedEarly,
  MAX_CORRECTIONS,
  openStep,
  type Plan,
  type PlanStep,
  type StepStatus,
} from '../protocol/agent/plan.ts';
import { cutChunk, type RenderTarget, rootOf } from './text/cut.ts';
import { inEnglish, type Say } from '../protocol/texts/say.ts';
import { clipEnd, oneLine } from '../lib/text.ts';
import type { Button } from '../protocol/message.ts';
import { versionOf } from '../protocol/agent/plan-edits.ts';
import { planButtonValue, type StoredAction } from '../protocol/agent/plan-store.ts';

/** The marks of the steps. */
export const STEP_MARKS: Record<StepStatus, string> = {
  pending: '☐',
  running: '▶',
  done: '✔',
  failed: '✖',
  skipped: '↷',
};

/** Widths of the goal and steps, and of the reason for a correction, in UTF-16 units: the first set that fits is used. */
const WIDTHS: readonly Widths[] = [
  { text: 600, why: 300 },
  { text: 240, why: 240 },
  { text: 120, why: 120 },
  { text: 70, why: 70 },
  { text: 40, why: 40 },
  { text: 20, why: 20 },
  { text: 20, why: 0 },
];
/** Minimum width of the last lines, even if steps are cut shorter. */
const MIN_FOOT = 100;

interface Widths {
  text: number;
  /** None is shown if it is 0. */
  why: number;
}

/** The card in a channel's markup, never longer than one message; `note` is a last line about the current activity. */
export function renderPlan(plan: Plan, target: RenderTarget, note?: string, say: Say = inEnglish): Rendered {
  for (const widths of WIDTHS) {
    const body = target.render(rootOf(blocksOf(plan, plan.steps, widths, { note, say })));
    if (body.length <= target.maxLength) return body;
  }
  const least = WIDTHS.at(-1) ?? { text: 0, why: 0 };
  // Finished steps are left out to make room for the others.
  const open = plan.steps.filter(({ status }) => status !== 'done' && status !== 'skipped');
  return cutChunk(blocksOf(plan, open, least, { note, say }), target).chunk;
}

interface Words {
  note: string | undefined;
  say: Say;
}

function blocksOf(plan: Plan, steps: PlanStep[], widths: Widths, { note, say }: Words): RootContent[] {
  const goal = clip(plan.goal, widths.text);
  const head = [
    [{ type: 'strong' as const, children: [text(say('card.title', { goal }))] }],
    [text(stateLine(plan, say))],
  ];
  const lines = steps.flatMap((step) => [stepLine(step, widths.text, say), ...whyLine(step, widths.why)]);
  const foot = footLines(plan, Math.max(widths.text, MIN_FOOT), { note, say });
  return [head, lines, foot].filter(({ length }) => length > 0).map((part) => paragraph(...part));
}

/** The number of corrections left once one was made, why the plan was abandoned, and the note. */
function footLines(plan: Plan, width: number, { note, say }: Words): PhrasingContent[][] {
  const remaining = correctionsLeft(plan);
  const lines: PhrasingContent[][] = [];
  if (remaining < MAX_CORRECTIONS)
    lines.push([text(say('card.corrections', { left: remaining, most: MAX_CORRECTIONS }))]);
  const reason = plan.why === undefined ? plan.reason : say.text(plan.why);
  if (reason !== undefined) lines.push([text(clip(reason, width))]);
  if (note !== undefined) lines.push([{ type: 'emphasis', children: [text(clip(note, width))] }]);
  return lines;
}

/** Why a correction inserted, changed, repeated or dropped the step. */
function whyLine({ revision }: PlanStep, width: number): PhrasingContent[][] {
  return revision === undefined || width === 0 ? [] : [[text(`↳ ${clip(revision, width)}`)]];
}

function stateLine(plan: Plan, say: Say): string {
  const { state, steps } = plan;
  const over = steps.filter(({ status }) => status === 'done' || status === 'skipped').length;
  const progress = say('card.done', { done: over, count: steps.length });
  switch (state) {
    case 'stored':
      return storedLine(plan, say);
    case 'running':
      return progress;
    case 'paused':
      return say('card.paused', { progress });
    case 'completed':
      return say(endedEarly(plan) ? 'card.ended' : 'card.completed', { progress });
    case 'ignored':
      return say('card.ignored');
    case 'cancelled':
      return say('card.cancelled', { progress });
    default:
      return state satisfies never;
  }
}

function storedLine({ steps: { length }, runs = 0 }: Plan, say: Say): string {
  const steps = say('card.steps', { count: length });
  return runs === 0 ? say('card.not_started', { steps }) : say('card.runs', { steps, count: runs });
}

function stepLine(step: PlanStep, width: number, say: Say): PhrasingContent[] {
  const line = text(`${STEP_MARKS[step.status]} ${step.index + 1}. ${clip(step.description, width)}`);
  const label: PhrasingContent[] =
    step.status === 'running' ? [{ type: 'strong', children: [line] }] : [line];
  const attempt = step.attempts > 1 ? [text(` · ${say('card.attempt', { number: step.attempts })}`)] : [];
  return [...label, ...executor(step), ...attempt];
}

/** Executor of a step; the agent itself needs no name. */
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

function clip(value: string, width: number): string {
  return clipEnd(oneLine(value), width);
}

/**
 * The buttons of a running plan; the question of a paused one has Resume and Stop. Only agentic plans have more than
 * Stop: the model follows a planner's plan, and a teacher's plan asks about each step.
 */
export function planButtons(plan: Plan, say: Say = inEnglish): Button[] {
  if (plan.state === 'stored') return storedButtons(plan, say);
  if (plan.state !== 'running') return [];
  const { id: planId } = plan;
  const stop: Button = {
    label: say('button.stop'),
    value: planButtonValue({ planId, action: 'stop' }),
    style: 'danger',
  };
  if (plan.mode !== 'agentic') return [stop];
  const pause: Button = { label: say('card.pause'), value: planButtonValue({ planId, action: 'pause' }) };
  const step = openStep(plan);
  if (step === undefined) return [pause, stop];
  const value = planButtonValue({ planId, action: 'skip', stepId: step.id });
  return [pause, { label: say('card.skip', { number: step.index + 1 }), value }, stop];
}

/** The buttons of a stored plan: they act on the displayed version, and start the run after those that have begun. */
function storedButtons(plan: Plan, say: Say): Button[] {
  const { id: planId, runs = 0 } = plan;
  const now = { planId, version: versionOf(plan), run: runs + 1 };
  const press = (label: string, action: StoredAction, style?: Button['style']): Button => ({
    label,
    value: planButtonValue({ ...now, action }),
    ...(style && { style }),
  });
  return [
    press(say(runs === 0 ? 'card.run' : 'card.run_again'), 'start', 'confirm'),
    press(say('card.stepwise'), 'teach'),
    press(say('card.edit'), 'edit'),
    press(say('card.cancel'), 'cancel', 'danger'),
  ];
}

/** Equal for two cards exactly if no edit is needed to turn one into the other. */
export function lookOf({ text }: Rendered, buttons: readonly Button[]): string {
  return JSON.stringify([text, buttons]);
}
