/** Batches on a third-party server: unreadable, tamper-proof, and accepted once. */
import { randomBytes } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createBatchSeal, MAX_BATCH_AGE_MS, MAX_SENDERS } from '../../src/bus/batch-seal.ts';

const KEY = randomBytes(32);
const NOW = 1_800_000_000_000;

/** A node with its clock at `now`. */
const node = (now = NOW, key = KEY) => createBatchSeal(key, () => now);

describe('a sealed batch', () => {
  it('is opened by another node with the same key, whatever it holds', () => {
    const [from, to] = [node(), node()];
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 8_000 }), (batch) => {
        expect(to.open(from.seal(batch))).toEqual({ batch });
      }),
      { numRuns: 50 },
    );
  });

  it('reveals nothing of its content, and never looks the same twice', () => {
    const from = node();
    const [one, two] = [from.seal('{"delta":"secret"}'), from.seal('{"delta":"secret"}')];
    expect(one.toString('latin1')).not.toContain('secret');
    expect(one.subarray(29).equals(two.subarray(29))).toBe(false);
  });

  it('is refused when any single bit was changed, and when it was cut', () => {
    const sealed = node().seal('{"hello":true}');
    for (let bit = 0; bit < sealed.length * 8; bit += 1) {
      const changed = Buffer.from(sealed);
      changed[bit >> 3]! ^= 1 << (bit & 7);
      expect(node().open(changed)).toEqual({ refused: 'forged' });
    }
    for (let length = 0; length < sealed.length; length += 1)
      expect(node().open(sealed.subarray(0, length))).toEqual({ refused: 'forged' });
  });

  it('is refused from a sender with another key, and as plain text', () => {
    expect(node().open(node(NOW, randomBytes(32)).seal('{}'))).toEqual({ refused: 'forged' });
    expect(node().open(Buffer.from('node-1 1 -\n{"hello":true}\n'))).toEqual({ refused: 'forged' });
  });

  it('is accepted once, and not after a later one', () => {
    const [from, to] = [node(), node()];
    const [first, second] = [from.seal('1'), from.seal('2')];
    expect(to.open(second)).toEqual({ batch: '2' });
    expect(to.open(second)).toEqual({ refused: 'repeated' });
    expect(to.open(first)).toEqual({ refused: 'repeated' });
  });

  it('is refused when it is too old or too far ahead', () => {
    for (const age of [MAX_BATCH_AGE_MS, -MAX_BATCH_AGE_MS]) {
      expect(node(NOW + age).open(node().seal('x'))).toEqual({ batch: 'x' });
      expect(node(NOW + age + Math.sign(age)).open(node().seal('x'))).toEqual({ refused: 'stale' });
    }
  });

  it('is accepted from a limited number of processes, with silent ones forgotten', () => {
    let now = NOW;
    const to = createBatchSeal(KEY, () => now);
    for (let n = 0; n < MAX_SENDERS; n += 1) expect(to.open(node().seal('x'))).toEqual({ batch: 'x' });
    expect(to.open(node().seal('x'))).toEqual({ refused: 'too_many_senders' });
    now += 2 * MAX_BATCH_AGE_MS + 1;
    expect(to.open(node(now).seal('x'))).toEqual({ batch: 'x' });
  });
});
