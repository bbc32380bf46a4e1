/**
 * A bot token that its platform refuses: when it is tried again, which error calls get in the meantime, and the
 * channel's health.
 */
import { Refusals } from '../../lib/async/call-gate.ts';
import { DEAD_AFTER_MS, DEAD_INTERVAL_MS } from '../channel.ts';
import { ChannelError } from '../errors.ts';
import type { ChannelHealth } from '../gateway-api.ts';
import type { TextRef } from '../texts/say.ts';

const WAITS = {
  firstMs: 5_000,
  capMs: 60_000,
  lastsAfterMs: DEAD_AFTER_MS,
  lastingMs: DEAD_INTERVAL_MS,
};

/** The refusals of one token, which starts as a valid one. */
export function tokenRefusals(monotonicMs: () => number): Refusals {
  return new Refusals(WAITS, monotonicMs);
}

/** The error of calls until the token is tried again; `message` says what to do. */
export function tokenRefused(refusals: Refusals, message: TextRef, cause?: unknown): ChannelError {
  const retryAfterMs = Math.max(1, refusals.leftMs);
  return new ChannelError('unauthorized', message, { retryable: true, retryAfterMs, cause });
}

/** Undefined while the token is valid. */
export function tokenHealth({ state }: Refusals, detail: TextRef): ChannelHealth | undefined {
  return state && { state: state === 'lasting' ? 'dead' : 'degraded', detail };
}
