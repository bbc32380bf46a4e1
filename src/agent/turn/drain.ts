/** Reads what is told event by event to its end. */
import type { EventBody } from '../../contracts/event.ts';

/** Gives the result; `watch` sees the events. Throws what `events` throws. */
export async function drain<T>(
  events: AsyncGenerator<EventBody, T>,
  watch?: (body: EventBody) => void,
): Promise<T> {
  for (;;) {
    const next = await events.next();
    if (next.done === true) return next.value;
    watch?.(next.value);
  }
}
