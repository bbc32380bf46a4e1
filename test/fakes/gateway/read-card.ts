/** A plan's card read back from a screen, to be compared with the plan it should show. */
import { MAX_CORRECTIONS } from '../../../src/contracts/plan.ts';
import type { Plan, PlanState, PlanStep, StepStatus } from '../../../src/contracts/plan.ts';

/** What a card says, however it is written. */
export interface ReadCard {
  goal: string;
  state: PlanState;
  over: number;
  steps: { mark: StepStatus; number: number; words: string; attempt: number; revision?: string }[];
  /** Undefined while nothing was corrected. */
  left?: number;
  reason?: string;
  /** What passes at this moment. */
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
};

/** Reads a card as people see it. Throws when it is none. */
export function readCard(text: string): ReadCard {
  const [head = '', line = '', ...rest] = text.split('\n').filter((one) => one.trim() !== '');
  const [, state = '', over = ''] = /^(\D* · |)(\d+) of \d+ steps? done$/.exec(line) ?? [];
  if (!head.startsWith('Plan: ') || over === '') throw new Error(`no card: ${text}`);
  const card: ReadCard = {
    goal: head.slice('Plan: '.length),
    state: STATES[state] ?? 'running',
    over: Number(over),
    steps: [],
  };
  for (const one of rest) readLine(card, one);
  return card;
}

function readLine(card: ReadCard, line: string): void {
  const [, mark = '', number = '', words = '', attempt = '1'] =
    /^([☐▶✔✖↷]) (\d+)\. (.*?)(?: — \S+| — ◆ \S+)?(?: · attempt (\d+))?$/u.exec(line) ?? [];
  const status = MARKS[mark];
  const left = /^Corrections left: (\d+) of 10$/.exec(line)?.[1];
  const last = card.steps.at(-1);
  if (status !== undefined)
    card.steps.push({ mark: status, number: Number(number), words, attempt: Number(attempt) });
  else if (line.startsWith('↳ ') && last !== undefined) last.revision = line.slice(2);
  else if (left !== undefined) card.left = Number(left);
  else if (/^(⚡ )?Step \d+ (failed; thinking|is tried again)/u.test(line)) card.note = line;
  else card.reason = line;
}

/** What the card of a plan has to say, but for what passes. */
export function cardOf(plan: Plan): ReadCard {
  const used = plan.steps.reduce((sum, { corrections }) => sum + corrections, 0);
  return {
    goal: plan.goal,
    state: plan.state,
    over: plan.steps.filter(({ status }) => status === 'done' || status === 'skipped').length,
    steps: plan.steps.map(lineOf),
    ...(used > 0 && { left: MAX_CORRECTIONS - used }),
    ...(plan.reason !== undefined && { reason: plan.reason }),
  };
}

function lineOf({ status, index, description, attempts, revision }: PlanStep): ReadCard['steps'][number] {
  const line = { mark: status, number: index + 1, words: description, attempt: Math.max(1, attempts) };
  return { ...line, ...(revision !== undefined && { revision }) };
}
