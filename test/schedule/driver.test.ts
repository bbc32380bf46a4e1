/** Slots on a real database: each fires once, whichever node starts, dies or is late. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished, vi } from 'vitest';
import { readTurnPayload as parsePayload } from '../../src/agent/turn/turn-payload.ts';
import { GatewayError } from '../../src/protocol/errors.ts';
import { authorOf, sourcesOfMessage } from '../../src/protocol/message.ts';
import { MAX_WAITING } from '../../src/schedule/fire.ts';
import { describeStore } from '../database.ts';
import { request } from '../store/requests.ts';
import { keepDue, nodeOf, said } from './scenario.ts';

const CHILD = fileURLToPath(new URL('node-child.ts', import.meta.url));
const WAIT = { timeout: 10_000, interval: 20 };
const HOUR_MS = 3_600_000;

describeStore('a slot', (databases) => {
  it('becomes one system message that runs without planning, and one event (B-36, B-44, N-03)', async () => {
    const store = await databases.open();
    const slot = await keepDue(store, { nextAt: new Date(Date.now() - 1_000) });
    const node = nodeOf(store);
    await node.start();
    await vi.waitFor(() => expect(node.events).toContain('telegram:42 cron_executed'), WAIT);
    expect(node.events).toEqual(['telegram:42 message_received', 'telegram:42 cron_executed']);
    expect(node.bodies[1]).toEqual({ type: 'cron_executed', scheduleId: 'news' });
    const [message, ...more] = await store.ledger.messages('telegram:42', { limit: 9 });
    expect(more).toEqual([]);
    expect(message).toMatchObject({ role: 'system', senderName: 'Schedule' });
    expect(message?.content).toMatch(/Tell me the news\.$/);
    expect(message?.content).not.toContain('It is late');
    const [queued] = await store.sql`select dedupe, payload from lane_item where lane = 'in:telegram:42'`;
    expect(queued).toMatchObject({
      dedupe: `schedule:news:${slot.toISOString()}`,
      payload: { entry: 'run', address: 'telegram:42', message: { channel: 'system' } },
    });
    const moved = await store.schedules.schedule('news');
    expect(moved?.nextAt?.getTime()).toBe(slot.getTime() + HOUR_MS);
    expect(moved?.lastAt).toBeInstanceOf(Date);
  });

  it('created in a group is read as text of the group, which is not trusted like a user’s own', async () => {
    const store = await databases.open();
    await keepDue(store, { place: 'group' });
    const node = nodeOf(store);
    await node.start();
    await vi.waitFor(() => expect(node.events).toContain('telegram:42 cron_executed'), WAIT);
    const [queued] = await store.sql`select payload from lane_item where lane = 'in:telegram:42'`;
    expect(sourcesOfMessage(readTurnPayload(queued?.['payload']).message)).toEqual(['group']);
  });

  it('created in a tainted session starts a tainted turn, with text that no one typed', async () => {
    const store = await databases.open();
    await keepDue(store, { sources: ['web:evil.example'] });
    const node = nodeOf(store);
    await node.start();
    await vi.waitFor(() => expect(node.events).toContain('telegram:42 cron_executed'), WAIT);
    const [queued] = await store.sql`select payload from lane_item where lane = 'in:telegram:42'`;
    const { message } = readTurnPayload(queued?.['payload']);
    expect(sourcesOfMessage(message)).toEqual(['web:evil.example']);
    expect(authorOf(message)).toBeUndefined();
  });

  it('fires once when the process is killed between the message and the move', async () => {
    const store = await databases.open();
    await keepDue(store);
    const killed = spawn(process.execPath, [CHILD, JSON.stringify(store.place)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    onTestFinished(() => void killed.kill('SIGKILL'));
    await once(killed.stdout, 'data');
    killed.kill('SIGKILL');
    await once(killed, 'exit');
    expect(await said(store)).toHaveLength(1);
    expect((await store.schedules.schedule('news'))?.lastAt).toBeUndefined();
    const next = nodeOf(store);
    await next.start();
    await vi.waitFor(() => expect(next.events).toEqual(['telegram:42 cron_executed']), WAIT);
    expect(await said(store)).toHaveLength(1);
    expect((await store.schedules.schedule('news'))?.nextAt?.getTime()).toBeGreaterThan(Date.now());
  }, 60_000);

  it('fires once, with one event, when nodes whose clocks differ by hours race for it', async () => {
    const store = await databases.open();
    const beside = await databases.open({ beside: store });
    const slots = Array.from({ length: 12 }, (_, n) => `race-${n}`);
    for (const id of slots) await keepDue(store, { id, task: id });
    const nodes = [nodeOf(store), nodeOf(beside), nodeOf(beside)];
    const clock = Date.now;
    let looks = 0;
    const clocks = vi
      .spyOn(Date, 'now')
      .mockImplementation(() => clock() + ((looks++ % 3) - 1) * 2 * 3_600_000);
    onTestFinished(() => clocks.mockRestore());
    await Promise.all(nodes.map((node) => node.start()));
    await vi.waitFor(async () => expect(await store.schedules.untilNextSlot()).toBeGreaterThan(0), WAIT);
    await Promise.all(nodes.map((node) => node.stop()));
    const all = nodes.flatMap((node) => node.events);
    expect(all.filter((event) => event.endsWith('cron_executed'))).toHaveLength(slots.length);
    const tasks = (await said(store)).map((content) => content.split('\n').at(-1) ?? '');
    expect(new Set(tasks)).toEqual(new Set(slots));
    expect(tasks).toHaveLength(slots.length);
  });

  it('missed many times while no gateway ran fires once, and states its time and that it is late', async () => {
    const store = await databases.open();
    const slot = new Date('2026-01-05T09:00:00Z');
    await keepDue(store, {
      nextAt: slot,
      timing: { kind: 'cron', expression: '0 9 * * *', timeZone: 'Asia/Tokyo' },
    });
    const node = nodeOf(store);
    await node.start();
    await vi.waitFor(() => expect(node.events).toContain('telegram:42 cron_executed'), WAIT);
    const [prompt = '', ...more] = await said(store);
    expect(more).toEqual([]);
    expect(prompt).toContain('for 2026-01-05 18:00 (Asia/Tokyo)');
    expect(prompt).toContain('It is late');
    expect((await store.schedules.schedule('news'))?.nextAt?.getTime()).toBeGreaterThan(Date.now());
  });

  it('of a one-time schedule is its last', async () => {
    const store = await databases.open();
    await keepDue(store, { timing: { kind: 'at', at: 1 } });
    const node = nodeOf(store);
    await node.start();
    await vi.waitFor(() => expect(node.events).toContain('telegram:42 cron_executed'), WAIT);
    const [row] = await node.schedules.list({ session: 'telegram:42' });
    expect(row?.nextAt).toBeUndefined();
    expect(node.schedules.describe(row ?? never())).toMatch(/^once, done \d{4}-.*: Tell me the news\.$/);
  });

  it('switches the schedule off and logs it when its creator may no longer write there', async () => {
    const store = await databases.open();
    await keepDue(store);
    const asked: unknown[] = [];
    const node = nodeOf(store, {
      creatorAccess: {
        placeOf: () => Promise.resolve('private'),
        isOwner: () => Promise.resolve(false),
        isTaken: async () => false,
        isStillAllowed: (...question) => {
          asked.push(question);
          return Promise.resolve(false);
        },
      },
    });
    await node.start();
    await vi.waitFor(async () => {
      expect((await store.schedules.schedule('news'))?.nextAt).toBeUndefined();
    }, WAIT);
    expect(asked[0]).toEqual(['telegram:42', 'telegram:42', 'private']);
    expect(await said(store)).toEqual([]);
    await vi.waitFor(() => expect(node.log.join('')).toContain('schedule_switched_off'), WAIT);
    const [row] = await node.schedules.list({});
    expect(node.schedules.describe(row ?? never())).toContain('disabled');
  });

  it.each([
    ['in an unknown time zone', { kind: 'cron', expression: '0 9 * * *', timeZone: 'Gone/Zone' }],
    ['with an unknown timing', { kind: 'lunar' }],
  ])('%s switches its schedule off with a notice, and blocks no other', async (_why, timing) => {
    const store = await databases.open();
    await keepDue(store, { id: 'broken', session: 'telegram:1', address: 'telegram:1' });
    await store.sql`update schedule set timing = ${store.sql.json(timing)} where id = 'broken'`;
    await keepDue(store);
    const node = nodeOf(store);
    await node.start();
    await vi.waitFor(() => expect(node.events).toContain('telegram:42 cron_executed'), WAIT);
    await vi.waitFor(() => expect(node.log.join('')).toContain('schedule_switched_off_unreadable'), WAIT);
    expect((await store.schedules.schedule('broken'))?.nextAt).toBeUndefined();
    const [told] = await store.sql`select payload from lane_item where lane = 'out:telegram:1'`;
    expect(told?.['payload'].message.content).toContain('disabled');
  });

  it(`is skipped with a notice when ${MAX_WAITING} messages are already waiting`, async () => {
    const store = await databases.open();
    for (let n = 0; n < MAX_WAITING; n += 1) await store.ledger.accept(request(`m${n}`, { chatId: '42' }));
    await keepDue(store);
    const node = nodeOf(store);
    await node.start();
    await vi.waitFor(() => expect(node.events).toEqual(['telegram:42 notice']), WAIT);
    expect(await said(store)).toHaveLength(MAX_WAITING);
    await vi.waitFor(async () => {
      const next = (await store.schedules.schedule('news'))?.nextAt?.getTime();
      expect(next).toBeGreaterThan(Date.now());
    }, WAIT);
    // Again the same day: users are not notified every minute.
    await store.sql`update schedule set next_at = date_trunc('milliseconds', now())`;
    await vi.waitFor(() => expect(node.events).toHaveLength(2), WAIT);
    const told = await store.sql`select payload from lane_item where lane = 'out:telegram:42'`;
    expect(told).toHaveLength(1);
    expect(told[0]?.['payload'].message.content).toContain('skipped');
  });

  it('of an interval, or at a relative time, is no further away than that when the clock is set back', async () => {
    const store = await databases.open();
    // Created by a clock that was two hours ahead.
    const ahead = (ms: number) => Date.now() + 2 * HOUR_MS + ms;
    const slots = {
      hourly: { timing: { kind: 'every', everyMs: HOUR_MS }, nextAt: new Date(ahead(HOUR_MS)) },
      inAMinute: { timing: { kind: 'at', at: ahead(60_000), inMs: 60_000 }, nextAt: new Date(ahead(60_000)) },
      atNine: { timing: { kind: 'at', at: ahead(60_000) }, nextAt: new Date(ahead(60_000)) },
    } as const;
    for (const [id, slot] of Object.entries(slots)) await keepDue(store, { id, ...slot });
    await store.schedules.untilNextSlot();
    const until = async (id: string) =>
      ((await store.schedules.schedule(id))?.nextAt?.getTime() ?? 0) - Date.now();
    expect(await store.schedules.untilNextSlot()).toBeLessThanOrEqual(60_000);
    expect(await until('inAMinute')).toBeGreaterThan(30_000);
    expect(await until('hourly')).toBeLessThanOrEqual(HOUR_MS + 1_000);
    expect(await until('hourly')).toBeGreaterThan(HOUR_MS - 30_000);
    expect(await until('atNine')).toBeGreaterThan(HOUR_MS);
  });

  it('of a cron line returns soon when the clock is set back by more than its interval, and runs again under its name', async () => {
    const store = await databases.open();
    const ahead = (ms: number) => new Date(Date.now() + 2 * HOUR_MS + ms);
    const cron = (expression: string) => ({ kind: 'cron' as const, expression, timeZone: 'UTC' });
    await keepDue(store, { id: 'minutely', timing: cron('* * * * *'), nextAt: ahead(60_000) });
    // Once a day: the slot it was due for has already run.
    const daily = new Date(Math.ceil(ahead(0).getTime() / (24 * HOUR_MS)) * 24 * HOUR_MS);
    await keepDue(store, { id: 'daily', timing: cron('0 0 * * *'), nextAt: daily });
    await store.sql`update schedule set last_at = now() + interval '2 hours'`;
    const first = nodeOf(store);
    await first.start();
    const nextOfMinutely = async () => (await store.schedules.schedule('minutely'))?.nextAt?.getTime();
    await vi.waitFor(
      async () => expect(await nextOfMinutely()).toBeLessThanOrEqual(Date.now() + 60_000),
      WAIT,
    );
    await first.stop();
    const minutely = await store.schedules.schedule('minutely');
    expect(minutely?.lastAt?.getTime()).toBeLessThanOrEqual(Date.now());
    expect((await store.schedules.schedule('daily'))?.nextAt).toEqual(daily);
    // The slot ran before the clock was set back; this one counts as well, but only once.
    await store.sql`update schedule set next_at = date_trunc('minute', now()) where id = 'minutely'`;
    const again = (await store.schedules.schedule('minutely'))?.nextAt;
    const earlier = request(`schedule:minutely:${again?.toISOString()}:1`, { chatId: '42' });
    await store.ledger.accept(earlier);
    const nodes = [nodeOf(store), nodeOf(store)];
    await Promise.all(nodes.map((node) => node.start()));
    await vi.waitFor(async () => expect(await said(store)).toHaveLength(2), WAIT);
    const ran = await store.schedules.schedule('minutely');
    expect(ran?.nextAt?.getTime()).toBeGreaterThan(Date.now() - 60_000);
  });

  it('is retried a minute later when it was skipped and is the last', async () => {
    const store = await databases.open();
    for (let n = 0; n < MAX_WAITING; n += 1) await store.ledger.accept(request(`m${n}`, { chatId: '42' }));
    await keepDue(store, { timing: { kind: 'at', at: 1 } });
    const node = nodeOf(store);
    await node.start();
    const next = async () => (await store.schedules.schedule('news'))?.nextAt?.getTime();
    await vi.waitFor(async () => expect(await next()).toBeGreaterThan(Date.now()), WAIT);
    expect(node.events).toEqual(['telegram:42 notice']);
  });

  it('does not block others when it cannot run now, and is retried', async () => {
    const store = await databases.open();
    await keepDue(store, { id: 'bad', session: 'telegram:1' });
    await keepDue(store, { id: 'good', nextAt: new Date(Date.now() - 60_000) });
    let failures = 0;
    const node = nodeOf(store, {}, (schedules) => ({
      ...schedules,
      advanceSchedule: (id, slot, next) => {
        if (id !== 'bad') return schedules.advanceSchedule(id, slot, next);
        failures += 1;
        return Promise.reject(new Error('the disk is full'));
      },
    }));
    await node.start();
    await vi.waitFor(() => expect(node.events).toContain('telegram:42 cron_executed'), WAIT);
    expect(failures).toBeGreaterThan(0);
    await vi.waitFor(() => expect(node.log.join('')).toContain('schedule_run_failed'), WAIT);
  });

  it('added on this node is scheduled immediately, not after the next check', async () => {
    const store = await databases.open();
    const node = nodeOf(store);
    await node.start();
    await node.schedules.add({
      id: 'soon',
      session: 'telegram:42',
      address: 'telegram:42',
      creatorId: 'telegram:42',
      task: 'Ring the bell.',
      when: { at: new Date(Date.now() + 1_500).toISOString() },
    });
    await vi.waitFor(() => expect(node.events).toContain('telegram:42 cron_executed'), WAIT);
    expect(await said(store)).toHaveLength(1);
  });
});

function readTurnPayload(stored: unknown) {
  const payload = parsePayload(stored);
  if (payload instanceof GatewayError) throw payload;
  return payload;
}

function never(): never {
  throw new Error('there is no schedule');
}
