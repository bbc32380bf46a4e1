/** Work that runs concurrently, a few pieces at once. */

/**
 * Calls `act` for every item, at most `width` at once. After `width` failures no further item starts. Throws the first
 * error once nothing runs any more.
 */
export async function forEachConcurrently<T>(
  items: Iterable<T>,
  width: number,
  act: (item: T) => Promise<void>,
): Promise<void> {
  const iterator = items[Symbol.iterator]();
  const failures: unknown[] = [];
  const work = async (): Promise<void> => {
    try {
      for (let next = iterator.next(); next.done !== true; next = iterator.next()) await act(next.value);
    } catch (error) {
      failures.push(error);
    }
  };
  await Promise.all(Array.from({ length: width }, work));
  if (failures.length > 0) throw failures[0];
}

/**
 * Runs the tasks, at most `width` at once. After a failure `onFailure` is called and no further task starts; the first
 * error is thrown once the running ones have ended.
 */
export async function runConcurrently(
  tasks: readonly (() => Promise<void>)[],
  width: number,
  onFailure: () => void,
): Promise<void> {
  let hasFailed = false;
  await forEachConcurrently(tasks, width, async (task) => {
    if (hasFailed) return;
    try {
      await task();
    } catch (error) {
      hasFailed = true;
      onFailure();
      throw error;
    }
  });
}
