/** A clock for the channel's calls that knows how many of them wait. */
import type { Clock } from '../../../src/lib/clock.ts';
import type { FakeClock } from '../../fakes/clock.ts';

/** The clock to create a channel with, and how many of its calls have no answer yet. */
export function countCalls(clock: FakeClock): { clock: Clock; waiting: () => number } {
  let waiting = 0;
  const after: Clock['after'] = (ms, ring) => {
    waiting += 1;
    const cancel = clock.after(ms, ring);
    return () => {
      waiting -= 1;
      cancel();
    };
  };
  const own = { epochMs: () => clock.epochMs(), monotonicMs: () => clock.monotonicMs(), after };
  return { clock: own, waiting: () => waiting };
}
