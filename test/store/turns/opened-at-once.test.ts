/** A turn that starts at once gets what `openTurn` would read from the statement that accepts its message. */
import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { HISTORY_ROWS } from '../../../src/protocol/store/accept.ts';
import type { OpenedTurn } from '../../../src/protocol/store/records.ts';
import type { LaneHead } from '../../../src/protocol/store/lanes.ts';
import type { InboundMessage } from '../../../src/protocol/message.ts';
import { openStore } from '../../../src/store/open-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { describeStore, makeEmbeddedHome, silentLog, type TestStore } from '../../database.ts';
import { request } from '../requests.ts';
import { accepted, answer, finished, LEASE_MS, only, said } from '../lanes/turns.ts';

/** How a test waits for other connections. */
const WAIT = { timeout: 10_000, interval: 10 };

/** Accepts a message the way the intake does. */
async function begin(store: Store, node: string, id: string, change: Partial<InboundMessage> = {}) {
  const asked = { ...request(id, change, node), historyRows: HISTORY_ROWS };
  const result = accepted(await store.ledger.accept(asked));
  return { turnId: result.turnId, heads: result.heads };
}

/** What `openTurn` reads for a turn that was read on acceptance. */
async function readAgain({ ledger }: TestStore, head: LaneHead, turnId: string): Promise<OpenedTurn> {
  const {
    plan: _none,
    interrupted,
    ...opened
  } = await ledger.openTurn(head, turnId, HISTORY_ROWS, 'telegram:42');
  expect(interrupted, 'it was running already').toBe(true);
  return { ...opened, afterMs: 0 };
}

describeStore('a turn read on acceptance', (databases) => {
  it('is the same as one read separately, in a new session and in one with history', async () => {
    const store = await databases.open();
    const node = await store.lanes.register('reads ahead', LEASE_MS);
    const group = { channel: 'telegram', chatId: '42' };
    await store.groupChats.keepObserved(group, 'telegram:42', [
      { id: '1', senderId: 'ada', senderName: 'Ada', content: 'hi' },
    ]);
    for (const n of [1, 2, 3]) {
      const { turnId, heads } = await begin(store, node, `m${n}`);
      const head = only(heads);
      expect(head.opened).toBeDefined();
      expect(await readAgain(store, head, turnId)).toEqual(head.opened);
      expect(head.opened?.history).toHaveLength((n - 1) * 2);
      await store.ledger.finishTurn(
        head,
        finished(turnId, `a${n}`, { entries: [said(`q${n}`), answer(1, `a${n}`)] }),
      );
    }
    await store.lanes.stop('telegram:42', { fresh: true });
    const { turnId, heads } = await begin(store, node, 'after /new');
    expect(only(heads).opened?.history).toEqual([]);
    expect(await readAgain(store, only(heads), turnId)).toEqual(only(heads).opened);
  });

  it('has its placeholder, and is marked as running in the table', async () => {
    const store = await databases.open();
    const node = await store.lanes.register('reads ahead', LEASE_MS);
    const placeholder = { id: '7' };
    const { turnId, heads } = await begin(store, node, 'm1', { placeholder });
    expect(only(heads).opened?.placeholders).toEqual([placeholder]);
    expect(await readAgain(store, only(heads), turnId)).toEqual(only(heads).opened);
    const [row] = await store.sql<{ state: string }[]>`select state from turn where id = ${turnId}`;
    expect(row?.state).toBe('running');
  });

  it('is not read when the message waits behind another, or no node may start it', async () => {
    const store = await databases.open();
    const node = await store.lanes.register('reads ahead', LEASE_MS);
    const first = await begin(store, node, 'm1');
    const behind = await begin(store, node, 'm2');
    expect(behind.heads).toEqual([]);
    const step = await store.ledger.finishTurn(only(first.heads), finished(first.turnId, 'done'));
    expect(only(step).opened).toBeUndefined();
    const unclaimed = accepted(
      await store.ledger.accept({ ...request('m3', { chatId: '43' }), historyRows: HISTORY_ROWS }),
    );
    expect(unclaimed.heads).toEqual([]);
    const [row] = await store.sql<{ state: string }[]>`select state from turn where id = ${unclaimed.turnId}`;
    expect(row?.state).toBe('queued');
  });

  // The embedded database runs one statement at a time.
  it('is read again when the turn before it ended while its acceptance waited', async () => {
    const store = await databases.open();
    const node = await store.lanes.register('reads ahead', LEASE_MS);
    const watcher = await databases.open({ beside: store });
    const first = await begin(store, node, 'm1');
    const end = finished(first.turnId, 'a1', { entries: [said('q1'), answer(1, 'a1')] });
    const waiters = async (): Promise<number> => {
      const [row] = await watcher.sql<{ count: number }[]>`
          select count(distinct pid)::int from pg_locks
          where not granted and pid in (select pid from pg_locks where relation = 'lane'::regclass)`;
      return row?.count ?? 0;
    };
    const held = Promise.withResolvers<void>();
    const ready = Promise.withResolvers<void>();
    const holding = store.sql.begin(async (sql) => {
      await sql`select from lane for update`;
      ready.resolve();
      await held.promise;
    });
    await ready.promise;
    const ending = store.ledger.finishTurn(only(first.heads), end);
    await expect.poll(waiters, WAIT).toBe(1);
    const beginning = begin(store, node, 'm2');
    await expect.poll(waiters, WAIT).toBe(2);
    held.resolve();
    await Promise.all([holding, ending]);
    const { turnId, heads } = await beginning;
    const head = only(heads);
    const opened = head.opened ?? (await store.ledger.openTurn(head, turnId, HISTORY_ROWS));
    expect(opened.history.map(({ entry }) => entry.kind)).toEqual(['user', 'assistant']);
  });
});

describe('a turn that waited', () => {
  it('is marked as running on the disk when it starts: a kill of process and database must not hide that it ran', async () => {
    const home = await makeEmbeddedHome();
    const store = await openStore({ home, log: silentLog });
    onTestFinished(async () => {
      await store.close();
      await rm(home, { recursive: true, force: true });
    });
    const node = await store.lanes.register('reads later', LEASE_MS);
    const first = await begin(store, node, 'm1');
    const second = await begin(store, node, 'm2');
    const { heads } = await store.ledger.finishTurn(only(first.heads), finished(first.turnId, 'a1'));
    await store.ledger.openTurn(only(heads), second.turnId, HISTORY_ROWS);
    const [pid] = (await readFile(path.join(home, 'pg', 'postmaster.pid'), 'utf8')).split('\n');
    process.kill(Number(pid), 'SIGKILL');
    expect(await store.ledger.turn(second.turnId)).toMatchObject({ state: 'running' });
  });
});
