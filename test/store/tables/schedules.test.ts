/** Schedules in the database: limits, lists, what is due, and advancing once. */
import { expect, it } from 'vitest';
import {
  KEPT_OVER,
  MAX_RUNS_KEPT,
  type NewScheduleRun,
  SCHEDULE_LIMITS,
  type ScheduleRecord,
} from '../../../src/protocol/schedules.ts';
import { describeStore, type TestStore } from '../../database.ts';
import { request } from '../requests.ts';

const HOUR_MS = 3_600_000;
const off: NewScheduleRun = { outcome: 'switched_off', dueAt: new Date(0), why: 'no access' };
const inAnHour = (): Date => new Date(Date.now() + HOUR_MS);

function wanted(id: string, change: Partial<ScheduleRecord> = {}) {
  return {
    id,
    session: 'telegram:42',
    address: 'telegram:42:7',
    place: 'group',
    creatorId: 'telegram:1',
    timing: { kind: 'every', everyMs: 60_000 },
    task: 'look \0 around',
    sources: ['web:example.org'] as const,
    nextAt: inAnHour(),
    ...change,
  } satisfies Omit<ScheduleRecord, 'createdAt'>;
}

/** Inserts this many rows at once, as if they had been added. */
async function fill(store: TestStore, count: number, session: (n: number) => string, nextAt: Date | null) {
  for (let n = 0; n < count; n += 1) {
    await store.sql`
      insert into schedule (id, session, address, place, creator_id, timing, task, next_at, last_at)
      values (${`filled-${n}`}, ${session(n)}, 'http:x', 'private', 'token:x', '{"kind":"at","at":1}'::jsonb, 't',
        ${nextAt}, now() - ${n}::int * interval '1 minute')`;
  }
}

