/** The monitor of the event loop delay, on a clock that the test moves. */
import { describe, expect, it } from 'vitest';
import { SAMPLE_MS, SPAN_MS, startLoopMonitor } from '../../src/ops/loop-delay.ts';
import type { Clock } from '../../src/lib/clock.ts';

/** A clock whose only timer fires as late as the test says. */
function lateClock() {
  let now = 0;
  let ring: (() => void) | undefined;
  const clock: Clock = {
    epochMs: () => now,
    monotonicMs: () => now,
    after(_ms, then) {
      ring = then;
      return () => (ring = undefined);
    },
  };
  const tick = (lateMs: number): void => {
    now += SAMPLE_MS + lateMs;
    ring?.();
  };
  return { clock, tick, isTicking: () => ring !== undefined };
}

describe('the event loop monitor', () => {
  it('reports no delay while its timer is on time', () => {
    const { clock, tick } = lateClock();
    const monitor = startLoopMonitor(clock);
    for (let sample = 0; sample < 20; sample += 1) tick(0);
    expect(monitor.recentMs()).toBe(0);
  });

  it('reaches a steady delay within ten samples, and zero again within twenty', () => {
    const { clock, tick } = lateClock();
    const monitor = startLoopMonitor(clock);
    for (let sample = 0; sample < 10; sample += 1) tick(8);
    expect(monitor.recentMs()).toBeGreaterThan(7);
    for (let sample = 0; sample < 20; sample += 1) tick(0);
    expect(monitor.recentMs()).toBeLessThan(0.1);
  });

  it('does not mistake one short stall for load', () => {
    const { clock, tick } = lateClock();
    const monitor = startLoopMonitor(clock);
    tick(15);
    expect(monitor.recentMs()).toBeLessThan(5);
  });

  it('knows the 99th percentile of its samples', () => {
    const { clock, tick } = lateClock();
    const monitor = startLoopMonitor(clock);
    for (let sample = 1; sample <= 100; sample += 1) tick(sample > 98 ? 50 : 1);
    expect(monitor.p99Ms()).toBeCloseTo(50, 0);
  });

  it('forgets a stall after two spans, but not before one', () => {
    const { clock, tick } = lateClock();
    const monitor = startLoopMonitor(clock);
    const pass = (ms: number): void => {
      for (let sample = 0; sample < ms / SAMPLE_MS; sample += 1) tick(0);
    };
    for (let sample = 0; sample < 100; sample += 1) tick(200);
    pass(SPAN_MS / 2);
    expect(monitor.p99Ms()).toBeCloseTo(200, 0);
    pass(SPAN_MS * 2);
    expect(monitor.p99Ms()).toBeLessThan(1);
  });

  it('stops sampling once it is stopped, and can be stopped twice', () => {
    const { clock, isTicking } = lateClock();
    const monitor = startLoopMonitor(clock);
    monitor.stop();
    monitor.stop();
    expect(isTicking()).toBe(false);
  });
});
