/** Changes of a plan as people write them in a chat: one per line, with the numbers that the card shows. */
import type { Plan, StepEdit } from '../../protocol/agent/plan.ts';
import { MAX_STEP_EDITS } from '../../protocol/agent/plan-edits.ts';
import { type Say, textRef, type TextRef } from '../../protocol/texts/say.ts';
import type { SessionKey } from '../../protocol/message.ts';
import type { PlanStore } from '../../protocol/agent/plan-store.ts';
import { escapeMarkdown } from '../../lib/markdown/references.ts';
import { clipEnd, oneLine } from '../../lib/text.ts';

/** How to write changes, for people. */
export function editHelp(say: Say): string {
  return [say('plan.edit_drop'), say('plan.edit_move'), say('plan.edit_reword'), say('plan.edit_add')].join(
    '\n',
  );
}

/** What was read: the changes, or a sentence about the line that was not understood. */
export type ReadEdits = { edits: StepEdit[] } | { problem: TextRef };

/** Longest part of a line that an answer repeats, in UTF-16 units. */
const SHOWN = 80;

const BEGINS = String.raw`(?:\d{1,3}\b|add\b|drop\b|move\b)`;
const BETWEEN = new RegExp(String.raw`\n|;\s{0,9}(?=${BEGINS})`, 'i');
const LIKE_A_CHANGE = new RegExp(`^${BEGINS}`, 'i');
const DROP = /^(?:(?:drop|delete|remove) (\d{1,3})|(\d{1,3}) (?:drop|delete|remove))\.?$/i;
const MOVE = /^(?:move )?(\d{1,3}) (before|after) (\d{1,3})\.?$/i;
const REWORD = /^(\d{1,3}) ?: ?(\S.*)$/;
const ADD = /^add(?: (before|after) (\d{1,3}))? ?: ?(\S.*)$/i;

/** True for a text whose first line starts like a change. */
export function looksLikeEdits(text: string): boolean {
  return LIKE_A_CHANGE.test(text.trim());
}

/** Reads the lines; numbers are those of the plan before all of the changes. Never throws. */
export function readEdits(text: string, plan: Plan): ReadEdits {
  const lines = text
    .split(BETWEEN)
    .map((line) => line.replaceAll(/\s+/g, ' ').trim())
    .filter((line) => line !== '');
  if (lines.length === 0) return { problem: textRef('edit.none') };
  if (lines.length > MAX_STEP_EDITS)
    return { problem: textRef('edit.too_many', { most: MAX_STEP_EDITS, changes: lines.length }) };
  const edits: StepEdit[] = [];
  for (const line of lines) {
    const read = readLine(line, plan);
    if ('problem' in read) return read;
    edits.push(read.edit);
  }
  return { edits };
}

function readLine(line: string, { steps }: Plan): { edit: StepEdit } | { problem: TextRef } {
  const idOf = (number: string | undefined): string | undefined => steps[Number(number) - 1]?.id;
  const missing = (number = '') => ({
    problem: textRef('edit.no_number', { number, steps: steps.length }),
  });
  const [drops, dropNumber = drops?.[1]] = [DROP.exec(line), DROP.exec(line)?.[2]];
  if (dropNumber !== undefined) {
    const step = idOf(dropNumber);
    return step === undefined ? missing(dropNumber) : { edit: { op: 'drop', step } };
  }
  const [, moveNumber, side = '', targetNumber] = MOVE.exec(line) ?? [];
  if (moveNumber !== undefined) {
    const [step, target] = [idOf(moveNumber), idOf(targetNumber)];
    if (step === undefined) return missing(moveNumber);
    if (target === undefined) return missing(targetNumber);
    const edit = side.toLowerCase() === 'before' ? { before: target } : { after: target };
    return { edit: { op: 'move', step, ...edit } };
  }
  const [, reworded, text = ''] = REWORD.exec(line) ?? [];
  if (reworded !== undefined) {
    const step = idOf(reworded);
    return step === undefined ? missing(reworded) : { edit: { op: 'reword', step, description: text } };
  }
  const [, where, at, description] = ADD.exec(line) ?? [];
  if (description === undefined) return { problem: textRef('edit.unclear', { line: clip(line) }) };
  if (where === undefined) return { edit: { op: 'add', description } };
  const target = idOf(at);
  if (target === undefined) return missing(at);
  const place = where.toLowerCase() === 'before' ? { before: target } : { after: target };
  return { edit: { op: 'add', description, ...place } };
}

function clip(line: string): string {
  return line.length <= SHOWN ? line : `${line.slice(0, SHOWN).toWellFormed()}…`;
}

const PLANS_LISTED = 10;

/** Longest goal in the list, in UTF-16 units. */
const GOAL_SHOWN = 100;

/** What people read after a change: the current steps. */
export function describeChange(plan: Plan, say: Say): string {
  const heading = say(plan.state === 'running' ? 'plan.changed_next' : 'plan.changed');
  return `${heading}\n\n${describePlan(plan, say)}`;
}

/** A plan as a list in Markdown. */
export function describePlan(plan: Plan, say: Say): string {
  const steps = plan.steps.map(({ index, description }) => `${index + 1}. ${escaped(description)}`);
  return [
    `**${escaped(clipEnd(oneLine(plan.goal), GOAL_SHOWN))}** (${stateOf(plan, say)})`,
    steps.join('\n'),
  ].join('\n\n');
}

/** The list that `/plans` shows. Throws `StoreError`. */
export async function listPlans(plans: PlanStore, session: SessionKey, say: Say): Promise<string> {
  const listed = await plans.plans(session, PLANS_LISTED);
  const [newest] = listed;
  if (newest === undefined) return say('plan.none');
  const older = newest.number - listed.length;
  const lines = listed.map(({ record: { plan: one }, number }) => {
    const goal = escaped(clipEnd(oneLine(one.goal), GOAL_SHOWN));
    return say('plan.line', { number, goal, count: one.steps.length, state: stateOf(one, say) });
  });
  const more = older > 0 ? [say('plan.older', { count: older })] : [];
  const rerunHint = say('plan.run_again', { number: newest.number });
  return [lines.join('\n'), ...more, rerunHint].join('\n\n');
}

function stateOf({ state, runs = 0 }: Plan, say: Say): string {
  if (runs > 0) return say('plan.run_times', { count: runs });
  return say(state === 'cancelled' ? 'plan.state_cancelled' : `plan.${state}`);
}

/** Goals and descriptions are plain text. */
function escaped(text: string): string {
  return escapeMarkdown(oneLine(text));
}
