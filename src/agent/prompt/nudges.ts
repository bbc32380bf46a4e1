/** Nudges: notes in the gateway's own voice for one model call, never stored (N-44 to N-46). */
import { estimateTokens } from '../../lib/tokens.ts';
import { todoText } from '../../protocol/store/notes.ts';
import { typedText } from './marks.ts';
import type { TurnContext, TurnProgress } from '../state/turn-state.ts';
import { planCalls } from './plan-calls.ts';
import { failedIn, idleIterations, newestTodos, TODO_TOOL } from './todo-progress.ts';

/** Open todos that a reminder names. */
const MAX_NAMED = 5;

/** The parts of a turn, or of a subagent, that nudges read. */
export type Iterating = Pick<TurnContext, 'profile'> &
  Pick<TurnProgress, 'rows'> & { prepared: { tools: Pick<TurnContext['prepared']['tools'], 'has'> } };

/**
 * The notes of the n-th iteration, in this order: when and where, budget, plan, goal, stall warning, request for a new
 * plan. All but the first, `environmentNote`, are derived from the turn's rows. Never throws. They come after the
 * conversation, so that the part of the prompt before a new message is the same in every call and a model server need
 * not read it again; on the wire they stand between marks at the end of its last message (`src/providers/shape/`).
 */
export function notesFor(
  turn: Iterating,
  n: number,
  environmentNote: string,
): { content: string; tokens: number } {
  const due = [
    environmentNote,
    budgetNote(turn, n),
    planNote(turn, n),
    goalNote(turn, n),
    stallNote(turn, n),
    replanNote(turn, n),
  ];
  const content = due.filter((note) => note !== undefined && note !== '').join('\n\n');
  return { content, tokens: estimateTokens(content) };
}

/** The number of iterations that are left (N-32). */
function budgetNote({ profile }: Iterating, n: number): string | undefined {
  if (!profile.iterationBudgetEnabled) return undefined;
  const max = profile.maxIterations;
  return `Iterations left in this turn, this one included: ${max - n + 1} of ${max}.`;
}

/**
 * After a plan was made, or was asked for. It is the model's own text: without this note some models would continue writing
 * it instead of acting.
 */
function planNote({ rows, prepared }: Iterating, n: number): string | undefined {
  const [first, ...later] = planCalls(rows);
  const list = prepared.tools.has(TODO_TOOL) ? ' Keep the todo list up to date as you go.' : '';
  if (n === (first?.iteration ?? 0) + 1) {
    if (rows.plan !== undefined)
      return `Carry out your plan now, step by step, beginning with step 1.${list}`;
    return first === undefined ? undefined : 'No plan was made: do what was asked without one.';
  }
  if (!later.some(({ iteration }) => iteration === n - 1)) return undefined;
  return 'This turn already had its plan: change the todo list instead, and continue.';
}

/** The goal, every `goalAnchoringInterval` iterations (N-34, N-35). The user's text is quoted, so that it is not taken for an instruction of the system. */
function goalNote({ profile, rows }: Iterating, n: number): string | undefined {
  if (!profile.goalAnchoringEnabled || n % profile.goalAnchoringInterval !== 0) return undefined;
  const { entry } = rows.user;
  // Text of others is not repeated in a note of the system, not even in quotes.
  const isTheirs = entry.kind === 'user' && (entry.author !== undefined || entry.sources === undefined);
  const goal = isTheirs ? JSON.stringify(todoText(typedText(entry))) : 'what the message of this turn says';
  const open = (newestTodos(rows) ?? []).filter(
    ({ status }) => status === 'pending' || status === 'in_progress',
  );
  const named = open.slice(0, MAX_NAMED).map(({ text }) => JSON.stringify(text));
  const rest = open.length > MAX_NAMED ? `, and ${open.length - MAX_NAMED} more` : '';
  const todos = named.length === 0 ? '' : ` Still open in the todo list: ${named.join(', ')}${rest}.`;
  return `Keep to the goal. The user asked: ${goal}.${todos} Is what you do next the shortest way there?`;
}

/** A warning after each `antiStallThreshold` iterations without progress in the todo list (N-36, N-37). */
function stallNote({ profile, rows, prepared }: Iterating, n: number): string | undefined {
  if (!profile.antiStallEnabled) return undefined;
  const idle = idleIterations(rows, n);
  if (idle === 0 || idle % profile.antiStallThreshold !== 0) return undefined;
  const [where, mark] = prepared.tools.has(TODO_TOOL)
    ? [' in the todo list', 'mark what is done or failed, ']
    : ['', ''];
  return (
    `You have gone ${idle} iterations without progress${where}. Do not repeat what did not help: ${mark}try another way, ` +
    'or answer with what you have and say what is missing.'
  );
}

/** A request for a new plan when a todo failed in the previous iteration (N-39). */
function replanNote({ profile, rows }: Iterating, n: number): string | undefined {
  if (!profile.adaptiveReplanEnabled) return undefined;
  const failed = failedIn(rows, n - 1).slice(0, MAX_NAMED);
  if (failed.length === 0) return undefined;
  const named = failed.map((text) => JSON.stringify(text)).join(', ');
  return (
    `Failed: ${named}. Before you continue, work out why, and make a new plan: replace the todo list with steps that still reach ` +
    'the goal, keeping what is done.'
  );
}
