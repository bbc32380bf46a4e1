/** How far a session's events are stored. */
import { assert, nat, property, uniqueArray } from 'fast-check';
import { expect, it } from 'vitest';
import { Checkpoint } from '../../../../channels/discord/gateway/resume-state.ts';

it('is before the oldest event that is not stored, in whatever order they are stored (property)', () => {
  const events = uniqueArray(nat(40), { minLength: 1, maxLength: 20 });
  assert(
    property(events, nat(1_000), (order, heardAt) => {
      const checkpoint = new Checkpoint({ sequence: 100, heardAt: undefined });
      const open = new Set(order);
      const stored = new Map(
        [...open].toSorted((a, b) => a - b).map((n) => [n, checkpoint.arrive(101 + n)] as const),
      );
      checkpoint.heard(heardAt);
      const last = 101 + Math.max(...open);
      for (const n of order) {
        expect(checkpoint.position).toEqual({ sequence: 100 + Math.min(...open), heardAt: undefined });
        stored.get(n)?.();
        open.delete(n);
      }
      expect(checkpoint.position).toEqual({ sequence: last, heardAt });
    }),
  );
});

it('moves the time up to which everything was received only forward', () => {
  const checkpoint = new Checkpoint({ sequence: 1, heardAt: 500 });
  checkpoint.heard(400);
  expect(checkpoint.position.heardAt).toBe(500);
  checkpoint.heard(600);
  expect(checkpoint.position.heardAt).toBe(600);
});
