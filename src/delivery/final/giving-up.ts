/** How long a delivery is retried, and what its chat reads when it is abandoned. */
import type { LaneOutcome } from '../../protocol/bus.ts';
import { ChannelError, GatewayError } from '../../protocol/errors.ts';
import type { LaneHead } from '../../protocol/store/lanes.ts';
import type { DeliveryPayload } from '../../protocol/store/ledger.ts';
import { parseAddress } from '../../protocol/message.ts';
import { backoffMs } from '../../lib/async/backoff.ts';
import type { Say } from '../../protocol/texts/say.ts';

/**
 * First and longest pause while a platform is unavailable, in milliseconds; in between it grows with the time already
 * waited.
 */
export const RETRY_BASE_MS = 2_000;
export const RETRY_CAP_MS = 60_000;

/** A delivery is kept for an unavailable platform until its pauses add up to this, in milliseconds: a day. */
export const KEPT_MS = 86_400_000;

/**
 * For a chat where the bot lacks a permission that people can grant, a delivery is kept until its pauses add up to
 * this: an hour.
 */
export const KEPT_BLOCKED_MS = 3_600_000;

/** Maximum number of sends of one delivery whose answers were lost: each of them may be visible. */
export const MAX_AMBIGUOUS_SENDS = 5;

/**
 * First and longest pause after such a send, in milliseconds. Each is eight times as long as the one before: one lost answer
 * delays little, and five sends span more than ten minutes.
 */
const AMBIGUOUS_BASE_MS = 2_500;
const AMBIGUOUS_CAP_MS = 1_200_000;
const AMBIGUOUS_DOUBLINGS = 3;

/** The answer was abandoned, and its chat was told. */
export class ApologyShown extends GatewayError {
  constructor(refusal: ChannelError) {
    super(refusal.code, refusal.message, { cause: refusal });
  }
}

/** Retries later, without counting an attempt. Throws the error as the reason of a dead letter once the time is up. */
export function waitFor(head: LaneHead, error: GatewayError, random: () => number): LaneOutcome {
  const leftMs = (error.code === 'blocked' ? KEPT_BLOCKED_MS : KEPT_MS) - head.waitedMs;
  if (leftMs <= 0) throw new GatewayError(error.code, error.message, { cause: error });
  return { kind: 'waiting', error, delayMs: Math.min(leftMs, pauseMs(head, random)) };
}

/** The next pause of a delivery, in milliseconds. */
export function pauseMs({ waitedMs }: LaneHead, random: () => number): number {
  return backoffMs(0, Math.max(RETRY_BASE_MS, waitedMs), RETRY_CAP_MS, random);
}

/** The pause after a send whose answer was lost, in milliseconds. */
export function ambiguousPauseMs({ attempts }: LaneHead, random: () => number): number {
  return backoffMs(AMBIGUOUS_DOUBLINGS * attempts, AMBIGUOUS_BASE_MS, AMBIGUOUS_CAP_MS, random);
}

/** True if the platform refuses this text but might accept another. */
export function isRefusal(error: unknown): error is ChannelError {
  const codes = ['rejected', 'bad_markup', 'message_gone', 'place_gone'];
  return error instanceof ChannelError && codes.includes(error.code);
}

/** Replaces an answer that the platform refused in every form. */
export function apologyFor(id: string, say: Say): string {
  return say('missed.refused', { turn: id });
}

/** What a chat reads, once it can be reached again, about answers that it has missed. */
export function missedText(count: number, say: Say): string {
  return say('missed.answers', { count });
}

/** A delivery without a text of its own: it tells the chat what it has missed as soon as it can be reached. */
export function wakeUpAfter({ lane, seq }: LaneHead): DeliveryPayload {
  const place = parseAddress(lane.slice('out:'.length));
  return { ref: `${lane}#${seq}:missed`, message: { ...place, content: '', media: [], buttons: [] } };
}
