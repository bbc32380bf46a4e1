/** A state is written once it has lasted for the given time, and its end only after its beginning. */
import { expect, it } from 'vitest';
import { DelayedFlag } from '../../../src/lib/async/delayed-flag.ts';
import { FakeClock } from '../../fakes/clock.ts';

function build(write: (holds: boolean) => Promise<void> = async () => undefined) {
  const clock = new FakeClock();
  const written: boolean[] = [];
  const failures: unknown[] = [];
  const note = new DelayedFlag({
    clock,
    afterMs: 1_000,
    write: (holds) => {
      written.push(holds);
      return write(holds);
    },
    onFailed: (error) => failures.push(error),
  });
  return { clock, note, written, failures };
}

it('writes nothing for a state that ends before the time', async () => {
  const { clock, note, written } = build();
  note.begin();
  await clock.advance(999);
  await note.end();
  await clock.advance(5_000);
  expect([written, clock.waiting]).toEqual([[], 0]);
});

it('writes a lasting state once, and its end once, every time', async () => {
  const { clock, note, written } = build();
  for (let round = 0; round < 2; round += 1) {
    note.begin();
    note.begin();
    await clock.advance(1_000);
    await note.end();
    await note.end();
  }
  expect(written).toEqual([true, false, true, false]);
});

it('writes the end only when the beginning is written', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { clock, note, written } = build((holds) => (holds ? promise : Promise.resolve()));
  note.begin();
  await clock.advance(1_000);
  const over = note.end();
  await clock.advance(1);
  expect(written).toEqual([true]);
  resolve();
  await over;
  expect(written).toEqual([true, false]);
});

it('reports a beginning that could not be written, and throws for an end that could not', async () => {
  const { clock, note, failures } = build(() => Promise.reject(new Error('away')));
  note.begin();
  await clock.advance(1_000);
  await expect(note.end()).rejects.toThrow('away');
  expect(failures).toEqual([new Error('away')]);
});
