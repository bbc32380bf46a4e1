/** The database is unreachable at the moment the platform answers a send: what is on screen is known all the same. */
import { describe, expect, it } from 'vitest';
import type { MessageBus } from '../../../src/protocol/bus.ts';
import type { Ledger } from '../../../src/protocol/store/ledger.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { partial } from '../../fakes/partial.ts';
import { StoreError } from '../../../src/protocol/errors.ts';
import { MAX_UNSTORED, NOTE_AGAIN_MS, PartNotes } from '../../../src/delivery/final/part-notes.ts';
import { createLog } from '../../../src/ops/log.ts';
import { buildDelivery } from '../setup.ts';

const AWAY = new StoreError('unavailable', 'The database cannot be reached.', { retryable: true });

function buildNotes(after: Clock['after']): PartNotes {
  return new PartNotes(
    partial<Ledger>({ enqueue: () => Promise.reject(AWAY) }),
    partial<MessageBus>({ claimingNode: () => undefined, runHeads: () => undefined }),
    partial<Clock>({ after }),
    createLog({ level: 'silent', redact: (text) => text }),
  );
}

/** A chat whose first message was sent while the database was unreachable; the lease of the turn's lane is lost. */
async function sentWithoutDatabase() {
  const gateway = buildDelivery();
  const back = gateway.loseDatabase();
  const turn = gateway.open('t');
  gateway.say('t', 'Hello');
  await gateway.clock.advance(3_000);
  expect(gateway.channel.screen('1')).toEqual(['Hello']);
  const settled = turn.settle();
  await gateway.clock.advance(20_000);
  await settled;
  return { gateway, back };
}

describe('a turn that is opened again by the process that sent its first message', () => {
  it('continues in that message, which it knows before the note is stored', async () => {
    const { gateway, back } = await sentWithoutDatabase();
    const again = gateway.open('t');
    gateway.say('t', 'Hello again, and all the rest of the answer');
    back();
    await gateway.clock.advance(5_000);
    expect(gateway.channel.screen('1')).toEqual(['Hello again, and all the rest of the answer']);
    await again.settle();
    await gateway.deliver('Hello again.', { turnId: 't' });
    expect(gateway.channel.screen('1')).toEqual(['Hello again.']);
    expect(gateway.parts.get('t')).toMatchObject([{ id: 'm1' }]);
  });

  it('continues in that message even if its note was given up', async () => {
    const { gateway, back } = await sentWithoutDatabase();
    back(AWAY);
    await gateway.clock.advance(10);
    expect(gateway.parts.get('t')).toBeUndefined();
    const again = gateway.open('t');
    gateway.say('t', 'Hello again, and all the rest of the answer');
    await gateway.clock.advance(5_000);
    await again.settle();
    expect(gateway.channel.screen('1')).toEqual(['Hello again, and all the rest of the answer']);
    expect(gateway.parts.get('t')).toMatchObject([{ id: 'm1' }]);
  });

  it('is delivered in that message when the turn has nothing more to show', async () => {
    const { gateway, back } = await sentWithoutDatabase();
    back(AWAY);
    await gateway.deliver('Hello, all of it.', { turnId: 't' });
    expect(gateway.channel.screen('1')).toEqual(['Hello, all of it.']);
  });
});

describe('a turn that another node has opened in the meantime', () => {
  it('keeps the message of that node; the late one is removed', async () => {
    const { gateway, back } = await sentWithoutDatabase();
    gateway.loseLane();
    gateway.parts.set('t', [{ id: 'of the other node' }]);
    back();
    await gateway.clock.advance(10);
    expect(gateway.parts.get('t')).toEqual([{ id: 'of the other node' }]);
    expect(gateway.queued).toMatchObject([{ ref: 't', copies: [{ id: 'm1' }] }]);
    const [removal] = gateway.queued;
    gateway.claimLane();
    await gateway.deliver('', {}, { payload: removal });
    expect(gateway.channel.screen('1')).toEqual([]);
  });

  it('keeps the message of that node when the note of the late one could not be stored at first', async () => {
    const { gateway, back } = await sentWithoutDatabase();
    gateway.loseLane();
    gateway.parts.set('t', [{ id: 'of the other node' }]);
    back(AWAY);
    await gateway.clock.advance(NOTE_AGAIN_MS - 1);
    expect(gateway.queued).toEqual([]);
    const backAgain = gateway.loseDatabase();
    await gateway.clock.advance(1);
    backAgain(AWAY);
    await gateway.clock.advance(NOTE_AGAIN_MS);
    expect(gateway.parts.get('t')).toEqual([{ id: 'of the other node' }]);
    expect(gateway.queued).toMatchObject([{ ref: 't', copies: [{ id: 'm1' }] }]);
    await gateway.clock.advance(2 * NOTE_AGAIN_MS);
    expect(gateway.queued).toHaveLength(1);
  });

  it('adopts the late message if it has sent none', async () => {
    const { gateway, back } = await sentWithoutDatabase();
    gateway.loseLane();
    back();
    await gateway.clock.advance(10);
    expect([gateway.parts.get('t'), gateway.queued]).toMatchObject([[{ id: 'm1' }], []]);
  });

  it('queues a final that was sent too late for removal, too', async () => {
    const gateway = buildDelivery();
    const back = gateway.loseDatabase();
    const delivered = gateway.deliver('An answer.');
    await gateway.clock.advance(3_000);
    expect(gateway.channel.screen('1')).toEqual(['An answer.']);
    gateway.loseLane();
    gateway.parts.set('ref-1', [{ id: 'of the other node' }]);
    back();
    expect((await delivered).value).toEqual({ kind: 'released' });
    expect(gateway.queued).toMatchObject([{ ref: 'ref-1', copies: [{ id: 'm1' }] }]);
  });
});

it(`remembers the messages of ${MAX_UNSTORED} deliveries whose notes wait`, async () => {
  const notes = buildNotes(() => () => undefined);
  const place = { channel: 'fake', chatId: '1' };
  for (let nth = 0; nth <= MAX_UNSTORED; nth += 1)
    await expect(notes.save(place, `t${nth}`, [{ id: `m${nth}` }], () => Promise.reject(AWAY))).rejects.toBe(
      AWAY,
    );
  expect([notes.latest('t0', []), notes.latest('t1', [])]).toEqual([[], [{ id: 'm1' }]]);
});

it('stores a later note after a further try of an earlier one, which would overwrite it', async () => {
  let tryAgain = (): void => undefined;
  const notes = buildNotes((_ms, act) => ((tryAgain = act), () => undefined));
  const place = { channel: 'fake', chatId: '1' };
  const late = Promise.withResolvers<void>();
  const stored: string[] = [];
  const take = (_ref: string, sent: { id: string }[]) => {
    stored.push(sent.map(({ id }) => id).join(' '));
    return Promise.resolve({ held: true, copies: [] });
  };
  const answers = [() => Promise.reject(AWAY), () => late.promise];
  await expect(
    notes.save(place, 't', [{ id: 'm1' }], async (ref, sent) => {
      await answers.shift()?.();
      return await take(ref, sent);
    }),
  ).rejects.toBe(AWAY);
  tryAgain();
  const saved = notes.save(place, 't', [{ id: 'm1' }, { id: 'm2' }], take);
  await Promise.resolve();
  late.resolve();
  await saved;
  expect(stored).toEqual(['m1', 'm1 m2']);
});
