/** A clock that several machines share, whatever their own clocks say. */
import { expect, it } from 'vitest';
import { SharedClock } from '../../src/lib/clock.ts';

function openClock() {
  const own = { wall: 50_000, monotonic: 7 };
  const clock = new SharedClock({ epochNow: () => own.wall, monotonicMs: () => own.monotonic });
  return { own, clock };
}

it('is this machine’s clock until the shared time was read', () => {
  const { own, clock } = openClock();
  own.wall += 1;
  expect(clock.epochNow()).toBe(50_001);
});

it('carries the shared time on, without the jumps of this machine’s clock', async () => {
  const { own, clock } = openClock();
  await clock.set(() => Promise.resolve(1_000_000));
  own.monotonic += 250;
  own.wall -= 7_200_000;
  expect(clock.epochNow()).toBe(1_000_250);
});

it('is never ahead of the time that was read, however long the answer took', async () => {
  const { own, clock } = openClock();
  await clock.set(async () => {
    own.monotonic += 5_000;
    return 1_000_000;
  });
  expect(clock.epochNow()).toBe(1_000_000);
});

it('keeps what it had when the shared time cannot be read', async () => {
  const { clock } = openClock();
  await clock.set(() => Promise.resolve(1_000_000));
  await expect(clock.set(() => Promise.reject(new Error('away')))).rejects.toThrow('away');
  expect(clock.epochNow()).toBe(1_000_000);
});
