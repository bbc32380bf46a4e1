/** The clocks and waits that channels have in common. */

/** Clocks and waits of a channel, in milliseconds. */
export interface ChannelTiming {
  epochNow: () => number;
  /** The clock that measures every wait: `epochNow` may be set back. */
  monotonicMs: () => number;
  /** Before the first new attempt after a failed connection. */
  retryBaseMs: number;
  /** A file that delivers nothing for this long is aborted. */
  silenceMs: number;
}

export const CHANNEL_TIMING: ChannelTiming = {
  epochNow: Date.now,
  monotonicMs: () => performance.now(),
  retryBaseMs: 1_000,
  silenceMs: 30_000,
};
