/** The prompt of a call in a turn: what was said before it, its message with the plan, its steps so far, and the note. */
import type { TurnRows } from '../turn/turn-rows.ts';
import { fitPrompt, type FittedPrompt, type Prompt } from './context-window.ts';
import { type Group, mergeGroups, toGroups } from './history.ts';
import type { PromptStart } from './system-prompt.ts';

/** A plan up to this share of the budget is never dropped from the prompt. */
const PLAN_SHARE = 0.25;

/** What fits `budget`, the definitions of tools included. Throws as `fitPrompt` does. */
export function fitTurn(
  { history, rows }: { history: readonly Group[]; rows: TurnRows },
  note: Prompt['note'],
  { system, tools }: PromptStart,
  budget: number,
): FittedPrompt {
  const room = budget - tools.tokens;
  return fitPrompt({ system, history, ...ownGroups(rows, room * PLAN_SHARE), note }, room);
}

/** The turn's own groups. The plan stays with the message it was made for, unless it would leave too little room for the rest. */
function ownGroups(rows: TurnRows, planBudget: number): { current: Group; steps: Group[] } {
  const steps = toGroups(rows.steps, { thinking: true });
  const [current, ...plan] = toGroups(rows.plan === undefined ? [rows.user] : [rows.user, rows.plan], {
    thinking: false,
  });
  const small = mergeGroups(plan).tokens <= planBudget;
  return {
    current: mergeGroups(current === undefined ? [] : small ? [current, ...plan] : [current]),
    steps: small ? steps : [...plan, ...steps],
  };
}
