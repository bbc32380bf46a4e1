/** Nudges: notes in the gateway's own voice for one model call, never stored (N-44 to N-46). */
import { estimateTokens } from '../../lib/text.ts';
import { readTodos, type Todo, todoText } from '../../protocol/store/notes.ts';
import { typedText } from './marks.ts';
import type { TurnRows } from '../turn/turn-rows.ts';
import { PLAN_TOOL, type Profile } from '../../protocol/agent/profile.ts';

/** The tool whose results contain the list. */
export const TODO_TOOL = 'todo';

/** The list after one call of the tool. */
interface TodoSnapshot {
  iteration: number;
  items: Todo[];
  /** The call changed the list. */
  progress: boolean;
  /** Texts of the items that failed with this call. */
  failed: string[];
}

/** What notes are made for: a turn, or its replay. */
interface Noted {
  profile: Profile;
  rows: TurnRows;
  /** Tells whether a tool is offered. */
  prepared: { tools: { has(name: string): boolean } };
}

/** Open todos that a reminder names. */
const MAX_NAMED = 5;

/**
 * The notes of the n-th iteration, in this order: when and where, budget, plan, goal, stall warning, request for a new
 * plan. All but the first, `environmentNote`, are derived from the turn's rows. Never throws. They come after the
 * conversation, so that the part of the prompt before a new message is the same in every call and a model server need
 * not read it again; on the wire they stand between marks at the end of its last message (`src/providers/shape.ts`).
 */
export function notesFor(
  turn: Noted,
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
function budgetNote({ profile }: Noted, n: number): string | undefined {
  if (!profile.iterationBudgetEnabled) return undefined;
  const max = profile.maxIterations;
  return `Iterations left in this turn, this one included: ${max - n + 1} of ${max}.`;
}

/**
 * After a plan was made, or was asked for. It is the model's own text: without this note some models would continue writing
 * it instead of acting.
 */
function planNote({ rows, prepared }: Noted, n: number): string | undefined {
  const [first, ...rest] = planCalls(rows);
  const list = prepared.tools.has(TODO_TOOL) ? ' Keep the todo list up to date as you go.' : '';
  if (n === (first?.iteration ?? 0) + 1) {
    if (rows.plan !== undefined)
      return `Carry out your plan now, step by step, beginning with step 1.${list}`;
    return first === undefined ? undefined : 'No plan was made: do what was asked without one.';
  }
  if (!rest.some(({ iteration }) => iteration === n - 1)) return undefined;
  return 'This turn already had its plan: change the todo list instead, and continue.';
}

/** The goal, every `goalAnchoringInterval` iterations (N-34, N-35). The user's text is quoted, so that it is not taken for an instruction of the system. */
function goalNote({ profile, rows }: Noted, n: number): string | undefined {
  if (!profile.goalAnchoringEnabled || n % profile.goalAnchoringInterval !== 0) return undefined;
  const { entry } = rows.user;
  // Text of others is not repeated in a note of the system, not even in quotes.
  const isTheirs = entry.kind === 'user' && (entry.author !== undefined || entry.sources === undefined);
  const goal = isTheirs ? JSON.stringify(todoText(typedText(entry))) : 'what the message of this turn says';
  const open = (newestTodos(rows) ?? []).filter(
    ({ status }) => status === 'pending' || status === 'in_progress',
  );
  const texts = open.slice(0, MAX_NAMED).map(({ text }) => JSON.stringify(text));
  const rest = open.length > MAX_NAMED ? `, and ${open.length - MAX_NAMED} more` : '';
  const todos = texts.length === 0 ? '' : ` Still open in the todo list: ${texts.join(', ')}${rest}.`;
  return `Keep to the goal. The user asked: ${goal}.${todos} Is what you do next the shortest way there?`;
}

/** A warning after each `antiStallThreshold` iterations without progress in the todo list (N-36, N-37). */
function stallNote({ profile, rows, prepared }: Noted, n: number): string | undefined {
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
function replanNote({ profile, rows }: Noted, n: number): string | undefined {
  if (!profile.adaptiveReplanEnabled) return undefined;
  const failures = failedIn(rows, n - 1).slice(0, MAX_NAMED);
  if (failures.length === 0) return undefined;
  const list = failures.map((text) => JSON.stringify(text)).join(', ');
  return (
    `Failed: ${list}. Before you continue, work out why, and make a new plan: replace the todo list with steps that still reach ` +
    'the goal, keeping what is done.'
  );
}

/** The calls that asked for a plan and were run, in order. */
export function planCalls(rows: TurnRows): { iteration: number; goal: string }[] {
  return rows.steps.flatMap(({ iteration, entry }) => {
    if (entry.kind !== 'tool_result' || entry.toolName !== PLAN_TOOL || entry.isError) return [];
    const goal = rows.answer(iteration)?.toolCalls[entry.callIndex]?.args['goal'];
    return typeof goal === 'string' ? [{ iteration, goal }] : [];
  });
}

/** One snapshot for each successful call of the tool in this turn, in order. */
function snapshotsOf(rows: TurnRows): TodoSnapshot[] {
  const snapshots: TodoSnapshot[] = [];
  for (const { iteration, entry } of rows.steps) {
    if (entry.kind !== 'tool_result' || entry.toolName !== TODO_TOOL || entry.isError) continue;
    const items = readTodos(entry.content);
    const previous = snapshots.at(-1)?.items;
    // The list before the first call is unknown: anything but reading it counts as a change.
    const isRead = rows.answer(iteration)?.toolCalls[entry.callIndex]?.args['action'] === 'list';
    const progress = previous === undefined ? !isRead : !sameTodos(previous, items);
    const earlierFailures = new Set(previous?.filter(isFailed).map(({ text }) => text));
    const failures = progress
      ? items.filter((item) => isFailed(item) && !earlierFailures.has(item.text))
      : [];
    snapshots.push({ iteration, items, progress, failed: failures.map(({ text }) => text) });
  }
  return snapshots;
}

/** The list after the turn's last call; undefined when it has made none. */
function newestTodos(rows: TurnRows): Todo[] | undefined {
  return snapshotsOf(rows).at(-1)?.items;
}

/** The number of iterations right before the n-th without progress in the todo list (N-37, N-54). */
export function idleIterations(rows: TurnRows, n: number): number {
  const snapshots = snapshotsOf(rows).filter(({ iteration, progress }) => progress && iteration < n);
  return n - 1 - (snapshots.at(-1)?.iteration ?? 0);
}

/** Texts of the items that were marked as failed in an iteration (N-39, N-54). */
export function failedIn(rows: TurnRows, iteration: number): string[] {
  return snapshotsOf(rows).flatMap((one) => (one.iteration === iteration ? one.failed : []));
}

/** True for equal texts and statuses. */
function sameTodos(a: readonly Todo[], b: readonly Todo[]): boolean {
  return (
    a.length === b.length && a.every((item, at) => item.text === b[at]?.text && item.status === b[at]?.status)
  );
}

function isFailed({ status }: Todo): boolean {
  return status === 'failed';
}
