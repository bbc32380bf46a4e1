/** "Tell me on Telegram when…": messages and schedules that name another chat of the same person, and what they cannot name. */
import { expect, it, vi } from 'vitest';
import type { SurfaceEnd } from '../../../src/protocol/sessions/surfaces.ts';
import type { FakeChannel, FakePerson } from '../../fakes/discord/platform.ts';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';
import { readPage } from './hostile-page.ts';
import { withoutNotes } from '../../fakes/model/spoken-text.ts';

const people = FRIENDS.values();
const GROUP = '-4711';
const OWNER_CHAT = FRIENDS.at(-1) ?? '';
const SETTINGS = {
  telegram: true,
  discord: true,
  tools: [readPage],
  file: {
    tools: { enabled: ['message', 'cron'] },
    access: {
      telegram: { allow: FRIENDS, groups: { [GROUP]: { mention: false } } },
      owners: { telegram: [OWNER_CHAT] },
    },
  },
};

describeGateway('a person who is notified elsewhere', SETTINGS, (fixture) => {
  let codes = 0;
  const someone = (): string => people.next().value ?? '';
  const screen = (chat: string): string => fixture().telegram.screen(chat).join('\n');
  const calls = (when: string, name: string, args: object): void =>
    fixture().ollama.answer({ toolCalls: [{ name, args }] }, { when });
  const seen = (chat: string, text: string): Promise<void> =>
    vi.waitFor(() => expect(screen(chat)).toContain(text), WAIT);
  const seenOn = (channel: FakeChannel, text: string): Promise<void> =>
    vi.waitFor(() => expect(fixture().discord.screen(channel).join('\n')).toContain(text), WAIT);
  /** A chat on Telegram that shares the conversation of one on Discord. */
  const linked = async (): Promise<{ chat: string; channel: FakeChannel; person: FakePerson }> => {
    const chat = someone();
    // A bot cannot write to a user who has not written to it.
    fixture().telegram.says(chat, `hello ${chat}`, chat);
    await seen(chat, `echo: hello ${chat}`);
    const { channel, person } = fixture().discord.dm(`Ada ${chat}`);
    const { store } = fixture();
    await store.access.addGrant('discord', 'dm', person.id);
    const from: SurfaceEnd = {
      address: `discord:${channel.id}`,
      place: 'private',
      userId: `discord:${person.id}`,
    };
    const to: SurfaceEnd = { address: `telegram:${chat}`, place: 'private', userId: `telegram:${chat}` };
    codes += 1;
    const hash = String(codes).padStart(64, 'd');
    await store.surfaces.giveCode(hash, { ...from, session: from.address });
    await store.surfaces.enterCode(hash, to);
    for (const { address, userId } of [to, from])
      await store.surfaces.agree({ address, userId, owner: false });
    return { chat, channel, person };
  };
  const toolAnswer = async (said: string): Promise<string> => {
    const body = await vi.waitFor(() => {
      const call = fixture().ollama.calls.find(
        ({ body: { messages } }) =>
          messages.some(({ content }) => content?.includes(said)) &&
          messages.some(({ role }) => role === 'tool'),
      );
      if (call === undefined) throw new Error('the tool has not answered');
      return call.body;
    }, WAIT);
    return withoutNotes(body.messages.findLast(({ role }) => role === 'tool')?.content ?? '');
  };

  it('reads it on the network that was named, and nowhere else', async () => {
    const { chat, channel, person } = await linked();
    calls(`build ${chat}`, 'message', { text: 'The build is green.', to: 'telegram' });
    fixture().discord.says(channel, `build ${chat}, tell me on Telegram`, person);
    await seen(chat, 'The build is green.');
    await seenOn(channel, 'echo:');
    expect(fixture().discord.screen(channel).join('\n')).not.toContain('The build is green.');
    expect(await toolAnswer(`build ${chat}`)).toBe(`Sent to telegram:${chat}.`);
  });

  it('reads privately what was requested in a group, in the conversation of that chat', async () => {
    const chat = someone();
    fixture().telegram.says(chat, `hello ${chat}`, chat);
    await seen(chat, `echo: hello ${chat}`);
    calls(`privately ${chat}`, 'message', { text: `Only you, ${chat}.`, to: 'telegram' });
    fixture().telegram.says(GROUP, `tell me privately ${chat}`, chat);
    await seen(GROUP, 'May I do this');
    expect(screen(chat)).not.toContain('Only you');
    fixture().telegram.says(GROUP, '/approve', OWNER_CHAT);
    await seen(chat, `Only you, ${chat}.`);
    expect(fixture().telegram.screen(GROUP)).not.toContain(`Only you, ${chat}.`);
    const stored = await fixture().messages(`telegram:${chat}`);
    expect(stored.at(-1)?.content).toBe(`Only you, ${chat}.`);
  });

  it('is asked for approval first if others have written what the model read', async () => {
    const { chat, channel, person } = await linked();
    calls(`page ${chat}`, 'read_page', {});
    calls(`page ${chat}`, 'message', { text: 'Everybody, listen.', to: 'telegram' });
    fixture().discord.says(channel, `read the page ${chat}`, person);
    await seenOn(channel, 'May I do this');
    const posted = (): string[] =>
      fixture()
        .telegram.screen(chat)
        .filter((text) => text === 'Everybody, listen.');
    expect(posted()).toEqual([]);
    fixture().discord.says(channel, '/deny', person);
    await seenOn(channel, 'echo:');
    expect(posted()).toEqual([]);
  });

  it('has no chat on a network where none is linked, and never one of someone else', async () => {
    const [chat, other, third] = [someone(), someone(), someone()];
    fixture().telegram.says(other, `hello ${other}`, other);
    await seen(other, `echo: hello ${other}`);
    calls(`discord ${chat}`, 'message', { text: 'x', to: 'discord' });
    fixture().telegram.says(chat, `on discord ${chat}`, chat);
    expect(await toolAnswer(`on discord ${chat}`)).toBe(
      `Not sent: there is no chat of this person on "discord"; there is telegram:${chat}. They can link one with /link.`,
    );
    calls(`to them ${third}`, 'message', { text: 'x', to: `telegram:${other}` });
    fixture().telegram.says(third, `to them ${third}`, third);
    expect(await toolAnswer(`to them ${third}`)).toContain(
      'is not a chat of this conversation or of this person',
    );
    expect(fixture().telegram.screen(other)).toHaveLength(1);
  });

  it('gets the answer of a schedule there, until the chats are separated', async () => {
    const { chat, channel, person } = await linked();
    const task = `Look after ${chat}.`;
    calls(`watch ${chat}`, 'cron', { action: 'add', task, every_minutes: 60, to: 'telegram' });
    fixture().discord.says(channel, `watch ${chat} for me`, person);
    expect(await toolAnswer(`watch ${chat}`)).toContain(`It answers in telegram:${chat}.`);
    const due = () =>
      fixture().sql`update schedule set next_at = now() where task = ${task}`.then(() => undefined);
    await due();
    await seen(chat, task);
    await fixture().store.surfaces.leave(`telegram:${chat}`);
    await due();
    await vi.waitFor(() => expect(fixture().log.join('')).toContain('schedule_switched_off_no_access'), {
      ...WAIT,
      timeout: 30_000,
    });
  }, 60_000);
});
