/** A message bus that runs nothing. */
import type { MessageBus } from '../../../src/protocol/bus.ts';
import { partial } from '../partial.ts';

/** A bus without capacity: what is queued stays queued. */
export function quietBus(change: Partial<MessageBus> = {}): MessageBus {
  const nothing = () => undefined;
  return partial({
    runHeads: nothing,
    claimingNode: nothing,
    notifyStop: nothing,
    sweepSoon: nothing,
    ...change,
  });
}
