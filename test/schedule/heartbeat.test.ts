/** The heartbeat: one tick per interval across the gateway, and the list shown only when there is something on it. */
import { partial } from '../fakes/partial.ts';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { CreatorAccess } from '../../src/protocol/access.ts';
import type { TurnPayload } from '../../src/protocol/store/accept.ts';
import {
  HEARTBEAT_ID,
  MAX_INSTRUCTIONS,
  QUIET_TOKEN,
  saysSomething,
  settleHeartbeat,
} from '../../src/schedule/heartbeat.ts';
import { describeStore, silentLog, type TestStore } from '../database.ts';
import { request } from '../store/requests.ts';
import { anybody, nodeOf, said } from './scenario.ts';

const WAIT = { timeout: 10_000, interval: 20 };
const MINUTE_MS = 60_000;

it.each([
  ['', false],
  ['# Heartbeat\n\n## Every morning\n', false],
  ['<!-- write here\n- nothing -->\n# Title', false],
  ['<!-- never closed\n- water the plants', false],
  ['# Title\n- water the plants', true],
  ['#hashtag', true],
])('%j says something: %s', (text, says) => {
  expect(saysSomething(text)).toBe(says);
});

describeStore('the heartbeat', (databases) => {
  const heartbeatFile = async (content?: string): Promise<string> => {
    const folder = await mkdtemp(path.join(os.tmpdir(), 'parley-heartbeat-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = path.join(folder, 'HEARTBEAT.md');
    if (content !== undefined) await writeFile(file, content);
    return file;
  };
  const heartbeat = async (content?: string, everyMs = 30 * MINUTE_MS) => ({
    everyMs,
    address: 'telegram:42' as const,
    file: await heartbeatFile(content),
  });
  /** Makes it due. */
  const passTime = (store: TestStore) =>
    store.sql`update schedule set next_at = date_trunc('milliseconds', now()) - interval '1 second' where id = ${HEARTBEAT_ID}`;
  /** It existed before and is due: a node that starts now checks immediately. */
  const isDue = async (store: TestStore) => {
    const every = { everyMs: 30 * MINUTE_MS, address: 'telegram:42', file: 'HEARTBEAT.md' } as const;
    await settleHeartbeat(
      partial({ store: store.schedules, creatorAccess: anybody, log: silentLog }),
      every,
      Date.now(),
    );
    await passTime(store);
  };
  /** What the agent is shown, in order of arrival. */
  const shown = async (store: TestStore) => {
    const rows = await store.sql<{ payload: TurnPayload }[]>`
      select payload from lane_item where lane = 'in:telegram:42' and payload ? 'silentToken' order by seq`;
    return rows.map(({ payload }) => payload);
  };
  const ticks = (events: string[]) => events.filter((event) => event.endsWith('heartbeat_tick'));

  it('passes the list to the agent as a system message, and ticks (B-36, B-45)', async () => {
    const store = await databases.open();
    const node = nodeOf(store, { heartbeat: await heartbeat('# Plants\n- water them on Mondays') });
    await isDue(store);
    await node.start();
    await vi.waitFor(() => expect(ticks(node.events)).toEqual(['telegram:42 heartbeat_tick']), WAIT);
    const [beat] = await shown(store);
    expect(beat).toMatchObject({ entry: 'run', silentToken: QUIET_TOKEN });
    expect(beat?.message.content).toContain('- water them on Mondays');
    expect(beat?.message.content).toContain(QUIET_TOKEN);
    // Users see only what it leads to, if anything.
    expect(await said(store)).toEqual([]);
    expect(node.events).toEqual(['telegram:42 heartbeat_tick']);
    // It belongs to the gateway: no user's list shows it, and it counts against no one's limit.
    expect(await node.schedules.list({})).toEqual([]);
  });

  it('is a group’s where its chat is a group, in its schedule and in what the agent is shown', async () => {
    const store = await databases.open();
    const address = 'telegram:-1007' as const;
    const creatorAccess: CreatorAccess = {
      ...anybody,
      placeOf: (asked) => Promise.resolve(asked === address ? 'group' : 'private'),
    };
    const node = nodeOf(store, {
      heartbeat: { ...(await heartbeat('- look around')), address },
      creatorAccess,
    });
    // Stored before, for a private chat: the interval is the same, so the beat stays where it is.
    await isDue(store);
    const before = await store.schedules.schedule(HEARTBEAT_ID);
    expect(before?.place).toBe('private');
    await node.start();
    await vi.waitFor(() => expect(ticks(node.events)).toEqual([`${address} heartbeat_tick`]), WAIT);
    expect(await store.schedules.schedule(HEARTBEAT_ID)).toMatchObject({ place: 'group' });
    const [row] = await store.sql<{ payload: TurnPayload }[]>`
      select payload from lane_item where lane = ${`in:${address}`}`;
    expect(row?.payload.message.place).toBe('group');
  });

  it('goes to the shared conversation of a chat that is linked, as a message of that chat', async () => {
    const store = await databases.open();
    await store.sql`insert into address (key, session) values ('telegram:42', 'http:shared')`;
    const node = nodeOf(store, { heartbeat: await heartbeat('- look around') });
    await isDue(store);
    await node.start();
    await vi.waitFor(() => expect(ticks(node.events)).toEqual(['http:shared heartbeat_tick']), WAIT);
    const [row] = await store.sql<{ payload: TurnPayload }[]>`
      select payload from lane_item where lane = 'in:http:shared'`;
    expect(row?.payload).toMatchObject({ address: 'telegram:42', message: { place: 'private' } });
    expect(await store.schedules.schedule(HEARTBEAT_ID)).toMatchObject({ place: 'private' });
  });

  it('ticks once, and is shown once, on three nodes', async () => {
    const store = await databases.open();
    const beat = await heartbeat('- look around');
    const nodes = [store, store, store].map((same) => nodeOf(same, { heartbeat: beat }));
    await isDue(store);
    await Promise.all(nodes.map((node) => node.start()));
    await vi.waitFor(() => expect(nodes.flatMap(({ events }) => ticks(events))).toHaveLength(1), WAIT);
    await Promise.all(nodes.map((node) => node.stop()));
    expect(nodes.flatMap(({ events }) => ticks(events))).toHaveLength(1);
    expect(await shown(store)).toHaveLength(1);
  });

  it.each([
    ['the file is missing', undefined],
    ['there is nothing on it', '# Plants\n<!-- none yet -->\n'],
  ])('only ticks when %s', async (_why, content) => {
    const store = await databases.open();
    const node = nodeOf(store, { heartbeat: await heartbeat(content) });
    await isDue(store);
    await node.start();
    await vi.waitFor(() => expect(node.events).toEqual(['telegram:42 heartbeat_tick']), WAIT);
    expect(await shown(store)).toEqual([]);
  });

  it('only ticks while the chat is busy, so that heartbeats do not pile up behind a slow model', async () => {
    const store = await databases.open();
    await store.ledger.accept(request('m1', { chatId: '42' }));
    const node = nodeOf(store, { heartbeat: await heartbeat('- look around') });
    await isDue(store);
    await node.start();
    await vi.waitFor(() => expect(node.events).toEqual(['telegram:42 heartbeat_tick']), WAIT);
    expect(await shown(store)).toEqual([]);
  });

  it('shows the head and the tail of a list that is too long', async () => {
    const store = await databases.open();
    const list = `- first\n${'- more\n'.repeat(MAX_INSTRUCTIONS)}- last`;
    const node = nodeOf(store, { heartbeat: await heartbeat(list) });
    await isDue(store);
    await node.start();
    await vi.waitFor(() => expect(ticks(node.events)).toHaveLength(1), WAIT);
    const [beat] = await shown(store);
    const prompt = beat?.message.content ?? '';
    expect(prompt.length).toBeLessThan(MAX_INSTRUCTIONS + 500);
    expect(prompt).toContain('- first');
    expect(prompt).toMatch(/characters left out[\s\S]*- last$/);
  });

  it('logs different intervals of several gateways, at the start and at each heartbeat', async () => {
    const store = await databases.open();
    const first = nodeOf(store, { heartbeat: await heartbeat('', 30 * MINUTE_MS) });
    await first.start();
    expect(first.log.join('')).not.toContain('must be the same');
    const second = nodeOf(store, { heartbeat: await heartbeat('', 60 * MINUTE_MS) });
    await second.start();
    expect(second.log.join('')).toMatch(/"before":"every 30 minutes","now":"every hour".*must be the same/);
    await second.stop();
    await passTime(store);
    await vi.waitFor(() => expect(ticks(first.events)).toHaveLength(1), WAIT);
    expect(first.log.join('')).toMatch(/"here":"every 30 minutes","there":"every hour".*must be the same/);
  });

  it('changes its interval, or stops, as soon as the settings say so', async () => {
    const store = await databases.open();
    const timing = async () => (await store.schedules.schedule(HEARTBEAT_ID))?.timing;
    const node = nodeOf(store, { heartbeat: await heartbeat('', 30 * MINUTE_MS) });
    await node.start();
    const hourly = { ...node.settings.current(), heartbeat: await heartbeat('', 60 * MINUTE_MS) };
    await node.settings.change(hourly);
    await vi.waitFor(
      async () => expect(await timing()).toEqual({ kind: 'every', everyMs: 60 * MINUTE_MS }),
      WAIT,
    );
    await node.settings.change({ ...hourly, heartbeat: undefined });
    await vi.waitFor(async () => expect(await timing()).toBeUndefined(), WAIT);
  });

  it('follows the configuration: unchanged, restarted with another interval, removed when turned off', async () => {
    const store = await databases.open();
    const nextAt = async () => (await store.schedules.schedule(HEARTBEAT_ID))?.nextAt;
    const start = async (everyMs: number, now: number) => {
      const node = nodeOf(store, { heartbeat: await heartbeat('', everyMs) }, (schedules) => ({
        ...schedules,
        databaseNow: () => Promise.resolve(new Date(now)),
      }));
      await node.start();
      await node.stop();
    };
    const now = Date.now();
    await start(30 * MINUTE_MS, now);
    expect((await nextAt())?.getTime()).toBe(now + 30 * MINUTE_MS);
    await start(30 * MINUTE_MS, now + 5_000);
    expect((await nextAt())?.getTime()).toBe(now + 30 * MINUTE_MS);
    await start(60 * MINUTE_MS, now + 5_000);
    expect((await nextAt())?.getTime()).toBe(now + 5_000 + 60 * MINUTE_MS);
    const off = nodeOf(store);
    await off.start();
    expect(off.log.join('')).toMatch(/"before":"every hour".*for all gateways.*"heartbeat_disabled"/);
    expect(await store.schedules.schedule(HEARTBEAT_ID)).toBeUndefined();
  });
});
