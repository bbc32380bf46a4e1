/** Ends of turns of other nodes that are read from the database: how many at once, and which first. */
import { expect, it } from 'vitest';
import { MAX_LOOKED_AT, StoredEnds } from '../../src/bus/stored-ends.ts';
import { TurnRing } from '../../src/bus/turn-ring.ts';
import type { TurnStatus } from '../../src/protocol/sessions/session-list.ts';
import { recordingLog } from './events.ts';

const ringOf = (turnId: string): TurnRing =>
  new TurnRing(
    { sessionKey: `telegram:${turnId}`, turnId, epoch: 1 },
    { local: false, seq: 0, text: '', whole: true, at: 0 },
  );

it(`are read of ${MAX_LOOKED_AT} turns at a time, and those that wait for a person do not keep back the others`, async () => {
  const waiting = Array.from({ length: MAX_LOOKED_AT }, (_, n) => `waiting-${n}`);
  const rings = [...waiting, 'ended'].map(ringOf);
  const reads: string[] = [];
  const ends: string[] = [];
  const turns = {
    unfinishedTurns: () => Promise.resolve(new Set<string>()),
    turn(id: string): Promise<TurnStatus> {
      reads.push(id);
      return Promise.resolve(id === 'ended' ? { state: 'done', reason: 'failed' } : { state: 'parked' });
    },
  };
  const stored = new StoredEnds(turns, recordingLog().log, ({ turnId }) => ends.push(turnId));
  // Every look after the first finds them as they were.
  for (let look = 0; look < 3; look += 1) {
    stored.look(rings, false);
    await expect.poll(() => reads.length).toBe(look * MAX_LOOKED_AT);
  }
  expect(reads.slice(0, MAX_LOOKED_AT)).toEqual(waiting);
  expect(ends).toEqual(['ended']);
});
