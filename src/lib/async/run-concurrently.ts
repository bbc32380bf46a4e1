/** Tasks that run concurrently, a few at once, and end together when one of them fails. */

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
