/** The two clocks of this room; tests bring their own. */

export interface BusClock {
  /** Epoch milliseconds, for what people read. */
  wall(): number;
  /** Milliseconds that only ever grow, for durations: leases and retention do not follow clock changes. */
  steady(): number;
}

/** The machine's own clocks. */
export const systemClock: BusClock = { wall: () => Date.now(), steady: () => performance.now() };
