/** Events from inside a promise: what a tool, or a call that waits, has to say before it ends (N-56). */
import type { EventBody } from '../../contracts/event.ts';
import { MAX_WAITING_EVENTS } from '../deps.ts';

/** Passes on what `work` emits while it runs; gives its result, or throws what it rejects with. */
export async function* whileRunning<T>(
  work: (emit: (body: EventBody) => void) => Promise<T>,
): AsyncGenerator<EventBody, T> {
  const waiting: EventBody[] = [];
  let news = Promise.withResolvers<void>();
  const running = work((body) => {
    if (waiting.length < MAX_WAITING_EVENTS) waiting.push(body);
    news.resolve();
  });
  const ended = running.then(() => true);
  for (;;) {
    const done = await Promise.race([ended, news.promise]);
    news = Promise.withResolvers<void>();
    yield* waiting.splice(0);
    if (done === true) return await running;
  }
}
