/** Pause before a retry. */

/** Exponential with full jitter: between half and all of `baseMs · 2^attempt`, at most `capMs`. `random` is in [0, 1). */
export function backoffMs(
  attempt: number,
  baseMs: number,
  capMs: number,
  random: () => number = Math.random,
): number {
  const whole = Math.min(capMs, baseMs * 2 ** Math.min(attempt, 30));
  return Math.round(whole / 2 + (whole / 2) * random());
}
