/** The tool `cron`, the way the model uses it, over a real store. */
import { expect, it } from 'vitest';
import type { FindChat } from '../../src/protocol/delivery.ts';
import type { ToolContext } from '../../src/protocol/agent/tool.ts';
import { createCron } from '../../src/tools/cron.ts';
import { describeStore } from '../database.ts';
import { noOtherChats } from '../fakes/agent/find-chat.ts';
import { toolContext } from '../fakes/agent/tool-context.ts';
import { anybody, nodeOf } from '../schedule/scenario.ts';

describeStore('cron', (databases) => {
  const open = async (place: 'private' | 'group' = 'private', findChat: FindChat = noOtherChats) => {
    const creatorAccess = { ...anybody, placeOf: () => Promise.resolve(place) };
    const { schedules } = nodeOf(await databases.open(), { creatorAccess });
    const tool = createCron(schedules, findChat);
    const use = async (args: Record<string, unknown>, over?: Partial<ToolContext>): Promise<string> => {
      const parsed = tool.parameters.parse(args);
      return (await tool.execute(parsed, toolContext(over))).content;
    };
    return { tool, use, schedules };
  };

  it('adds a task in the caller’s chat and name, once per call (B-24)', async () => {
    const { use, schedules } = await open();
    const args = { action: 'add', task: 'Tell a joke.', cron: '0 9 * * *', time_zone: 'Europe/Berlin' };
    const where = { sessionKey: 'discord:1', address: 'discord:1:2', userId: 'discord:7', callKey: 't.1.0' };
    const said = await use(args, { ...where, sessionKey: 'discord:1', address: 'discord:1:2' });
    expect(said).toMatch(
      /^Scheduled with id t\.1\.0: `0 9 \* \* \*`, next .* 09:00 \(Europe\/Berlin\): Tell a joke\.\nIt is /,
    );
    await use(args, { ...where, sessionKey: 'discord:1', address: 'discord:1:2' });
    expect(await schedules.list({})).toMatchObject([
      { id: 't.1.0', session: 'discord:1', address: 'discord:1:2', creatorId: 'discord:7' },
    ]);
  });

  it('answers in another chat of the user, in the conversation there, or says why it cannot', async () => {
    const chat = { address: 'telegram:7', session: 'telegram:7' } as const;
    const { use, schedules } = await open('private', async ({ to }) =>
      to === 'telegram' ? { kind: 'found', ...chat } : { kind: 'several', addresses: ['http:a', 'http:b'] },
    );
    const args = { action: 'add', task: 'Look.', every_minutes: 5 };
    expect(await use({ ...args, to: 'telegram' }, { userId: 'discord:7' })).toContain(
      'It answers in telegram:7. It belongs to the conversation there: the list of schedules in that chat has it.',
    );
    expect(await schedules.list({})).toMatchObject([{ ...chat, creatorId: 'discord:7' }]);
    expect(await use({ ...args, to: 'web' })).toBe(
      'Not scheduled: this person has several chats there: name one of http:a, http:b.',
    );
  });

  it('stores with a task what was read before it was written, and shows it as text from there', async () => {
    const { use, schedules, tool } = await open();
    await use({ action: 'add', task: 'Mine.', every_minutes: 5 }, { callKey: 'mine' });
    const list = () => tool.execute(tool.parameters.parse({ action: 'list' }), toolContext());
    expect(await list()).toMatchObject({ sources: [] });
    const read = { sources: ['web:evil.example'] } as const;
    await use({ action: 'add', task: 'Obey.', every_minutes: 5 }, { callKey: 'theirs', ...read });
    await use({ action: 'add', task: 'Unknown.', every_minutes: 5 }, { callKey: 'x', sources: undefined });
    const found = new Map((await schedules.list({})).map(({ id, sources }) => [id, sources]));
    expect(found).toEqual(
      new Map([
        ['mine', []],
        ['theirs', ['web:evil.example']],
        ['x', ['local']],
      ]),
    );
    expect(await list()).toMatchObject({ sources: ['web:evil.example', 'local'] });
  });

  it('accepts every way to specify a time, and says what is wrong with the others', async () => {
    const { use } = await open();
    const add = (when: Record<string, unknown>) =>
      use({ action: 'add', task: 'Go.', ...when }, { callKey: JSON.stringify(when) });
    expect(await add({ every_minutes: 30 })).toContain('every 30 minutes');
    expect(await add({ in_minutes: 10 })).toContain('once, next');
    expect(await add({ at: '2099-12-01 09:00' })).toContain('next 2099-12-01 09:00 (UTC)');
    await expect(add({})).rejects.toThrow('exactly one way');
    await expect(add({ cron: '0 0 31 2 *' })).rejects.toThrow('never occurs');
    await expect(add({ at: '2020-01-01 09:00' })).rejects.toThrow(/has passed; it is now \d{4}/);
  });

  it('lists and removes what is scheduled in this chat, but in no other', async () => {
    const { use } = await open();
    await use({ action: 'add', task: 'Here.', every_minutes: 5 }, { callKey: 'here' });
    await use(
      { action: 'add', task: 'There.', every_minutes: 5 },
      { callKey: 'there', sessionKey: 'http:b' },
    );
    const list = await use({ action: 'list' });
    expect(list).toContain('here: every 5 minutes');
    expect(list).not.toContain('There.');
    await expect(use({ action: 'remove', id: 'there' })).rejects.toThrow('no schedule with that id');
    expect(await use({ action: 'remove', id: 'here' })).toMatch(/^Removed: every 5 minutes/);
    expect(await use({ action: 'list' })).toContain('Nothing is scheduled');
  });

  it('does not let scheduled turns and subagents add tasks', async () => {
    const { use } = await open();
    const add = { action: 'add', task: 'More of me.', every_minutes: 1 };
    await expect(use(add, { userId: 'system' })).rejects.toThrow('cannot add schedules');
    await expect(use(add, { agentId: 'child' })).rejects.toThrow('Subagents cannot make schedules');
    expect(await use({ action: 'list' }, { userId: 'system' })).toContain('Nothing is scheduled');
  });

  it('does not let users in a group change what others created', async () => {
    const { use } = await open('group');
    await use({ action: 'add', task: 'Mine.', every_minutes: 5 }, { callKey: 'mine', userId: 'telegram:1' });
    const remove = (userId: string) => use({ action: 'remove', id: 'mine' }, { userId });
    await expect(remove('telegram:2')).rejects.toThrow('Another person made that');
    expect(await remove('telegram:1')).toContain('Removed');
  });
});
