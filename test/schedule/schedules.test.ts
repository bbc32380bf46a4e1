/** Creating schedules: who may, how many, how long; and the command users create them with. */
import { expect, it, onTestFinished, vi } from 'vitest';
import type { CommandCall } from '../../src/protocol/command.ts';
import { MAX_TASK_LENGTH, SCHEDULE_LIMITS, type ScheduleRequest } from '../../src/protocol/schedules.ts';
import { describeStore } from '../database.ts';
import { anybody, nodeOf } from './scenario.ts';
import { commandCall } from '../fakes/gateway/command-call.ts';

const request = (change: Partial<ScheduleRequest> = {}): ScheduleRequest => ({
  id: 'one',
  session: 'telegram:42',
  address: 'telegram:42',
  creatorId: 'telegram:42',
  task: ' Tell me the news. ',
  when: { everyMinutes: 90 },
  ...change,
});

const call = (args: string, change: Partial<CommandCall> = {}): CommandCall =>
  commandCall({ args, ...change });

describeStore('schedules', (databases) => {
  it('are added once per id, and report their next run', async () => {
    const { schedules } = nodeOf(await databases.open());
    const made = await schedules.add(request());
    expect(made).toMatchObject({ task: 'Tell me the news.', timing: { kind: 'every', everyMs: 5_400_000 } });
    expect(schedules.describe(made)).toMatch(
      /^every 90 minutes, next \d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)? \(UTC\): Tell me the news\.$/,
    );
    // The same call after a crash, late: it is not refused, and changes nothing.
    const again = await schedules.add(request({ when: { at: '2020-01-01 00:00' } }));
    expect(again).toEqual(made);
    expect(await schedules.list({})).toEqual([made]);
  });

  it('follow the database clock, even on a machine with a clock that is ahead', async () => {
    const store = await databases.open();
    const { schedules } = nodeOf(store);
    const clock = Date.now;
    const ahead = vi.spyOn(Date, 'now').mockImplementation(() => clock() + 600_000);
    onTestFinished(() => ahead.mockRestore());
    const { nextAt } = await schedules.add(request({ when: { inMinutes: 1 } }));
    const [row] =
      await store.sql`select ${nextAt ?? null}::timestamptz <= now() + interval '1 minute' as soon`;
    expect(row?.['soon']).toBe(true);
  });

  it('are refused with a message that says what to change', async () => {
    const { schedules } = nodeOf(await databases.open());
    const add = (change: Partial<ScheduleRequest>) => schedules.add(request(change));
    const tooLong = 'x'.repeat(MAX_TASK_LENGTH + 1);
    await expect(add({ task: '  ' })).rejects.toThrow('say what to do');
    await expect(add({ task: tooLong })).rejects.toThrow(`at most ${MAX_TASK_LENGTH} characters`);
    await expect(add({ when: { cron: '0 0 30 2 *' } })).rejects.toThrow('never occurs');
    await expect(add({ when: { everyMinutes: 0.5 } })).rejects.toThrow('between 1 minute');
    await expect(add({ creatorId: 'system' })).rejects.toThrow('cannot add schedules');
    await expect(schedules.add(request({ task: 'x'.repeat(MAX_TASK_LENGTH) }))).resolves.toBeDefined();
  });

  it('are refused for users who may not write there', async () => {
    const stranger = { ...anybody, isStillAllowed: () => Promise.resolve(false) };
    const { schedules } = nodeOf(await databases.open(), { creatorAccess: stranger });
    await expect(schedules.add(request())).rejects.toThrow(
      'I am not allowed to write to telegram:42 for you',
    );
    expect(await schedules.list({})).toEqual([]);
  });

  it('are limited by configuration: per chat, per user, and in total, with the last tenth reserved for owners', async () => {
    const store = await databases.open();
    let owner = false;
    const creatorAccess = { ...anybody, isOwner: () => Promise.resolve(owner) };
    const { schedules } = nodeOf(store, { creatorAccess, limits: { perSession: 2, perUser: 3, total: 10 } });
    const add = (id: number, session: number, user: number) =>
      schedules.add(request({ id: `s${id}`, session: `telegram:${session}`, creatorId: `telegram:${user}` }));
    await add(1, 1, 1);
    await add(2, 1, 1);
    await expect(add(3, 1, 2)).rejects.toThrow('This chat has the maximum of 2 schedules');
    await add(4, 2, 1);
    await expect(add(5, 3, 1)).rejects.toThrow('You have the maximum of 3 schedules');
    for (let id = 6; id < 12; id += 1) await add(id, id, id);
    await expect(add(12, 12, 12)).rejects.toThrow('This gateway has the maximum of 9 schedules');
    owner = true;
    await add(12, 12, 12);
    await expect(add(13, 13, 13)).rejects.toThrow('This gateway has the maximum of 10 schedules');
    expect(await schedules.list({ session: 'telegram:1' })).toHaveLength(2);
  });

  it(`are limited to ${SCHEDULE_LIMITS.perSession} per chat and ${SCHEDULE_LIMITS.total} in total by default`, () => {
    expect(SCHEDULE_LIMITS).toEqual({ perSession: 20, perUser: 60, total: 200 });
  });

  it('are created, listed and removed by /schedule', async () => {
    const { commands } = nodeOf(await databases.open());
    const [schedule] = commands;
    const write = (args: string, change?: Partial<CommandCall>) => schedule?.run(call(args, change));
    expect(await write('')).toContain('There are no schedules here.');
    expect(await write('add "0 9 * * * Europe/Berlin" Good morning!')).toMatch(
      /^Scheduled: `0 9 \* \* \*`, next .* 09:00 \(Europe\/Berlin\): Good morning!$/,
    );
    expect(await write('add “every 2 hours” Stretch')).toMatch(/^Scheduled: every 2 hours, .*: Stretch$/);
    expect(await write('add every 30m Drink')).toMatch(/every 30 minutes/);
    expect(await write('add "at 2099-12-01 09:00" Wake me')).toMatch(
      /once, next 2099-12-01 09:00 \(UTC\): Wake me/,
    );
    expect(await write('add in 10 minutes Call\nthe dentist')).toMatch(/once, next .*: Call the dentist/);
    const list = (await write('list')) ?? '';
    expect(
      list
        .split('\n')
        .slice(0, 5)
        .map((line) => line.replace(/,.*: /, ': ')),
    ).toEqual([
      '1. `0 9 * * *`: Good morning!',
      '2. every 2 hours: Stretch',
      '3. every 30 minutes: Drink',
      '4. once: Wake me',
      '5. once: Call the dentist',
    ]);
    expect(await write('remove 2')).toMatch(/^Removed: every 2 hours/);
    expect(await write('')).not.toContain('Stretch');
    await expect(write('remove 9')).rejects.toThrow('no such schedule');
    await expect(write('remove 1', { session: 'telegram:43' })).rejects.toThrow('no such schedule');
  });

  it('explain themselves when /schedule is not understood', async () => {
    const { commands } = nodeOf(await databases.open());
    const write = (args: string) => commands[0]?.run(call(args));
    expect(await write('add tomorrow do it')).toContain('/schedule add "0 9 * * 1-5"');
    expect(await write('dance')).toContain('/schedule remove 2');
    await expect(write('add "0 9 * *" x')).rejects.toThrow('not a cron line');
    await expect(write('add "0 9 * * *"')).rejects.toThrow('say what to do');
  });

  it('of a group can be removed by their creator and by owners', async () => {
    const group = { ...anybody, placeOf: () => Promise.resolve('group' as const) };
    const { commands, schedules } = nodeOf(await databases.open(), { creatorAccess: group });
    await schedules.add(request());
    const write = (change: Partial<CommandCall>) => commands[0]?.run(call('remove 1', change));
    await expect(write({ userId: 'telegram:7' })).rejects.toThrow('Someone else created this schedule');
    expect(await write({ userId: 'telegram:7', owner: true })).toContain('Removed');
    await schedules.add(request({ id: 'two' }));
    expect(await write({})).toContain('Removed');
  });
});
