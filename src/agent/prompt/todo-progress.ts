/** Progress of a turn in its todo list, read from the journal, so that a resumed turn counts the same. */
import { readTodos } from '../../contracts/notes.ts';
import type { Todo } from '../../contracts/notes.ts';
import type { TurnRows } from '../state/turn-rows.ts';

/** The tool whose results carry the list. */
export const TODO_TOOL = 'todo';

/** The list as one call of the tool left it. */
interface TodoView {
  iteration: number;
  items: Todo[];
  /** The call changed the list. */
  progress: boolean;
  /** Texts of the items that failed with this call. */
  failed: string[];
}

/** One view for each successful call of the tool in this turn, in their order. */
function viewsOf(rows: TurnRows): TodoView[] {
  const views: TodoView[] = [];
  for (const { iteration, entry } of rows.steps) {
    if (entry.kind !== 'tool_result' || entry.toolName !== TODO_TOOL || entry.isError) continue;
    const items = readTodos(entry.content);
    const before = views.at(-1)?.items;
    // The list before the first call is unknown: anything but reading counts as a change.
    const looks = rows.answer(iteration)?.toolCalls[entry.callIndex]?.args['action'] === 'list';
    const progress = before === undefined ? !looks : !sameTodos(before, items);
    const known = new Set(before?.filter(isFailed).map(({ text }) => text));
    const failed = progress ? items.filter((item) => isFailed(item) && !known.has(item.text)) : [];
    views.push({ iteration, items, progress, failed: failed.map(({ text }) => text) });
  }
  return views;
}

/** The list as the turn last saw it; undefined when it has not looked. */
export function newestTodos(rows: TurnRows): Todo[] | undefined {
  return viewsOf(rows).at(-1)?.items;
}

/** Counts the iterations right before the n-th that brought no progress in the todo list (N-37, N-54). */
export function idleIterations(rows: TurnRows, n: number): number {
  const views = viewsOf(rows).filter(({ iteration, progress }) => progress && iteration < n);
  return n - 1 - (views.at(-1)?.iteration ?? 0);
}

/** Texts of the items that were marked failed in an iteration (N-39, N-54). */
export function failedIn(rows: TurnRows, iteration: number): string[] {
  return viewsOf(rows).flatMap((view) => (view.iteration === iteration ? view.failed : []));
}

/** Equal texts and statuses. */
function sameTodos(a: readonly Todo[], b: readonly Todo[]): boolean {
  return (
    a.length === b.length && a.every((item, at) => item.text === b[at]?.text && item.status === b[at]?.status)
  );
}

function isFailed({ status }: Todo): boolean {
  return status === 'failed';
}