describeStore('schedules', (databases) => {
  it('are stored as given, and a repeated id changes nothing', async () => {
    const { schedules } = await databases.open();
    const first = wanted('a', { timing: { kind: 'cron', expression: '0 9 * * *', timeZone: 'UTC' } });
    expect(await schedules.addSchedule(first)).toBe('added');
    expect(await schedules.addSchedule(wanted('a', { task: 'something else' }))).toBe('added');
    expect(await schedules.schedule('a')).toMatchObject({ ...first, task: 'look \u2400 around' });
    expect((await schedules.schedule('a'))?.lastAt).toBeUndefined();
    expect(await schedules.schedule('b')).toBeUndefined();
    expect(await schedules.removeSchedule('a')).toBe(true);
    expect(await schedules.removeSchedule('a')).toBe(false);
  });

  it('are listed newest first with the finished ones last, by session or creator', async () => {
    const { schedules } = await databases.open();
    await schedules.addSchedule(wanted('a'));
    await schedules.addSchedule(wanted('b', { creatorId: 'telegram:2' }));
    await schedules.addSchedule(wanted('c', { session: 'http:notes' }));
    const ids = async (filter: Parameters<typeof schedules.schedules>[0]) =>
      (await schedules.schedules(filter)).map(({ id }) => id);
    expect(await ids({ limit: 9 })).toEqual(['c', 'b', 'a']);
    expect(await ids({ session: 'telegram:42', limit: 9 })).toEqual(['b', 'a']);
    expect(await ids({ creatorId: 'telegram:1', limit: 9 })).toEqual(['c', 'a']);
    expect(await ids({ limit: 1 })).toEqual(['c']);
    await schedules.switchOffSchedule('c', off);
    expect(await ids({ limit: 9 })).toEqual(['b', 'a', 'c']);
  });

  it(`stay within ${SCHEDULE_LIMITS.perSession} per session, even in a race`, async () => {
    const store = await databases.open();
    await fill(store, SCHEDULE_LIMITS.perSession - 1, () => 'telegram:42', inAnHour());
    const raced = await Promise.all(['a', 'b', 'c'].map((id) => store.schedules.addSchedule(wanted(id))));
    expect(raced.sort()).toEqual(['added', 'session_full', 'session_full']);
    expect(await store.schedules.addSchedule(wanted('d', { session: 'telegram:43' }))).toBe('added');
  });

  it(`stay within ${SCHEDULE_LIMITS.total} in the gateway`, async () => {
    const store = await databases.open();
    await store.sql`
      insert into schedule (id, session, address, place, creator_id, timing, task, next_at)
      select 'f' || n, 'http:s' || n, 'http:x', 'private', 'token:' || n, '{"kind":"at","at":1}'::jsonb, 't', now()
      from generate_series(1, ${SCHEDULE_LIMITS.total - 1}::int) n`;
    expect(await store.schedules.addSchedule(wanted('last'))).toBe('added');
    expect(await store.schedules.addSchedule(wanted('more'))).toBe('gateway_full');
  });

  it(`do not count once finished, and the newest ${KEPT_OVER} finished ones of a session stay listed`, async () => {
    const store = await databases.open();
    await fill(store, KEPT_OVER + 5, () => 'telegram:42', null);
    expect(await store.schedules.addSchedule(wanted('a'))).toBe('added');
    const left = await store.schedules.schedules({ session: 'telegram:42', limit: 99 });
    expect(left).toHaveLength(KEPT_OVER + 1);
    expect(left.map(({ id }) => id)).not.toContain(`filled-${KEPT_OVER}`);
    expect(left.map(({ id }) => id)).toContain('filled-0');
  });

  it('are due by the database clock, oldest slot first', async () => {
    const store = await databases.open();
    expect(await store.schedules.untilNextSlot()).toBeUndefined();
    await store.schedules.addSchedule(wanted('later'));
    const until = (await store.schedules.untilNextSlot()) ?? 0;
    expect(until).toBeGreaterThan(HOUR_MS - 120_000);
    expect(until).toBeLessThan(HOUR_MS + 120_000);
    expect(await store.schedules.dueSchedules(9)).toEqual([]);
    await store.schedules.addSchedule(wanted('b', { nextAt: new Date(2_000) }));
    await store.schedules.addSchedule(wanted('a', { nextAt: new Date(1_000) }));
    expect(await store.schedules.untilNextSlot()).toBe(0);
    const due = await store.schedules.dueSchedules(9);
    expect(due.map(({ id, nextAt }) => [id, nextAt.getTime()])).toEqual([
      ['a', 1_000],
      ['b', 2_000],
    ]);
    expect(Math.abs((due[0]?.now.getTime() ?? 0) - Date.now())).toBeLessThan(120_000);
    expect(await store.schedules.dueSchedules(1)).toHaveLength(1);
  });

  it('advance from a slot once, however many processes try', async () => {
    const { schedules } = await databases.open();
    const slot = new Date(1_000);
    await schedules.addSchedule(wanted('a', { nextAt: slot }));
    const next = inAnHour();
    const raced = await Promise.all([1, 2, 3].map(() => schedules.advanceSchedule('a', slot, next)));
    expect(raced.filter(Boolean)).toHaveLength(1);
    const moved = await schedules.schedule('a');
    expect(moved?.nextAt).toEqual(next);
    expect(moved?.lastAt).toBeInstanceOf(Date);
    expect(await schedules.advanceSchedule('a', next, undefined)).toBe(true);
    expect((await schedules.schedule('a'))?.nextAt).toBeUndefined();
    expect(await schedules.untilNextSlot()).toBeUndefined();
    expect(await schedules.advanceSchedule('gone', slot, next)).toBe(false);
  });

  it('have no next slot and stay in the list when switched off', async () => {
    const { schedules } = await databases.open();
    await schedules.addSchedule(wanted('a'));
    await schedules.switchOffSchedule('a', off);
    await schedules.switchOffSchedule('a', off);
    const [row] = await schedules.schedules({ limit: 9 });
    expect(row).toMatchObject({ id: 'a', nextAt: undefined, lastAt: undefined });
    expect(await schedules.scheduleRuns('a')).toMatchObject([{ outcome: 'switched_off', why: 'no access' }]);
  });

  it(`keep the outcome of their newest ${MAX_RUNS_KEPT} slots, until they are removed`, async () => {
    const { schedules, ledger } = await databases.open();
    const accepted = await ledger.accept(request('m1', { chatId: '42' }));
    const turnId = 'turnId' in accepted ? accepted.turnId : 'none';
    const first = inAnHour().getTime();
    const slots = Array.from({ length: MAX_RUNS_KEPT + 2 }, (_, nth) => new Date(first + nth * 1_000));
    await schedules.addSchedule(wanted('a', { nextAt: slots[0] ?? inAnHour() }));
    const end = (nth: number, run: Omit<NewScheduleRun, 'dueAt'>): Promise<boolean> => {
      const dueAt = slots[nth] ?? inAnHour();
      return schedules.advanceSchedule('a', dueAt, slots[nth + 1], [{ ...run, dueAt }]);
    };
    expect(await end(0, { outcome: 'begun', turnId })).toBe(true);
    expect(await end(1, { outcome: 'skipped', why: 'busy' })).toBe(true);
    // Another process got here first.
    expect(await end(1, { outcome: 'begun', turnId })).toBe(false);
    expect(await schedules.scheduleRuns('a')).toMatchObject([
      { outcome: 'skipped', dueAt: slots[1], why: 'busy', turn: undefined },
      { outcome: 'begun', dueAt: slots[0], turnId, turn: { state: 'queued' } },
    ]);
    for (let nth = 2; nth < slots.length; nth += 1) await end(nth, { outcome: 'begun', turnId });
    const kept = await schedules.scheduleRuns('a');
    expect(kept.map(({ dueAt }) => dueAt)).toEqual(slots.slice(2).toReversed());
    expect(await schedules.removeSchedule('a')).toBe(true);
    expect(await schedules.scheduleRuns('a')).toEqual([]);
  });

  it('are deleted with their session', async () => {
    const { schedules, ledger } = await databases.open();
    await ledger.accept(request('m1', { chatId: '42' }));
    await schedules.addSchedule(wanted('a'));
    await ledger.deleteSession('telegram:42');
    expect(await schedules.schedule('a')).toBeUndefined();
  });
});
