/** The stream of records between nodes: every record arrives whole or not at all, and no batch is too long. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BATCH_BYTES, BatchCutter, BatchJoiner, parseBatch, RECORD_BYTES } from '../../src/bus/node-link.ts';
import { parseRecord } from '../../src/bus/node-records.ts';

const NODE = '01234567-89ab-7def-8123-456789abcdef';
const text = fc.string({ unit: 'binary', maxLength: 60 });
const record = fc.oneof(
  { weight: 5, arbitrary: text },
  { weight: 1, arbitrary: fc.tuple(text, fc.nat(300)).map(([part, times]) => part.repeat(times)) },
);

/** Cuts each group of records and joins what `keep` lets through. */
function carry(
  groups: string[][],
  keep: (index: number) => boolean,
): { sent: string[]; got: string[]; longest: number } {
  const cutter = new BatchCutter(NODE);
  const joiner = new BatchJoiner();
  const sent = groups.map((group) => group.map((one) => JSON.stringify(one)));
  const batches = sent.flatMap((group) => cutter.cut(group));
  const got = batches
    .filter((_, index) => keep(index))
    .flatMap((batch) => {
      const parsed = parseBatch(batch);
      return parsed === undefined ? ['unreadable'] : joiner.join(parsed.number, parsed.inside, parsed.piece);
    });
  return {
    sent: sent.flat(),
    got,
    longest: Math.max(0, ...batches.map((batch) => Buffer.byteLength(batch))),
  };
}

describe('batches', () => {
  it('carry every record unchanged, whatever its length, in batches that fit a notification', () => {
    fc.assert(
      fc.property(fc.array(fc.array(record, { maxLength: 12 }), { maxLength: 6 }), (groups) => {
        const { sent, got, longest } = carry(groups, () => true);
        expect(got).toEqual(sent);
        expect(longest).toBeLessThanOrEqual(BATCH_BYTES);
      }),
      { numRuns: 200 },
    );
  });

  it('lose only whole records when batches are lost, and keep the order of the others', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(record, { maxLength: 12 }), { maxLength: 6 }),
        fc.infiniteStream(fc.boolean()),
        (groups, fates) => {
          const { sent, got } = carry(groups, () => fates.next().value !== false);
          let from = 0;
          for (const one of got) {
            const place = sent.indexOf(one, from);
            expect(place, 'a record that was sent, in its order').toBeGreaterThanOrEqual(0);
            from = place + 1;
          }
        },
      ),
      { numRuns: 200 },
    );
  });

  it('differ from each other even when their records are equal', () => {
    const cutter = new BatchCutter(NODE);
    const [first] = cutter.cut(['{"hello":true}']);
    const [second] = cutter.cut(['{"hello":true}']);
    expect(first).not.toBe(second);
  });

  it('drop a record that exceeds its limit', () => {
    const joiner = new BatchJoiner();
    joiner.join(1, false, 'x'.repeat(RECORD_BYTES));
    expect(joiner.join(2, true, 'y\n')).toEqual([`${'x'.repeat(RECORD_BYTES)}y`]);
    joiner.join(3, false, 'x'.repeat(RECORD_BYTES + 1));
    expect(joiner.join(4, true, 'y\nnext\n')).toEqual(['next']);
  });

  it('ignore malformed batches', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (noise) => {
        expect(parseBatch(noise)).toBeUndefined();
        const read = parseRecord(noise);
        expect(read === undefined || typeof read === 'object').toBe(true);
      }),
    );
    expect(parseRecord('{"event":{"type":"turn_started","sessionKey":"a:1","at":"now"}}')).toBeUndefined();
    expect(parseRecord('{"event":{"type":"turn_started","sessionKey":"a:1","at":1}}')).toBeDefined();
  });
});
