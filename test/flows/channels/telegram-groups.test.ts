/** Telegram groups as their members see them: replies, anonymous administrators, joining and leaving, privacy mode. */
import { expect, it, vi } from 'vitest';
import { FAKE_BOT } from '../../fakes/telegram/telegram.ts';
import type { FakeMessage } from '../../fakes/telegram/chats.ts';
import { changesBot, editsMessage, saysAnonymously } from '../../fakes/telegram/people.ts';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';

const NAME = `@${FAKE_BOT.username}`;
const OWNER = '7001';
const file = {
  access: {
    telegram: {
      allow: FRIENDS,
      groups: {
        '-4201': {},
        '-4202': {},
        '-4203': {},
        '-4205': {},
        '-1004206': {},
        '-4204': { mention: false },
      },
    },
    owners: { telegram: [OWNER] },
  },
};

describeGateway('A Telegram group', { telegram: true, file }, (fixture) => {
  const screen = (chat: string): string[] => fixture().telegram.screen(chat);
  const shown = (chat: string): FakeMessage[] => fixture().telegram.messages(chat);
  const idle = (chat: string): Promise<void> => fixture().idle(`telegram:${chat}`);
  const questionOf = (chat: string, text: string): FakeMessage | undefined =>
    [...(fixture().telegram.chats.peek(chat)?.messages.values() ?? [])].find((one) =>
      one.text.includes(text),
    );

  it("sees each answer as a reply to its question, even one that grows, and a command's reply as well", async () => {
    const chat = '-4201';
    fixture().ollama.answer({ text: 'one two three four five six seven', perSecond: 20 }, { when: 'first' });
    fixture().telegram.says(chat, `${NAME} first`, '31');
    fixture().telegram.says(chat, `${NAME} second`, '32');
    await vi.waitFor(() => expect(screen(chat)).toHaveLength(2), WAIT);
    await idle(chat);
    expect(shown(chat).map(({ replyTo }) => replyTo)).toEqual([
      questionOf(chat, 'first')?.id,
      questionOf(chat, 'second')?.id,
    ]);
    fixture().telegram.says(chat, '/status', '33');
    await vi.waitFor(() => expect(shown(chat).at(-1)?.replyTo).toBe(questionOf(chat, '/status')?.id), WAIT);
  });

  it('reads along the newest text of what was said without naming the bot', async () => {
    const chat = '-4205';
    const { telegram } = fixture();
    telegram.says(chat, '/observe on', OWNER);
    await vi.waitFor(() => expect(screen(chat)).toHaveLength(1), WAIT);
    telegram.says(chat, 'K', '31');
    telegram.says(chat, 'King Lear is next', '32');
    const taken = () => vi.waitFor(() => expect(telegram.updates.unconfirmed).toBe(0), WAIT);
    await taken();
    editsMessage(telegram, chat, questionOf(chat, 'K')?.id ?? 0, 'King Arthur sat at a round table.');
    await taken();
    telegram.says(chat, `${NAME} who sat there?`, '33');
    const { body } = await fixture().modelCall('who sat there?');
    const read = JSON.stringify(body);
    expect(read).toContain('King Arthur sat at a round table.');
    expect(read).toContain('King Lear is next');
    expect(read).not.toMatch(/: K\\n/);
    await idle(chat);
  });

  it('lets the bot read what a question replies to, also in a supergroup', async () => {
    const chat = '-1004206';
    const { telegram } = fixture();
    telegram.says(chat, 'the moon is cheese', '31');
    const replyTo = questionOf(chat, 'cheese')?.id;
    telegram.says(chat, `${NAME} is this true?`, '32', { replyTo });
    expect(JSON.stringify((await fixture().modelCall('is this true?')).body)).toContain('the moon is cheese');
    await idle(chat);
  });

  it('gets the answer to a question that was deleted in the meantime, and private answers are not replies', async () => {
    const chat = '-4202';
    fixture().ollama.answer({ text: 'still here', hold: true }, { when: 'gone soon' });
    fixture().telegram.says(chat, `${NAME} gone soon`, '31');
    const call = await fixture().modelCall('gone soon');
    fixture()
      .telegram.chats.peek(chat)
      ?.messages.delete(questionOf(chat, 'gone soon')?.id ?? 0);
    call.release();
    await vi.waitFor(() => expect(screen(chat)).toEqual(['still here']), WAIT);
    const [friend = ''] = FRIENDS;
    fixture().telegram.says(friend, 'alone', friend);
    await vi.waitFor(() => expect(screen(friend)).toEqual(['echo: alone']), WAIT);
    expect(shown(friend)[0]?.replyTo).toBeUndefined();
  });

  it('obeys an anonymous administrator with the rights of the group, and not as an owner', async () => {
    const chat = '-4203';
    fixture().ollama.answer({ text: 'word '.repeat(2_000), perSecond: 20 }, { when: 'long story' });
    fixture().telegram.says(chat, `${NAME} long story`, '31');
    await fixture().modelCall('long story');
    saysAnonymously(fixture().telegram, chat, `/stop@${FAKE_BOT.username}`);
    await vi.waitFor(() => expect(screen(chat)).toContain('Stopped.'), WAIT);
    saysAnonymously(fixture().telegram, chat, '/observe on');
    await vi.waitFor(() => expect(screen(chat).at(-1)).toContain('Only an owner'), WAIT);
    saysAnonymously(fixture().telegram, chat, `${NAME} and I?`);
    const { body } = await fixture().modelCall('and I?');
    expect(JSON.stringify(body)).toContain('Group -4203 writes');
    await idle(chat);
  });

  it('is greeted when the bot joins: with how to ask it, or with how to allow the group', async () => {
    const { telegram } = fixture();
    changesBot(telegram, '-4201', '31', ['left', 'member']);
    await vi.waitFor(() => expect(screen('-4201').at(-1)).toMatch(/^Hello! Mention me/), WAIT);
    changesBot(telegram, '-4299', '31', ['left', 'member']);
    await vi.waitFor(
      () => expect(screen('-4299')).toEqual([expect.stringContaining('parley pair group telegram -4299')]),
      WAIT,
    );
    // A promotion is not a join, and in private no one is greeted.
    changesBot(telegram, '-4299', '31', ['member', 'administrator']);
    const [, friend = ''] = FRIENDS;
    changesBot(telegram, friend, friend, ['kicked', 'member']);
    telegram.says(friend, 'hi', friend);
    await vi.waitFor(() => expect(screen(friend)).toEqual(['echo: hi']), WAIT);
    expect(screen('-4299')).toHaveLength(1);
  });

  it('that has removed the bot, and a user who has blocked it, cost no further model calls', async () => {
    const [, , friend = ''] = FRIENDS;
    for (const [chat, status] of [
      ['-4202', 'left'],
      [friend, 'kicked'],
    ] as const) {
      fixture().ollama.answer({ text: 'too late', hold: true }, { when: `tell ${chat}` });
      fixture().telegram.says(chat, `${NAME} tell ${chat}`, friend);
      const call = await fixture().modelCall(`tell ${chat}`);
      changesBot(fixture().telegram, chat, friend, ['member', status]);
      expect((await call.closed).by).toBe('client');
    }
    // A user who unblocks it is answered, also what they asked before.
    changesBot(fixture().telegram, friend, friend, ['kicked', 'member']);
    fixture().telegram.says(friend, 'back again', friend);
    await vi.waitFor(() => expect(screen(friend).at(-1)).toMatch(/^echo: .*\n\nback again$/), WAIT);
  });

  it('tells operators in /status that privacy mode hides what the settings ask for, but not members', async () => {
    fixture().telegram.says(OWNER, '/status', OWNER);
    await vi.waitFor(
      () => expect(screen(OWNER).at(-1)).toMatch(/privacy mode is on, .* a group ask.*\/setprivacy/s),
      WAIT,
    );
    fixture().telegram.says(OWNER, '/language de', OWNER);
    fixture().telegram.says(OWNER, '/status', OWNER);
    await vi.waitFor(
      () => expect(screen(OWNER).at(-1)).toContain('die Einstellungen einer Gruppe wollen alle Nachrichten'),
      WAIT,
    );
    const [, , , friend = ''] = FRIENDS;
    fixture().telegram.says(friend, '/status', friend);
    await vi.waitFor(() => expect(screen(friend).at(-1)).toContain('Idle'), WAIT);
    expect(screen(friend).at(-1)).not.toContain('privacy mode');
  });
});
