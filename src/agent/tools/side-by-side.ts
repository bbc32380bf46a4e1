/** Several streams of events as one: calls that do not wait for each other. */

/**
 * Runs the streams at the same time, at most `width` at once, and passes their values on in the order they come. When
 * one of them throws, `leave` is called, no further one begins, the others are read to their end, and the first error is
 * thrown.
 */
export async function* sideBySide<T>(
  streams: readonly (() => AsyncGenerator<T, void>)[],
  width: number,
  leave: () => void,
): AsyncGenerator<T, void> {
  const waiting = [...streams];
  const running = new Map<AsyncGenerator<T, void>, Promise<Step<T>>>();
  const failures: Error[] = [];
  for (;;) {
    while (failures.length === 0 && running.size < width && waiting.length > 0) advance(waiting.shift()!());
    if (running.size === 0) break;
    const step = await Promise.race(running.values());
    running.delete(step.stream);
    if ('error' in step) {
      failures.push(step.error);
      leave();
    } else if (step.result.done !== true) {
      yield step.result.value;
      advance(step.stream);
    }
  }
  const [first] = failures;
  if (first !== undefined) throw first;

  function advance(stream: AsyncGenerator<T, void>): void {
    running.set(
      stream,
      stream.next().then(
        (result) => ({ stream, result }),
        (error: unknown) => ({ stream, error: error instanceof Error ? error : new Error(String(error)) }),
      ),
    );
  }
}

type Step<T> =
  | { stream: AsyncGenerator<T, void>; result: IteratorResult<T, void> }
  | { stream: AsyncGenerator<T, void>; error: Error };
