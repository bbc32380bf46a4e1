/** Replies to messages of the bot that are gone or that only one person sees: they are read, and decide nothing. */
import { expect, it, vi } from 'vitest';
import { riskyTools } from '../../fakes/agent/risky-tools.ts';
import { deletes } from '../../fakes/discord/acts.ts';
import type { FakeChannel, FakeMessage, FakePerson } from '../../fakes/discord/platform.ts';
import { FAKE_BOT } from '../../fakes/telegram/telegram.ts';
import { pendingNow, pendingSoon } from '../approvals/pending.ts';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';

const GROUP = '-4301';
const [OWNER = ''] = FRIENDS;
const ran: string[] = [];
const file = { access: { telegram: { groups: { [GROUP]: {} } }, owners: { telegram: [OWNER] } } };
const options = { telegram: true, discord: true, file, tools: riskyTools(ran) };

describeGateway('a reply in a group where a call waits for approval', options, (fixture) => {
  const calls = (said: string): void =>
    fixture().ollama.answer({ toolCalls: [{ name: 'wipe', args: { word: said } }] }, { when: said });
  const messages = (channel: FakeChannel, viewer?: FakePerson): FakeMessage[] =>
    fixture()
      .discord.visible(channel, viewer)
      .filter(({ author }) => author.bot === true);
  /** The reply waits as a message; nothing is decided until a person approves. */
  const isMessage = async (session: string, word: string, reply: string): Promise<void> => {
    await vi.waitFor(async () => {
      const [row] = await fixture()
        .sql`select tail - head as waiting from lane where key = ${`in:${session}`}`;
      expect(Number(row?.['waiting'])).toBe(2);
    }, WAIT);
    const waiting = await pendingNow(fixture(), { session });
    expect(waiting).toMatchObject({ tool: 'wipe', args: { word } });
    expect(ran.filter((run) => run.includes(word))).toEqual([]);
    const json = { decision: 'approved' };
    expect((await fixture().call(`/v1/approvals/${waiting?.id}`, { json })).status).toBe(200);
    await fixture().modelCall(reply);
    expect(ran).toContain(`wipe ${word}`);
  };

  it.each(['deleted', 'hidden'] as const)(
    'to a %s message on Discord is read, and decides nothing',
    async (state) => {
      const { discord, store } = fixture();
      const channel = discord.platform.addChannel(0);
      const person = discord.person('Bo');
      await store.access.addGrant('discord', 'group', channel.id);
      await store.access.addGrant('discord', 'owner', person.id);
      const word = `${state} disk`;
      calls(word);
      discord.says(channel, word, person, { mention: true });
      const session = `discord:${channel.id}`;
      await pendingSoon(fixture(), { session });
      const ofBot = (viewer?: FakePerson): FakeMessage | undefined => messages(channel, viewer).at(-1);
      await vi.waitFor(() => expect(ofBot()?.content).toContain(word), WAIT);
      if (state === 'hidden') {
        discord.slash(channel, 'status', {}, person);
        await vi.waitUntil(() => ofBot(person)?.onlyFor === person.id, WAIT);
      }
      const target = ofBot(person);
      if (target === undefined) throw new Error('the bot has shown nothing');
      if (state === 'deleted') deletes(discord, target);
      // Discord: "If the field exists but is null, the referenced message was deleted."
      const reference = { type: 0, channel_id: channel.id, message_id: target.id };
      const fields = { message_reference: reference, referenced_message: null };
      discord.says(channel, `not the ${word}`, person, { mention: true, type: 19, fields });
      await isMessage(session, word, `not the ${word}`);
    },
  );

  it('to a deleted message on Telegram is read, and decides nothing', async () => {
    const { telegram } = fixture();
    const name = `@${FAKE_BOT.username}`;
    calls('old disk');
    telegram.says(GROUP, `${name} old disk`, OWNER);
    await vi.waitFor(() => expect(telegram.screen(GROUP).join()).toContain('May I do this'), WAIT);
    const replyTo = telegram.messages(GROUP).at(-1)?.id ?? 0;
    telegram.chats.open(GROUP).messages.delete(replyTo);
    telegram.says(GROUP, `${name} not the old disk`, OWNER, { replyTo });
    await isMessage(`telegram:${GROUP}`, 'old disk', 'not the old disk');
  });
});
