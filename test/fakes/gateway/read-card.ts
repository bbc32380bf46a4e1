/** Parses a plan's card as users see it, to compare it with the plan. */
import {
  MAX_CORRECTIONS,
  type Plan,
  type PlanState,
  type PlanStep,
  type StepStatus,
} from '../../../src/protocol/agent/plan.ts';

/** The content of a card. */
export interface ReadCard {
  goal: string;
  state: PlanState;
  finished: number;
  steps: { mark: StepStatus; number: number; description: string; attempt: number; revision?: string }[];
  /** Undefined while nothing was corrected. */
  left?: number;
  reason?: string;
  /** The transient note, such as that a step is retried. */
  note?: string;
}

const MARKS: Record<string, StepStatus> = {
  '☐': 'pending',
  '▶': 'running',
  '✔': 'done',
  '✖': 'failed',
  '↷': 'skipped',
};
const STATES: Record<string, PlanState> = {
  '⏸ Paused · ': 'paused',
  '✔ Completed · ': 'completed',
  '✖ Cancelled · ': 'cancelled',
  '■ Ended · ': 'completed',
};

/** Parses a card. Throws if the text is not one. */
export function readCard(text: string): ReadCard {
  const [head = '', line = '', ...rest] = text.split('\n').filter((one) => one.trim() !== '');
  const [, state = '', finished = ''] = /^(\D* · |)(\d+) of \d+ steps? done$/.exec(line) ?? [];
  if (!head.startsWith('Plan: ') || finished === '') throw new Error(`no card: ${text}`);
  const card: ReadCard = {
    goal: head.slice('Plan: '.length),
    state: STATES[state] ?? 'running',
    finished: Number(finished),
    steps: [],
  };
  for (const one of rest) readLine(card, one);
  return card;
}

function readLine(card: ReadCard, line: string): void {
  const [, mark = '', number = '', description = '', attempt = '1'] =
    /^([☐▶✔✖↷]) (\d+)\. (.*?)(?: — \S+| — ◆ \S+)?(?: · attempt (\d+))?$/u.exec(line) ?? [];
  const status = MARKS[mark];
  const left = /^Corrections left: (\d+) of 10$/.exec(line)?.[1];
  const last = card.steps.at(-1);
  if (status !== undefined)
    card.steps.push({ mark: status, number: Number(number), description, attempt: Number(attempt) });
  else if (line.startsWith('↳ ') && last !== undefined) last.revision = line.slice(2);
  else if (left !== undefined) card.left = Number(left);
  else if (/^(⚡ )?(Step \d+ failed; thinking|Retrying step \d+)/u.test(line)) card.note = line;
  else card.reason = line;
}

/** The content that the card of a plan must have, without the transient note. */
export function cardOf(plan: Plan): ReadCard {
  const used = plan.steps.reduce((sum, { corrections }) => sum + corrections, 0);
  return {
    goal: plan.goal,
    state: plan.state,
    finished: plan.steps.filter(({ status }) => status === 'done' || status === 'skipped').length,
    steps: plan.steps.map(lineOf),
    ...(used > 0 && { left: MAX_CORRECTIONS - used }),
    ...(plan.reason !== undefined && { reason: plan.reason }),
  };
}

function lineOf({ status, index, description, attempts, revision }: PlanStep): ReadCard['steps'][number] {
  const line = { mark: status, number: index + 1, description, attempt: Math.max(1, attempts) };
  return { ...line, ...(revision !== undefined && { revision }) };
}
