/** Chats that share one answer: a late one catches up, a slow one delays no one, and any of them may decide. */
import { expect, it, vi } from 'vitest';
import { z } from 'zod';
import type { SurfaceEnd } from '../../../src/protocol/sessions/surfaces.ts';
import { defineTool } from '../../../src/protocol/agent/tool.ts';
import type { FakeChannel, FakePerson } from '../../fakes/discord/platform.ts';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';

const people = FRIENDS.values();
const ran: string[] = [];
const launch = defineTool<{ word: string }>({
  name: 'launch',
  description: 'Launches it.',
  parameters: z.strictObject({ word: z.string() }),
  effect: 'unsafe',
  risk: () => 'dangerous',
  warning: () => 'launches it',
  results: 'operator',
  reach: () => 'outside',
  async execute({ word }) {
    ran.push(word);
    return { content: 'launched' };
  },
});
const OWNER_CHAT = FRIENDS.at(-1) ?? '';
const GROUP = '-4302';
const SETTINGS = {
  telegram: true,
  discord: true,
  tools: [launch],
  file: {
    access: {
      telegram: { allow: FRIENDS, groups: { [GROUP]: { mention: false } } },
      owners: { telegram: [OWNER_CHAT] },
    },
    tools: { enabled: ['message'] },
  },
};
const words = (count: number): string => Array.from({ length: count }, (_, n) => `word${n}`).join(' ');

interface Linked {
  chat: string;
  channel: FakeChannel;
  person: FakePerson;
  /** The last of the two consents, on Telegram. */
  agree: () => void;
}

