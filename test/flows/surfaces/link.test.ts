/** One conversation, several chats: a code, two consents, the same questions and answers everywhere, and separating. */
import { expect, it, vi } from 'vitest';
import { hashSecret } from '../../../src/security/token-lookup.ts';
import type { FakeChannel, FakePerson } from '../../fakes/discord/platform.ts';
import { describeGateway, FRIENDS, HALF, WAIT } from '../setup.ts';

const people = FRIENDS.values();
const words = (count: number): string => Array.from({ length: count }, (_, n) => `word${n}`).join(' ');

const OWNER_CHAT = FRIENDS.at(-1) ?? '';
const GROUP = '-4301';
const SETTINGS = {
  telegram: true,
  discord: true,
  file: {
    access: {
      telegram: { allow: FRIENDS, groups: { [GROUP]: { mention: false } } },
      owners: { telegram: [OWNER_CHAT] },
    },
  },
};

describeGateway('linked chats', SETTINGS, (fixture) => {
  const someone = (): string => people.next().value ?? '';
  const screen = (chat: string): string[] => fixture().telegram.screen(chat);
  const shown = (channel: FakeChannel): string[] => {
    const seen = fixture().discord.visible(channel);
    return fixture()
      .discord.screen(channel)
      .filter((_, index) => seen[index]?.author.bot === true);
  };
  const says = (chat: string, text: string): unknown => fixture().telegram.says(chat, text, chat);
  /** A private chat on Discord with a user who may write. */
  const friend = async (name: string): Promise<{ channel: FakeChannel; person: FakePerson }> => {
    const { channel, person } = fixture().discord.dm(name);
    await fixture().store.access.addGrant('discord', 'dm', person.id);
    return { channel, person };
  };
  const seen = async (chat: string, text: string): Promise<void> => {
    await vi.waitFor(() => expect(screen(chat).join('\n')).toContain(text), WAIT);
  };
  const seenOn = async (channel: FakeChannel, text: string): Promise<void> => {
    await vi.waitFor(() => expect(shown(channel).join('\n')).toContain(text), WAIT);
  };
  const codeOn = async (chat: string): Promise<string> => {
    says(chat, '/link');
    await seen(chat, '/link ');
    return /\/link ([0-9A-Z]{5}-[0-9A-Z]{5})/.exec(screen(chat).join('\n'))?.[1] ?? '';
  };
  /** Links a Discord chat to one on Telegram: the first's code, entered in the second, and both consents. */
  const linked = async (): Promise<{ chat: string; channel: FakeChannel; person: FakePerson }> => {
    const chat = someone();
    const { channel, person } = await friend('Ada');
    const code = await codeOn(chat);
    fixture().discord.says(channel, `/link ${code}`, person);
    await seenOn(channel, 'I sent a request to Telegram');
    await seen(chat, 'has entered the code');
    fixture().discord.says(channel, '/link yes', person);
    await seenOn(channel, 'Waiting for Telegram');
    says(chat, '/link yes');
    await seen(chat, 'now shares this conversation');
    await seenOn(channel, 'now shares this conversation');
    return { chat, channel, person };
  };

  it.concurrent('ask both sides, show a question of one on the other, and the same answer on both', async () => {
    const { chat, channel } = await linked();
    const answer = words(60);
    fixture().ollama.answer({ text: answer, failure: HALF }, { when: `tell both ${chat}` });
    says(chat, `tell both ${chat}`);
    await seenOn(channel, 'word29');
    await seen(chat, 'word29');
    (await fixture().modelCall(`tell both ${chat}`)).release();
    await seen(chat, answer);
    await seenOn(channel, answer);
    await fixture().idle(`telegram:${chat}`);
    await fixture().idle(`discord:${channel.id}`);
    expect(shown(channel).filter((text) => text === answer)).toHaveLength(1);
    expect(screen(chat).filter((text) => text === answer)).toHaveLength(1);
    const question = shown(channel).findIndex((text) => text.includes(`on Telegram:`));
    expect(shown(channel)[question]).toContain(`tell both ${chat}`);
    expect(shown(channel).indexOf(answer)).toBe(question + 1);
    const grown = fixture()
      .discord.visible(channel)
      .find(({ content }) => content === answer);
    expect(grown?.history.length).toBeGreaterThan(1);
  });

  it.concurrent('read what was said on either side, and who said it where', async () => {
    const { chat, channel, person } = await linked();
    says(chat, `my number is 4711 ${chat}`);
    await seenOn(channel, 'echo:');
    fixture().discord.says(channel, `which number ${chat}?`, person);
    await fixture().modelCall(`which number ${chat}`);
    await vi.waitFor(async () => expect(await fixture().messages(`telegram:${chat}`)).toHaveLength(4), WAIT);
    const call = await fixture().modelCall(`which number ${chat}`);
    expect(JSON.stringify(call.body.messages)).toContain('4711');
    expect(JSON.stringify(call.body.messages)).toContain(
      `also read on Telegram (private chat, address telegram:${chat})`,
    );
    await seen(chat, `Ada on Discord: which number ${chat}?`);
  });

  it.concurrent('separate a chat, which has its own conversation again', async () => {
    const { chat, channel, person } = await linked();
    fixture().discord.says(channel, '/surfaces', person);
    await seenOn(channel, 'Discord (private chat with Ada)');
    fixture().discord.says(channel, '/unlink', person);
    await seenOn(channel, 'This chat is separate again');
    await seen(chat, 'has left this conversation');
    const before = screen(chat).length;
    fixture().discord.says(channel, `only here ${chat}`, person);
    await seenOn(channel, `echo: only here ${chat}`);
    await fixture().idle(`discord:${channel.id}`);
    await fixture().idle(`telegram:${chat}`);
    expect(screen(chat)).toHaveLength(before);
    says(chat, '/surfaces');
    await seen(chat, 'does not share its conversation with another chat');
  });

  it.concurrent('accept a code once, explain what is wrong with others, and block guessing', async () => {
    const { chat, channel, person } = await linked();
    const used = /\/link ([0-9A-Z-]{11})/.exec(screen(chat).join('\n'))?.[1] ?? '';
    // An owner may write as fast as they like, and guess no faster than others.
    const guess = async (code: string, answer: string): Promise<void> => {
      const before = screen(OWNER_CHAT).length;
      says(OWNER_CHAT, `/link ${code}`);
      await vi.waitFor(() => expect(screen(OWNER_CHAT).slice(before).join('')).toContain(answer), WAIT);
    };
    await guess(used, 'already used');
    for (let n = 4; n > 1; n -= 1) await guess(`AAAAA-0000${n}`, `you have ${n} more tries`);
    await guess('AAAAA-00001', 'you have one more try');
    await guess('no code at all', 'Too many wrong codes');
    expect(screen(OWNER_CHAT).join('\n')).not.toMatch(/Ada|Discord/);
    await guess(await codeOn(chat), 'Too many wrong codes');
    expect(fixture().log.join('')).toContain('link_guessing');
    fixture().discord.says(channel, '/unlink', person);
    await seenOn(channel, 'separate again');
  });

  it.concurrent('join nothing when one side declines', async () => {
    const chat = someone();
    const { channel, person } = await friend('Bo');
    const code = await codeOn(chat);
    fixture().discord.says(channel, `/link ${code}`, person);
    await seen(chat, 'has entered the code');
    fixture().telegram.press(chat, 'Decline', chat);
    await seenOn(channel, 'not linked');
    fixture().discord.says(channel, '/link yes', person);
    await seenOn(channel, 'There is nothing to confirm here');
    says(chat, '/surfaces');
    await seen(chat, 'does not share its conversation with another chat');
    expect(await fixture().store.surfaces.surface(`telegram:${chat}`)).toBeUndefined();
  });

  it.concurrent('continue for the others when one of the chats blocks the bot in the middle of an answer', async () => {
    const { chat, channel, person } = await linked();
    const answer = words(60);
    fixture().ollama.answer({ text: answer, perSecond: 15 }, { when: `block me ${chat}` });
    fixture().discord.says(channel, `block me ${chat}`, person);
    await vi.waitFor(() => expect(screen(chat).join('')).toContain('word3'), WAIT);
    fixture().telegram.closeChat(chat);
    await seenOn(channel, answer);
    await seenOn(channel, 'I can no longer write to Telegram');
    fixture().discord.says(channel, '/surfaces', person);
    await seenOn(channel, 'does not share its conversation with another chat');
  });

  it.concurrent('let a chat of the page give the code, and end a turn there from Telegram', async () => {
    const chat = someone();
    await fixture().post(`page${chat}`, 'hello');
    await fixture().idle(`http:page${chat}`);
    const of = (route: string): string => `/v1/sessions/http:page${chat}${route}`;
    const given = await fixture().call(of('/links'), { method: 'POST' });
    expect(given.status).toBe(201);
    const { code } = await given.json();
    const agree = { session: `http:page${chat}`, agree: true };
    const early = await fixture().call(`/v1/links/${code}`, { json: agree });
    expect((await early.json()).error.code).toBe('not_asked');
    says(chat, `/link ${code}`);
    await seen(chat, 'I sent a request to Web');
    says(chat, '/link yes');
    await seen(chat, 'Waiting for Web');
    const asked = await (await fixture().call(of('/surfaces'))).json();
    expect(asked).toMatchObject({ surfaces: [], asks: { address: `telegram:${chat}`, place: 'private' } });
    const token = 'a-token-of-somebody-else-0123456789';
    const hash = hashSecret(token);
    await fixture().store.access.putToken({ hash, name: 'other', scopes: ['chat', 'commands'] });
    const foreign = { json: agree, token };
    expect((await fixture().call(`/v1/links/${code}`, foreign)).status).toBe(404);
    const answered = await fixture().call(`/v1/links/${code}`, { json: agree });
    expect(await answered.json()).toEqual({ state: 'joined' });
    await seen(chat, 'now shares this conversation');
    const { surfaces } = await (await fixture().call(of('/surfaces'))).json();
    expect(surfaces.map(({ address }: { address: string }) => address)).toEqual([
      `http:page${chat}`,
      `telegram:${chat}`,
    ]);
    fixture().ollama.answer({ text: words(200), perSecond: 20 }, { when: `long one ${chat}` });
    await fixture().post(`page${chat}`, `long one ${chat}`);
    await vi.waitFor(() => expect(screen(chat).at(-1)).toContain('word2'), WAIT);
    says(chat, '/stop');
    await seen(chat, 'Stopped.');
    await vi.waitFor(async () => {
      const stored = await fixture().messages(`http:page${chat}`);
      expect(stored.at(-1)?.role).toBe('assistant');
    }, WAIT);
    const gone = await fixture().call(of(`/surfaces/telegram:${chat}`), { method: 'DELETE' });
    expect(await gone.json()).toEqual({ left: `telegram:${chat}` });
    await vi.waitFor(
      async () => expect(await fixture().store.surfaces.surface(`telegram:${chat}`)).toBeUndefined(),
      WAIT,
    );
  });

  it.concurrent('are joined by a group only through its administrator, and keep what is remembered of people out of it', async () => {
    const chat = someone();
    await fixture().store.memories.remember(`telegram:${chat}`, {
      key: 'birthday',
      session: `telegram:${chat}`,
      text: 'Their birthday is the third of May.',
      untrusted: false,
    });
    says(chat, `when is my birthday ${chat}?`);
    const alone = await fixture().modelCall(`my birthday ${chat}`);
    expect(JSON.stringify(alone.body.messages)).toContain('third of May');
    const code = await codeOn(chat);
    fixture().telegram.says(GROUP, `/link ${code}`, chat);
    await seen(GROUP, 'Only an owner of this bot or an administrator');
    fixture().telegram.introduction.administrators.add(`${GROUP} ${chat}`);
    fixture().telegram.says(GROUP, `/link ${code}`, chat);
    await seen(GROUP, 'I sent a request to Telegram');
    await seen(chat, 'Everyone in that group will read');
    fixture().telegram.press(GROUP, 'Join', chat);
    fixture().telegram.press(chat, 'Join', chat);
    await seen(GROUP, 'now shares this conversation');
    says(chat, `say my birthday ${chat} again`);
    const shared = await fixture().modelCall(`birthday ${chat} again`);
    expect(JSON.stringify(shared.body.messages)).not.toContain('third of May');
    expect(JSON.stringify(shared.body.messages)).toContain('People other than the writer read it');
    await seen(GROUP, `say my birthday ${chat} again`);
  });
});
