/** The `out:` lanes: deliveries are made (T7), retried, or abandoned; and the messages of a turn before its answer. */
import { LaneAbort, type LaneHandler, type LaneOutcome, type LaneRunner } from '../../protocol/bus.ts';
import type { Channel } from '../../protocol/channel.ts';
import { MAX_POSTS, type Post, type PostResult, type PostStore } from '../../protocol/delivery.ts';
import { ChannelError, FencedError, GatewayError, toGatewayError } from '../../protocol/errors.ts';
import type { Attachment } from '../../protocol/media.ts';
import { addressOf, parseAddress } from '../../protocol/message.ts';
import type { LaneHead } from '../../protocol/store/lanes.ts';
import type { DeliveryPayload } from '../../protocol/store/ledger.ts';
import { backoffMs } from '../../lib/async/backoff.ts';
import type { DeliveryContext } from '../context.ts';
import { ApologyShown, deliver, type LiveLeftovers } from './deliver.ts';
import { logFields, payloadShape, readPayload } from './payload.ts';

/** First and longest pause while a platform is unavailable, in milliseconds; it grows with the time waited. */
export const RETRY_BASE_MS = 2_000;
export const RETRY_CAP_MS = 60_000;

/** A delivery is kept for an unavailable platform until its pauses add up to this, in milliseconds: a day. */
export const KEPT_MS = 86_400_000;

/** How long a delivery is retried where the bot lacks a permission that people can grant, in milliseconds of pauses. */
export const KEPT_BLOCKED_MS = 3_600_000;

/** Maximum number of sends of one delivery whose answers were lost: each of them may be visible. */
export const MAX_AMBIGUOUS_SENDS = 5;

/**
 * First and longest pause after such a send, in milliseconds. Each is eight times the previous one: one lost answer
 * delays little, and five sends span more than ten minutes.
 */
const AMBIGUOUS_BASE_MS = 2_500;
const AMBIGUOUS_CAP_MS = 1_200_000;
const AMBIGUOUS_DOUBLINGS = 3;

/** Creates the handler of `out:` lanes. */
export function createOut(context: DeliveryContext, leftovers: LiveLeftovers): LaneHandler {
  const { lanes, log } = context;
  return {
    maxAttempts: MAX_AMBIGUOUS_SENDS,
    async handle(head, signal) {
      try {
        return { kind: 'finished', step: await deliver(context, leftovers, head, signal) };
      } catch (failure) {
        const error = toGatewayError(failure);
        const outcome = outcomeOf(context, head, error);
        if ('delayMs' in outcome) {
          const { attempts } = head;
          const { delayMs } = outcome;
          log.info({ ...logFields(head), attempts, delayMs, err: error }, 'delivery_retried');
        }
        return outcome;
      }
    },
    async onDeadLetter(head, error) {
      const isMissed = !(error instanceof ApologyShown) && !isWakeUp(head);
      const step = await lanes.finish(head, error.message, isMissed);
      await reportDead(context, head, error);
      // A person who blocked the bot reads about it with the next answer; a wake-up would be refused, too.
      if (isMissed && error.code !== 'blocked') await wakeUp(context, head);
      return step;
    },
  };
}

