/** Work that runs concurrently, a few pieces at once. */

/**
 * Runs the tasks concurrently, at most `width` at once. When one of them throws, `onFailure` is called, no further task
 * starts, the running ones are awaited, and the first error is thrown.
 */
export async function runConcurrently(
  tasks: readonly (() => Promise<void>)[],
  width: number,
  onFailure: () => void,
): Promise<void> {
  const waiting = tasks.values();
  const failures: unknown[] = [];
  const work = async (): Promise<void> => {
    for (const task of waiting) {
      if (failures.length > 0) return;
      try {
        await task();
      } catch (error) {
        failures.push(error);
        onFailure();
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, tasks.length) }, work));
  if (failures.length > 0) throw failures[0];
}

/**
 * Calls `act` for every item, for at most `width` of them at once. What fails keeps the rest from starting only once `width`
 * items have failed; when nothing runs any more, the first error is thrown.
 */
export async function forEachConcurrently<T>(
  items: Iterable<T>,
  width: number,
  act: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = items[Symbol.iterator]();
  const work = async (): Promise<void> => {
    for (let next = waiting.next(); next.done !== true; next = waiting.next()) await act(next.value);
  };
  const results = await Promise.allSettled(Array.from({ length: width }, work));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}
