/** Progress of a turn in its todo list, derived from its rows, so that a resumed turn counts the same. */
import { readTodos, type Todo } from '../../protocol/store/notes.ts';
import type { TurnRows } from '../state/turn-rows.ts';

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

/** One snapshot for each successful call of the tool in this turn, in order. */
function snapshotsOf(rows: TurnRows): TodoSnapshot[] {
  const snapshots: TodoSnapshot[] = [];
  for (const { iteration, entry } of rows.steps) {
    if (entry.kind !== 'tool_result' || entry.toolName !== TODO_TOOL || entry.isError) continue;
    const items = readTodos(entry.content);
    const before = snapshots.at(-1)?.items;
    // The list before the first call is unknown: anything but reading it counts as a change.
    const isRead = rows.answer(iteration)?.toolCalls[entry.callIndex]?.args['action'] === 'list';
    const progress = before === undefined ? !isRead : !sameTodos(before, items);
    const known = new Set(before?.filter(isFailed).map(({ text }) => text));
    const failed = progress ? items.filter((item) => isFailed(item) && !known.has(item.text)) : [];
    snapshots.push({ iteration, items, progress, failed: failed.map(({ text }) => text) });
  }
  return snapshots;
}

/** The list after the turn's last call; undefined when it has made none. */
export function newestTodos(rows: TurnRows): Todo[] | undefined {
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
