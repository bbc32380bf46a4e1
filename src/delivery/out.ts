/** The `out:` lanes: the final text replaces what grew on screen, or is sent (T7). */
import type { LaneHandler, LaneOutcome } from '../contracts/bus.ts';
import { LaneAbort } from '../contracts/bus.ts';
import type { Channel } from '../contracts/channel.ts';
import { ChannelError, FencedError, GatewayError, toGatewayError } from '../contracts/errors.ts';
import type { LaneHead, LaneStep, LaneStore } from '../contracts/lanes.ts';
import type { DeliveryPayload, Ledger } from '../contracts/ledger.ts';
import { backoffMs } from '../lib/backoff.ts';
import type { Log } from '../contracts/log.ts';
import type { SentMessage } from '../contracts/message.ts';
import type { ChatMigration } from '../contracts/message.ts';
import { chunksOf } from './text/chunker.ts';
import { payloadShape, readPayload } from './payload.ts';
import { PartDelivery } from './part-delivery.ts';
import { lastCard } from './plans/plan-cards.ts';
import type { LastCardDeps } from './plans/plan-cards.ts';
import type { Scheduler } from './scheduler.ts';

/** First wait after a platform failed, in milliseconds; each further one is twice as long, up to the cap. */
export const RETRY_BASE_MS = 2_000;
export const RETRY_CAP_MS = 600_000;

/** With the waits above a platform may be unavailable for about a day before a delivery is given up. */
export const MAX_DELIVERY_ATTEMPTS = 150;

/** Sends of one delivery whose answers may be lost: each of them may be visible twice. */
export const MAX_AMBIGUOUS_ATTEMPTS = 5;

/** Text of a message that the final answer no longer needs: not every platform can delete messages. */
const SURPLUS_TEXT = '…';

export interface OutDeps {
  channels: Map<string, Channel>;
  schedulerOf(channel: Channel): Scheduler;
  ledger: Pick<Ledger, 'sentParts' | 'noteSent' | 'finishDelivery' | 'sessionOf'>;
  lanes: Pick<LaneStore, 'finish'>;
  /** Removes and gives the texts that a turn's messages are certain to show. */
  removeShown: (ref: string) => readonly (string | undefined)[];
  /** Brings the card of a turn's plan up to date. */
  card: LastCardDeps;
  log: Log;
  /** In [0, 1). */
  random: () => number;
  /** Lets others run while a long text is cut. */
  yieldToEventLoop: () => Promise<void>;
  onAmbiguousSend: () => void;
  /** Called for a chat that has a new id. */
  onChatMoved: (move: ChatMigration) => void;
  /** Called for a delivery that was given up. */
  onDead(payload: DeliveryPayload, error: GatewayError): Promise<void>;
}

/** Makes the handler of `out:` lanes. */
export function createOut(deps: OutDeps): LaneHandler {
  return {
    maxAttempts: MAX_DELIVERY_ATTEMPTS,
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
      const step = await deps.lanes.finish(head, error.message);
      await reportDead(deps, head, error);
      return step;
    },
  };
}

/** Puts every part on screen with exactly its text, each id stored before the next part (T7). */
async function deliver(deps: OutDeps, head: LaneHead, signal: AbortSignal): Promise<LaneStep> {
  const { ref, message } = readPayload(head);
  const channel = deps.channels.get(message.channel);
  if (channel === undefined) {
    const text = `The channel ${message.channel} is switched off; its answers wait until it is on again.`;
    throw new GatewayError('channel_off', text, { retryable: true });
  }
  const known = await deps.ledger.sentParts(ref);
  const target = { render: channel.render.bind(channel), maxLength: channel.capabilities.maxLength };
  const chunks = await chunksOf(message.content, target, deps.yieldToEventLoop);
  const surplus = await chunksOf(SURPLUS_TEXT, target, deps.yieldToEventLoop);
  const partsOf = (of: string, known: SentMessage[], shown: readonly (string | undefined)[] = []) =>
    new PartDelivery({
      channel,
      scheduler: deps.schedulerOf(channel),
      signal,
      message,
      ref: of,
      known,
      shown,
      noteSent: (sent: SentMessage[]) => deps.ledger.noteSent(head, of, sent),
      onChatMoved: deps.onChatMoved,
    });
  const card = await lastCard(deps.card, { ref, message }, channel, partsOf);
  if (card?.first === true) await card.deliver();
  const parts = partsOf(ref, known, deps.removeShown(ref));
  for (const [index, chunk] of chunks.entries()) await parts.put(index, chunk, index === chunks.length - 1);
  for (let index = chunks.length; index < known.length; index++) {
    for (const chunk of surplus) await parts.replace(index, chunk);
  }
  // The answer first: the card can wait.
  if (card?.first === false) await card.deliver();
  const step = await deps.ledger.finishDelivery(head, ref, parts.sent);
  deps.log.debug({ ...logFields(head), parts: parts.sent.length }, 'delivery_sent');
  return step;
}

/** Outcome of a head that could not be delivered now. Throws the error that makes it a dead letter. */
function outcomeOf(deps: OutDeps, head: LaneHead, error: GatewayError): LaneOutcome {
  // Another node owns the head, or this one is closing: nothing is half done, and nothing more may be written.
  if (error instanceof FencedError || error instanceof LaneAbort || error.code === 'closing')
    return { kind: 'released' };
  if (!(error instanceof ChannelError)) {
    if (error.retryable) return { kind: 'retry', error, delayMs: retryDelayMs(deps, head) };
    throw error;
  }
  switch (error.code) {
    case 'rate_limited':
      return { kind: 'released', delayMs: error.retryAfterMs ?? retryDelayMs(deps, head) };
    case 'outcome_unknown':
      deps.onAmbiguousSend();
      if (head.attempts + 1 >= MAX_AMBIGUOUS_ATTEMPTS)
        throw new ChannelError(error.code, error.message, { cause: error });
      return { kind: 'retry', error, delayMs: retryDelayMs(deps, head) };
    case 'unavailable':
    case 'conflict':
      return { kind: 'retry', error, delayMs: retryDelayMs(deps, head) };
    default:
      throw error.retryable ? new ChannelError(error.code, error.message, { cause: error }) : error;
  }
}

function retryDelayMs(deps: OutDeps, head: LaneHead): number {
  return backoffMs(head.attempts, RETRY_BASE_MS, RETRY_CAP_MS, deps.random);
}

/** Reports a delivery that was given up to its session; a failure to do so must not block the lane. */
async function reportDead(deps: OutDeps, head: LaneHead, error: GatewayError): Promise<void> {
  deps.log.error({ ...logFields(head), err: error }, 'delivery_dead');
  try {
    await deps.onDead(readPayload(head), error);
  } catch (thrown) {
    deps.log.warn({ ...logFields(head), err: toGatewayError(thrown) }, 'dead_delivery_notice_failed');
  }
}

/** Names the delivery in the log, as far as its payload can be read. */
function logFields({ lane, seq, payload }: LaneHead): Record<string, unknown> {
  const parsed = payloadShape.safeParse(payload);
  if (!parsed.success) return { lane, laneSeq: seq };
  const { channel, chatId, turnId } = parsed.data.message;
  return { channel, chatId, turnId, lane, laneSeq: seq };
}