/** Outcome of a head that could not be delivered now. Throws the error that turns it into a dead letter. */
function outcomeOf({ counts, random }: DeliveryContext, head: LaneHead, error: GatewayError): LaneOutcome {
  // Another node owns the head, or this one is closing: nothing is half done, and nothing more may be
  // written.
  if (error instanceof FencedError || error instanceof LaneAbort || error.code === 'closing')
    return { kind: 'released' };
  const { attempts, waitedMs } = head;
  const pauseMs = backoffMs(0, Math.max(RETRY_BASE_MS, waitedMs), RETRY_CAP_MS, random);
  switch (error instanceof ChannelError ? error.code : undefined) {
    case 'rate_limited':
      return { kind: 'released', delayMs: error.retryAfterMs ?? pauseMs };
    case 'outcome_unknown': {
      counts.ambiguousSends += 1;
      const doublings = AMBIGUOUS_DOUBLINGS * attempts;
      const delayMs = backoffMs(doublings, AMBIGUOUS_BASE_MS, AMBIGUOUS_CAP_MS, random);
      return { kind: 'retry', error, delayMs };
    }
    case 'unavailable':
    case 'conflict':
    // A refused token may be accepted again: the channel keeps asking, and so does this delivery.
    case 'unauthorized':
      break;
    default:
      if (!error.retryable) throw error;
  }
  const leftMs = (error.code === 'blocked' ? KEPT_BLOCKED_MS : KEPT_MS) - waitedMs;
  if (leftMs <= 0) throw new GatewayError(error.code, error.message, { cause: error });
  // Does not count as an attempt.
  return { kind: 'waiting', error, delayMs: Math.min(leftMs, pauseMs) };
}

/** Queues a delivery without text, which reports the dead letter; otherwise the next answer does. */
async function wakeUp({ ledger, log }: DeliveryContext, head: LaneHead): Promise<void> {
  try {
    const { lane, seq } = head;
    const place = parseAddress(lane.slice('out:'.length));
    const message = { ...place, content: '', media: [], buttons: [] };
    await ledger.enqueue(addressOf(place), { ref: `${lane}#${seq}:missed`, message });
  } catch (error) {
    log.warn({ ...logFields(head), err: toGatewayError(error) }, 'dead_letter_wake_up_failed');
  }
}

/** True for a delivery without content that anyone could miss. */
function isWakeUp({ payload }: LaneHead): boolean {
  const { message, says } = payloadShape.safeParse(payload).data ?? {};
  return message?.content === '' && message.media.length === 0 && says === undefined;
}

/** Reports an abandoned delivery to its session; a failure to do so must not block the lane. */
async function reportDead(context: DeliveryContext, head: LaneHead, error: GatewayError): Promise<void> {
  const { counts, log } = context;
  log.error({ ...logFields(head), err: error }, 'delivery_dead');
  try {
    const { message } = readPayload(head);
    counts.dead += 1;
    await notifySession(context, message, error);
  } catch (failure) {
    log.warn({ ...logFields(head), err: toGatewayError(failure) }, 'dead_delivery_notice_failed');
  }
}

async function notifySession(
  { dropSurface, ledger, events, say }: DeliveryContext,
  message: DeliveryPayload['message'],
  error: GatewayError,
): Promise<void> {
  const address = addressOf(message);
  if (error.code === 'blocked') await dropSurface(address);
  const session = await ledger.sessionOf(address);
  const text = say(message)('missed.notice', { why: error.message });
  events.emit(session, { type: 'notice', code: 'dead_letter', text });
}

/** Why a chat does not accept a file; undefined if it does. A channel that is off accepts it once it is on again. */
function fileRefusal({ bytes }: Attachment, channel: Channel | undefined): PostResult | undefined {
  if (channel === undefined) return undefined;
  const { media, maxFileBytes } = channel.capabilities;
  if (!media) return { kind: 'no_files' };
  return bytes > maxFileBytes ? { kind: 'too_large', limit: maxFileBytes } : undefined;
}

/** Creates `Post`: the message is committed when it resolves, then delivered like an answer; at most `limit` per turn. */
export function createPost(
  posts: PostStore,
  bus: LaneRunner,
  channels: ReadonlyMap<string, Channel>,
  limit = MAX_POSTS,
): Post {
  return async (request) => {
    const { channel } = parseAddress(request.address);
    // Over HTTP the stored message is the delivery, and accepts any file that a session can hold.
    const refusal =
      request.file && channel !== 'http' ? fileRefusal(request.file, channels.get(channel)) : undefined;
    if (refusal !== undefined) return refusal;
    const { heads, ...result } = await posts.post(request, limit, bus.claimingNode('out'));
    bus.runHeads({ heads });
    return result;
  };
}