describeGateway('chats that share one answer', SETTINGS, (fixture) => {
  let codes = 0;
  const screen = (chat: string): string[] => fixture().telegram.screen(chat);
  const says = (chat: string, text: string): unknown => fixture().telegram.says(chat, text, chat);
  const shown = (channel: FakeChannel): string[] => {
    const seen = fixture().discord.visible(channel);
    return fixture()
      .discord.screen(channel)
      .filter((_, index) => seen[index]?.author.bot === true);
  };
  const seen = (chat: string, text: string): Promise<void> =>
    vi.waitFor(() => expect(screen(chat).join('\n')).toContain(text), WAIT);
  const seenOn = (channel: FakeChannel, text: string): Promise<void> =>
    vi.waitFor(() => expect(shown(channel).join('\n')).toContain(text), WAIT);
  /** A chat on Telegram, and one on Discord that has entered its code and agreed. */
  const almostLinked = async (chat = people.next().value ?? ''): Promise<Linked> => {
    const { store, discord } = fixture();
    says(chat, `hello ${chat}`);
    await seen(chat, `echo: hello ${chat}`);
    const { channel, person } = discord.dm(`Ada ${chat}`);
    await store.access.addGrant('discord', 'dm', person.id);
    const from: SurfaceEnd = { address: `telegram:${chat}`, place: 'private', userId: `telegram:${chat}` };
    const to: SurfaceEnd = {
      address: `discord:${channel.id}`,
      place: 'private',
      userId: `discord:${person.id}`,
    };
    codes += 1;
    const hash = String(codes).padStart(64, 'f');
    await store.surfaces.giveCode(hash, { ...from, session: from.address });
    await store.surfaces.enterCode(hash, to);
    await store.surfaces.agree({ address: to.address, userId: to.userId, owner: false });
    return { chat, channel, person, agree: () => says(chat, '/link yes') };
  };
  const linked = async (chat?: string): Promise<Linked> => {
    const both = await almostLinked(chat);
    both.agree();
    await seenOn(both.channel, 'now shares this conversation');
    return both;
  };

  it.concurrent('give one that joins in the middle the answer so far, and then its growth', async () => {
    const { chat, channel, agree } = await almostLinked();
    const answer = words(40);
    fixture().ollama.answer({ text: answer, failure: { kind: 'hang', after: 20 } }, { when: `tell ${chat}` });
    says(chat, `tell ${chat}`);
    await seen(chat, 'word19');
    expect(shown(channel).join('\n')).not.toContain('word');
    agree();
    // The model is still silent: what Discord shows was said before it joined.
    await seenOn(channel, 'word19');
    expect(shown(channel).join('\n')).not.toContain('word20');
    (await fixture().modelCall(`tell ${chat}`)).release();
    for (const look of [() => screen(chat), () => shown(channel)])
      await vi.waitFor(() => expect(look().filter((text) => text === answer)).toHaveLength(1), WAIT);
    await fixture().idle(`discord:${channel.id}`);
    expect(shown(channel).filter((text) => text.includes('word0'))).toHaveLength(1);
    const grown = fixture()
      .discord.visible(channel)
      .find(({ content }) => content === answer);
    expect(grown?.history.length).toBeGreaterThan(1);
  });

  it.concurrent('notify one that leaves in the middle, in the language of its person', async () => {
    const { chat, channel, person } = await linked();
    fixture().discord.says(channel, '/language de', person);
    await seenOn(channel, 'Deutsch');
    const answer = words(30);
    fixture().ollama.answer({ text: answer, failure: { kind: 'hang', after: 20 } }, { when: `stay ${chat}` });
    says(chat, `stay ${chat}`);
    await seenOn(channel, 'word19');
    fixture().discord.says(channel, '/unlink', person);
    await seenOn(channel, 'wieder für sich');
    (await fixture().modelCall(`stay ${chat}`)).release();
    await seen(chat, answer);
    await seenOn(channel, '(dieser Chat wurde getrennt, bevor die Antwort fertig war)');
    expect(shown(channel).join('\n')).not.toContain('word');
  });

  it('do not wait for a slow one: the next answer is complete on one before the other shows the first', async () => {
    const { chat, channel, person } = await linked();
    await fixture().idle(`telegram:${chat}`);
    const [first, second] = [`First, ${chat}.`, `Second, ${chat}.`];
    fixture().ollama.answer({ text: first }, { when: `one ${chat}` });
    fixture().ollama.answer({ text: second }, { when: `two ${chat}` });
    // Telegram accepts nothing for a while.
    fixture().telegram.rateLimit(6, 1);
    fixture().discord.says(channel, `one ${chat}`, person);
    await seenOn(channel, first);
    fixture().discord.says(channel, `two ${chat}`, person);
    await seenOn(channel, second);
    expect(screen(chat).join('\n')).not.toMatch(/First,|Second,/);
    await seen(chat, second);
    const order = screen(chat).filter((text) => text === first || text === second);
    expect(order).toEqual([first, second]);
  });

  it.concurrent('all show what is asked, and any of them decides, once', async () => {
    const { chat, channel, person } = await linked();
    fixture().ollama.answer(
      { toolCalls: [{ name: 'launch', args: { word: chat } }] },
      { when: `launch ${chat}` },
    );
    fixture().discord.says(channel, `launch ${chat}`, person);
    await seenOn(channel, 'May I do this');
    await seen(chat, 'May I do this');
    says(chat, '/approve');
    await vi.waitFor(() => expect(ran.filter((word) => word === chat)).toHaveLength(1), WAIT);
    await fixture().idle(`telegram:${chat}`);
    expect(shown(channel).join('\n')).not.toContain('May I do this');
    fixture().discord.says(channel, '/deny', person);
    await seenOn(channel, 'There is no pending request here.');
    expect(ran.filter((word) => word === chat)).toHaveLength(1);
  });

  it.concurrent('ask nothing in a group, which reads the answer and may decide nothing', async () => {
    const { chat } = await almostLinked();
    const { store } = fixture();
    const from: SurfaceEnd = { address: `telegram:${chat}`, place: 'private', userId: `telegram:${chat}` };
    const to: SurfaceEnd = { address: `telegram:${GROUP}`, place: 'group', userId: `telegram:${OWNER_CHAT}` };
    fixture().telegram.chats.open(GROUP);
    await store.surfaces.giveCode('9'.repeat(64), { ...from, session: from.address });
    await store.surfaces.enterCode('9'.repeat(64), to);
    for (const { address, userId } of [to, from])
      await store.surfaces.agree({ address, userId, owner: false });
    const call = { toolCalls: [{ name: 'launch', args: { word: `group ${chat}` } }] };
    fixture().ollama.answer(call, { when: `launch it ${chat}` });
    fixture().ollama.answer({ text: `Launched, ${chat}.` }, { when: `launch it ${chat}` });
    says(chat, `launch it ${chat}`);
    await seen(chat, 'May I do this');
    fixture().telegram.says(GROUP, '/approve', chat);
    await seen(GROUP, 'Only an owner of this bot can decide this.');
    expect(screen(GROUP).join('\n')).not.toContain('May I do this');
    expect(ran).not.toContain(`group ${chat}`);
    says(chat, '/approve');
    await seen(GROUP, `Launched, ${chat}.`);
    expect(ran).toContain(`group ${chat}`);
  });

  it.concurrent('give no one the rights of another: what an owner may change, a user who joined them may not', async () => {
    const { chat, channel, person } = await linked(OWNER_CHAT);
    fixture().discord.says(channel, '/model fake/other', person);
    await seenOn(channel, 'owner');
    expect(await fixture().store.ledger.session(`telegram:${chat}`)).toMatchObject({ profileId: 'default' });
    const { model } = (await fixture().store.ledger.session(`telegram:${chat}`)) ?? {};
    expect(model).toBeUndefined();
  });
});
