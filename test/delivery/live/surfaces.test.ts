/** The growing messages of a turn in several chats, while chats join and leave. */
import { expect, it } from 'vitest';
import type { LiveTurnStart } from '../../../src/protocol/delivery.ts';
import type { Address } from '../../../src/protocol/message.ts';
import type { Surface } from '../../../src/protocol/sessions/surfaces.ts';
import type { DeliveryContext } from '../../../src/delivery/context.ts';
import { LiveSurfaces } from '../../../src/delivery/live/surfaces.ts';
import { silentLog } from '../../database.ts';

const PHONE: Address = 'telegram:7';
const START = { turnId: 't1', session: 'http:work', address: 'http:work', surfaces: [], textSoFar: '' };

/** A turn on the page whose chats are read when the test answers. */
function openTurn() {
  const reads: PromiseWithResolvers<Surface[]>[] = [];
  const opened: string[] = [];
  const context = {
    surfaces: {
      async surfaces() {
        const read = Promise.withResolvers<Surface[]>();
        reads.push(read);
        return await read.promise;
      },
    },
    events: { replay: () => ({ events: [] }), subscribe: () => () => undefined },
    log: silentLog,
  } as unknown as DeliveryContext;
  const start = START as unknown as LiveTurnStart;
  const live = new LiveSurfaces(
    context,
    start,
    () => undefined,
    (_context, { address }) => void opened.push(address),
  );
  return { live, reads, opened };
}

it('does not show the turn in a chat that has left, when an earlier reading is answered late', async () => {
  const { live, reads, opened } = openTurn();
  const joined = live.refresh();
  const left = live.refresh();
  await Promise.resolve();
  // Only a reading that began after the chat had left may be the last one.
  expect(reads).toHaveLength(1);
  reads[0]?.resolve([{ address: PHONE, userId: PHONE, place: 'private' } as Surface]);
  await joined;
  await Promise.resolve();
  reads[1]?.resolve([]);
  await left;
  expect([opened, reads.length]).toEqual([[PHONE], 2]);
});

it('reads the chats again after a reading that failed', async () => {
  const { live, reads, opened } = openTurn();
  const failed = live.refresh();
  await Promise.resolve();
  reads[0]?.reject(new Error('the database is unavailable'));
  await failed;
  const read = live.refresh();
  await Promise.resolve();
  reads[1]?.resolve([{ address: PHONE, userId: PHONE, place: 'private' } as Surface]);
  await read;
  expect(opened).toEqual([PHONE]);
});
