/** A clock that a test moves; everything that waits on it runs in the order of its time. */
import { setImmediate as immediate } from 'node:timers/promises';
import type { Clock } from '../../src/lib/clock.ts';

interface Alarm {
  at: number;
  ring: () => void;
}

export class FakeClock implements Clock {
  #now = 0;
  #alarms: Alarm[] = [];

  epochMs(): number {
    return 1_700_000_000_000 + this.#now;
  }

  monotonicMs(): number {
    return this.#now;
  }

  after(ms: number, ring: () => void): () => void {
    const alarm = { at: this.#now + Math.max(0, ms), ring };
    this.#alarms.push(alarm);
    return () => {
      this.#alarms = this.#alarms.filter((other) => other !== alarm);
    };
  }

  /** Timers that have not fired: 0 once everything is closed. */
  get waiting(): number {
    return this.#alarms.length;
  }

  /** A promise that resolves after `ms` of this clock. */
  sleep(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.after(ms, resolve);
    return promise;
  }

  /** Lets `ms` pass, timer by timer; what each triggers runs before the next. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await immediate();
    for (;;) {
      const next = this.#next();
      if (next === undefined || next.at > end) break;
      this.#alarms.splice(this.#alarms.indexOf(next), 1);
      this.#now = Math.max(this.#now, next.at);
      next.ring();
      await immediate();
    }
    this.#now = end;
  }

  #next(): Alarm | undefined {
    let first: Alarm | undefined;
    for (const alarm of this.#alarms) if (first === undefined || alarm.at < first.at) first = alarm;
    return first;
  }
}
