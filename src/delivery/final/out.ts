/** The `out:` lanes: deliveries are made (T7), retried, or abandoned. */
import { LaneAbort, type LaneHandler, type LaneOutcome } from '../../protocol/bus.ts';
import { ChannelError, FencedError, type GatewayError, toGatewayError } from '../../protocol/errors.ts';
import { addressOf } from '../../protocol/message.ts';
import type { LaneHead, LaneStore } from '../../protocol/store/lanes.ts';
import type { DeliveryPayload, Ledger } from '../../protocol/store/ledger.ts';
import { deliver, type DeliverDeps } from './deliver.ts';
import {
  ambiguousPauseMs,
  ApologyShown,
  MAX_AMBIGUOUS_SENDS,
  pauseMs,
  waitFor,
  wakeUpAfter,
} from './giving-up.ts';
import { logFields, payloadShape, readPayload } from './payload.ts';

export interface OutDeps extends DeliverDeps {
  ledger: DeliverDeps['ledger'] & Pick<Ledger, 'enqueue'>;
  lanes: DeliverDeps['lanes'] & Pick<LaneStore, 'finish'>;
  /** In [0, 1). */
  random: () => number;
  onAmbiguousSend: () => void;
  /** Called for a delivery that was abandoned. */
  onDead(payload: DeliveryPayload, error: GatewayError): Promise<void>;
}

/** Creates the handler of `out:` lanes. */
export function createOut(deps: OutDeps): LaneHandler {
  return {
    maxAttempts: MAX_AMBIGUOUS_SENDS,
    async handle(head, signal) {
      try {
        return { kind: 'finished', step: await deliver(deps, head, signal) };
      } catch (thrown) {
        const error = toGatewayError(thrown);
        const outcome = outcomeOf(deps, head, error);
        if ('delayMs' in outcome) {
          const { attempts } = head;
          const { delayMs } = outcome;
          deps.log.info({ ...logFields(head), attempts, delayMs, err: error }, 'delivery_retried');
        }
        return outcome;
      }
    },
    async onDeadLetter(head, error) {
      const unreported = !(error instanceof ApologyShown) && !isWakeUp(head);
      const step = await deps.lanes.finish(head, error.message, unreported);
      await reportDead(deps, head, error);
      // A person who blocked the bot reads about it with the next answer; a wake-up would be refused, too.
      if (unreported && error.code !== 'blocked') await wakeUp(deps, head);
      return step;
    },
  };
}

/** Outcome of a head that could not be delivered now. Throws the error that turns it into a dead letter. */
function outcomeOf(deps: OutDeps, head: LaneHead, error: GatewayError): LaneOutcome {
  // Another node owns the head, or this one is closing: nothing is half done, and nothing more may be
  // written.
  if (error instanceof FencedError || error instanceof LaneAbort || error.code === 'closing')
    return { kind: 'released' };
  switch (error instanceof ChannelError ? error.code : undefined) {
    case 'rate_limited':
      return { kind: 'released', delayMs: error.retryAfterMs ?? pauseMs(head, deps.random) };
    case 'outcome_unknown':
      deps.onAmbiguousSend();
      return { kind: 'retry', error, delayMs: ambiguousPauseMs(head, deps.random) };
    case 'unavailable':
    case 'conflict':
    // A refused token may be accepted again: the channel keeps asking, and so does this delivery.
    case 'unauthorized':
      return waitFor(head, error, deps.random);
    default:
      if (error.retryable) return waitFor(head, error, deps.random);
      throw error;
  }
}

/** Queues a delivery that tells the chat about the dead letter; without it the chat is told with its next answer. */
async function wakeUp(deps: OutDeps, head: LaneHead): Promise<void> {
  try {
    const payload = wakeUpAfter(head);
    await deps.ledger.enqueue(addressOf(payload.message), payload);
  } catch (thrown) {
    deps.log.warn({ ...logFields(head), err: toGatewayError(thrown) }, 'dead_letter_wake_up_failed');
  }
}

/** True for a delivery without content that anyone could miss. */
function isWakeUp({ payload }: LaneHead): boolean {
  const { message, says } = payloadShape.safeParse(payload).data ?? {};
  return message?.content === '' && message.media.length === 0 && says === undefined;
}

/** Reports an abandoned delivery to its session; a failure to do so must not block the lane. */
async function reportDead(deps: OutDeps, head: LaneHead, error: GatewayError): Promise<void> {
  deps.log.error({ ...logFields(head), err: error }, 'delivery_dead');
  try {
    await deps.onDead(readPayload(head), error);
  } catch (thrown) {
    deps.log.warn({ ...logFields(head), err: toGatewayError(thrown) }, 'dead_delivery_notice_failed');
  }
}
