/**
 * A day in a group, on Telegram, Discord and Slack, in the shapes in which these networks send it: sixty messages of people
 * who mostly talk with each other, of which the bot is asked a few. What the model heard, and what people saw.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { afterAll, expect, it, vi } from 'vitest';
import { riskyTools } from '../../fakes/agent/risky-tools.ts';
import { fillsIn } from '../../fakes/discord/acts.ts';
import { openThread } from '../../fakes/discord/threads.ts';
import { isTurnCall, lastUserText } from '../../fakes/model/spoken-text.ts';
import { variablesOf } from '../../fakes/networks.ts';
import { FakeSlack, textOf } from '../../fakes/slack/slack.ts';
import { editsMessage } from '../../fakes/telegram/people.ts';
import { FAKE_BOT } from '../../fakes/telegram/telegram.ts';
import { describeGateway, type GatewayFixture, WAIT } from '../setup.ts';

const slack = await FakeSlack.open();
afterAll(() => slack.close());
const slackBoss = slack.workspace.person('Dora');
const env = variablesOf({ slack });
const GROUP = '-1005001';
const FORUM = '-1005002';
const [ADA, BOB, CEM, DORA] = ['31', '32', '33', '39'];
const ran: string[] = [];
const file = {
  access: {
    telegram: { groups: { [GROUP]: {}, [FORUM]: {} } },
    owners: { telegram: [DORA], slack: [slackBoss.id] },
  },
};

/** What people write to each other, by who writes it: 24 messages before lunch, and again in the afternoon. */
const TALK: readonly (readonly [0 | 1 | 2, string])[] = [
  [0, 'Morning all'],
  [1, 'Morning'],
  [2, 'o/'],
  [0, 'Trains are late again'],
  [1, 'as every Monday 🙄'],
  [2, 'working from home today'],
  [0, 'https://status.example.org says 40 minutes'],
  [1, 'that is *optimistic*'],
  [2, 'ok, coffee first'],
  [1, 'I pushed the fix'],
  [2, 'which one?'],
  [1, 'the one for the attic sensor'],
  [2, '👏'],
  [0, 'nice'],
  [1, '`npm test` is green'],
  [2, 'did you try it on the node?'],
  [1, 'not yet'],
  [0, 'please do'],
  [1, 'later'],
  [2, '> later\nfamous last words'],
  [1, ':)'],
  [0, 'lunch?'],
  [2, 'twelve'],
  [1, '+1'],
];
const INDISCREET = /Trains are late|attic sensor|famous last words|afternoon/;

/** Prepares the answers to questions, in the order in which they are asked. */
function answers(fixture: GatewayFixture, pairs: readonly (readonly [string, string])[]): void {
  for (const [when, text] of pairs) fixture.ollama.answer({ text }, { when });
}

/** The words with which the model was asked since `from`, without the gateway's notes; written with what people saw. */
function heardSince(fixture: GatewayFixture, from: number, name: string, screen: string[]): string[] {
  const turns = fixture.ollama.calls.slice(from).filter(({ body }) => isTurnCall(body));
  const heard = turns.map(({ body }) => lastUserText(body).replaceAll(/[0-9a-f]{16}/g, '#'));
  const folder = new URL('../../.tmp/', import.meta.url);
  mkdirSync(folder, { recursive: true });
  const pages = [...heard.map((text) => `HEARD\n${text}`), ...screen.map((text) => `SEEN\n${text}`)];
  writeFileSync(new URL(`day-in-a-group-${name}.txt`, folder), pages.join('\n\n'));
  return heard;
}

describeGateway(
  'A day in a group',
  { telegram: true, discord: true, env, file, tools: riskyTools(ran) },
  (fixture) => {
    it('on Telegram: a post of the linked channel, replies, a quote, a forward, an edit, topics and an approval at night', async () => {
      const { telegram, ollama } = fixture();
      const from = ollama.calls.length;
      const name = `@${FAKE_BOT.username}`;
      const people = [ADA, BOB, CEM] as const;
      const screen = (): string[] => telegram.screen(GROUP);
      const shows = (text: string): Promise<void> =>
        vi.waitFor(() => expect(screen().join('\n')).toContain(text), WAIT);
      const says = (text: string, who: string, more: Parameters<typeof telegram.says>[3] = {}): number => {
        telegram.says(GROUP, text, who, more);
        return [...telegram.chats.open(GROUP).messages.keys()].at(-1) ?? 0;
      };
      answers(fixture(), [
        ['what does this say', 'It announces version 2.'],
        ['in one word', 'Release.'],
        ['is this true', 'Forty minutes, yes.'],
        ['who says so', 'The channel News.'],
        ['and in the forum', 'Topic five.'],
        ['and here', 'Topic six.'],
      ]);
      const morning = TALK.map(([who, text]) => says(text, people[who]));
      const entities = [{ type: 'text_link', offset: 18, length: 19, url: 'https://example.org/notes' }];
      const releases = { id: -1_009_009, type: 'channel', title: 'Releases' };
      const text = 'Version 2 is out. Read the notes here.';
      const linked = {
        from: { id: 777_000, is_bot: false, first_name: 'Telegram' },
        sender_chat: releases,
        is_automatic_forward: true,
        entities,
      };
      const post = says(text, '777000', { fields: linked });
      const chat = { id: Number(GROUP), type: 'supergroup', title: 'Group' };
      const answered = { ...linked, message_id: post, date: 1, chat, text };
      says(`${name} what does this say?`, BOB, { replyTo: post, fields: { reply_to_message: answered } });
      await shows('It announces version 2.');
      const announced = telegram.messages(GROUP).find(({ text }) => text.includes('version 2'));
      says('and in one word?', CEM, { replyTo: announced?.id ?? 0 });
      await shows('Release.');
      says(`${name} is this true?`, ADA, {
        replyTo: morning[6] ?? 0,
        fields: { quote: { text: '40 minutes', position: 31, is_manual: true } },
      });
      await shows('Forty minutes, yes.');
      const origin = {
        type: 'channel',
        chat: { ...chat, id: -1_009_010, title: 'News' },
        message_id: 5,
        date: 1,
      };
      const news = { message_id: says('Rivers rise.', ADA), date: 1, chat, text: 'Rivers rise.' };
      const from31 = { id: Number(ADA), is_bot: false, first_name: 'Person 31' };
      const reply_to_message = { ...news, from: from31, forward_origin: origin };
      const asked = says(`${name} who says so?`, BOB, {
        replyTo: news.message_id,
        fields: { reply_to_message },
      });
      await shows('The channel News.');
      editsMessage(telegram, GROUP, asked, `${name} when was that?`);
      await shows('before you edited your question');
      for (const [who, text] of TALK) says(`${text} (afternoon)`, people[who]);
      telegram.chats.open(FORUM, { topics: [5, 6] });
      telegram.says(FORUM, `${name} and in the forum?`, ADA, { threadId: 5 });
      telegram.says(FORUM, `${name} and here?`, BOB, { threadId: 6 });
      await vi.waitFor(
        () => expect(telegram.screen(FORUM).toSorted()).toEqual(['Topic five.', 'Topic six.']),
        WAIT,
      );

      ollama.answer({ toolCalls: [{ name: 'wipe', args: { word: 'the disk' } }] }, { when: 'wipe the disk' });
      ollama.answer({ text: 'Then I leave the disk alone.' }, { when: 'wipe the disk' });
      says(`${name} wipe the disk`, CEM);
      await shows('May I do this?');
      const request = telegram.messages(GROUP).findLast(({ text }) => text.includes('May I do this?'));
      says('no, not at night', DORA, { replyTo: request?.id ?? 0 });
      await shows('Then I leave the disk alone.');
      await fixture().idle(`telegram:${GROUP}`);

      const heard = heardSince(fixture(), from, 'telegram', [...screen(), ...telegram.screen(FORUM)]);
      expect(heard[0]).toContain('Version 2 is out. [Read the notes here](https://example.org/notes)');
      expect(heard[1]).toMatch(
        /an earlier message of yours[\s\S]*It announces version 2\.[\s\S]*and in one word\?/,
      );
      expect(heard[2]).toMatch(/40 minutes[\s\S]*is this true\?/);
      expect(heard[3]).toMatch(/News[\s\S]*Rivers rise\.[\s\S]*who says so\?/);
      expect(heard.join('\n')).not.toMatch(INDISCREET);
      expect(screen().slice(0, 3)).toEqual(['It announces version 2.', 'Release.', 'Forty minutes, yes.']);
      expect(screen().join('\n')).toMatch(/Denied by Person 39: no, not at night/);
      expect(ran).toEqual([]);
    });

    it('on Discord: an alert in an embed, a reply, a forward, two threads, names of channels and an approval at night', async () => {
      const { discord, ollama } = fixture();
      const from = ollama.calls.length;
      const { platform } = discord;
      const channel = platform.addChannel(0);
      const garden = platform.addChannel(0, { name: 'garden' });
      await fixture().store.access.addGrant('discord', 'group', channel.id);
      const discordBoss = discord.person('Dora');
      await fixture().store.access.addGrant('discord', 'owner', discordBoss.id);
      const people = [discord.person('Ada'), discord.person('Bob'), discord.person('Cem')] as const;
      const [ada, bob, cem] = people;
      const screenOf = (one: typeof channel): string[] =>
        discord
          .visible(one)
          .flatMap(({ author, content }) => (author.bot === true && content !== '' ? [content] : []));
      const shows = (one: typeof channel, text: string): Promise<void> =>
        vi.waitFor(() => expect(screenOf(one).join('\n')).toContain(text), WAIT);
      answers(fixture(), [
        ['what does this alert mean', 'A null value in the checkout.'],
        ['how do I fix that', 'Check it before use.'],
        ['who waters', 'Cem does.'],
        ['summarize this thread', 'The deploy ran out of memory.'],
        ['capital of France', 'Paris.'],
        ['and of Spain', 'Madrid.'],
      ]);
      for (const [who, text] of TALK) discord.says(channel, text, people[who]);
      const fields = [{ name: 'Since', value: '<t:1769851620:R>', inline: true }];
      const embeds = [{ type: 'rich', title: 'TypeError in checkout', description: 'x is null', fields }];
      const alert = discord.says(channel, '', bob, { webhook: true, fields: { embeds } });
      discord.says(channel, 'what does this alert mean?', ada, { mention: true, replyTo: alert });
      await shows(channel, 'A null value in the checkout.');
      const answer = discord
        .visible(channel)
        .findLast(({ author }) => author.bot === true && author.id === platform.bot.id);
      if (answer === undefined) throw new Error('no answer');
      discord.says(channel, 'how do I fix that?', bob, { replyTo: answer });
      await shows(channel, 'Check it before use.');
      discord.says(channel, `who waters the plants in <#${garden.id}>?`, cem, { mention: true });
      await shows(channel, 'Cem does.');
      for (const [who, text] of TALK) discord.says(channel, `${text} (afternoon)`, people[who]);

      const deploy = openThread(platform, discord.says(channel, 'Deploy', bob), bob, 'deploy');
      discord.says(deploy, 'It failed with exit code 137.', bob);
      discord.says(deploy, '', ada, { forwards: discord.says(channel, 'node-7 has 2 GB', cem) });
      discord.says(deploy, 'summarize this thread', cem, { mention: true });
      await shows(deploy, 'The deploy ran out of memory.');
      const quiz = openThread(platform, discord.says(channel, 'Quiz', ada), ada, 'quiz');
      discord.says(quiz, 'capital of France?', ada, { mention: true });
      await shows(quiz, 'Paris.');
      discord.says(quiz, 'and of Spain?', ada);
      await shows(quiz, 'Madrid.');

      ollama.answer(
        { toolCalls: [{ name: 'wipe', args: { word: 'the cache' } }] },
        { when: 'wipe the cache' },
      );
      ollama.answer({ text: 'Then it stays.' }, { when: 'wipe the cache' });
      discord.says(deploy, 'wipe the cache', bob, { mention: true });
      await shows(deploy, 'May I do this?');
      const press = discord.press(deploy, 'Deny', discordBoss);
      const form = await vi.waitFor(() => {
        const shown = [...platform.interactions.values()].find(({ id, modal }) => id === press && modal);
        if (shown === undefined) throw new Error('no form is shown yet');
        return shown;
      }, WAIT);
      fillsIn(discord, form, { reason: 'not at night' });
      await shows(deploy, 'Then it stays.');

      const seen = [channel, deploy, quiz].flatMap(screenOf);
      const heard = heardSince(fixture(), from, 'discord', seen);
      expect(heard[0]).toMatch(
        /TypeError in checkout\nx is null\nSince: 2026-01-31 09:27 UTC[\s\S]*what does this alert mean\?/,
      );
      expect(heard[1]).toMatch(/A null value in the checkout\.[\s\S]*how do I fix that\?/);
      expect(heard[2]).toContain('who waters the plants in #garden?');
      expect(heard[3]).toContain('Bob: It failed with exit code 137.\nAda: (forwarded) node-7 has 2 GB');
      expect(heard[5]).toMatch(/^\[#: Ada writes\]\nand of Spain\?\n/);
      expect(heard.join('\n')).not.toMatch(INDISCREET);
      expect(seen).toEqual([
        'A null value in the checkout.',
        'Check it before use.',
        'Cem does.',
        'The deploy ran out of memory.',
        expect.stringContaining('Denied by `Dora`: `not at night`'),
        'Then it stays.',
        'Paris.',
        'Madrid.',
      ]);
      expect(ran).toEqual([]);
    });

    it('on Slack: a card of an app, two threads, a table and an approval at night', async () => {
      const { ollama } = fixture();
      const from = ollama.calls.length;
      const { workspace } = slack;
      const chat = workspace.channel();
      await fixture().store.access.addGrant('slack', 'group', chat.id);
      const people = [workspace.person('Ada'), workspace.person('Bob'), workspace.person('Cem')] as const;
      const [ada, bob, cem] = people;
      const bot = `<@${workspace.bot.userId}>`;
      const screen = (): string[] => slack.visible(chat).map(textOf);
      const shows = (text: string): Promise<void> =>
        vi.waitFor(() => expect(screen().join('\n')).toContain(text), WAIT);
      answers(fixture(), [
        ['what does this alert mean', 'A null value in the checkout.'],
        ['summarize this thread', 'The deploy ran out of memory.'],
        ['and how much did it have', '| node | memory |\n|--|--|\n| node-7 | 2 GB |'],
      ]);
      for (const [who, text] of TALK) slack.says(chat, text, people[who]);
      const app = workspace.person('Sentry', true);
      const card = {
        fallback: '[no preview available]',
        title: 'TypeError in checkout',
        text: 'x is *null*',
      };
      const { ts: alert } = slack.says(chat, '', app, { attachments: [card] });
      slack.says(chat, `${bot} what does this alert mean?`, ada, { threadTs: alert });
      await shows('A null value in the checkout.');
      for (const [who, text] of TALK) slack.says(chat, `${text} (afternoon)`, people[who]);
      const { ts: deploy } = slack.says(chat, 'The deploy failed with exit code 137.', bob);
      slack.says(chat, `<@${ada.id}> looks like OOM on node-7`, cem, { threadTs: deploy });
      slack.says(chat, `${bot} summarize this thread`, cem, { threadTs: deploy });
      await shows('The deploy ran out of memory.');
      slack.says(chat, 'and how much did it have?', cem, { threadTs: deploy });
      await shows('node-7 | 2 GB');

      ollama.answer({ toolCalls: [{ name: 'wipe', args: { word: 'node-7' } }] }, { when: 'wipe node-7' });
      ollama.answer({ text: 'It is wiped.' }, { when: 'wipe node-7' });
      const { ts: night } = slack.says(chat, `${bot} wipe node-7`, bob);
      await shows('May I do this?');
      const request = slack.visible(chat).findLast((message) => textOf(message).includes('May I do this?'));
      if (request === undefined) throw new Error('no request');
      slack.presses(chat, request, 'Approve', slackBoss);
      await shows('It is wiped.');
      await fixture().idle(`slack:${chat.id}:${night}`);

      const heard = heardSince(fixture(), from, 'slack', screen());
      expect(heard[0]).toMatch(
        /Sentry: TypeError in checkout x is \*null\*[\s\S]*what does this alert mean\?/,
      );
      expect(heard[1]).toContain(
        'Bob: The deploy failed with exit code 137.\nCem: @Ada looks like OOM on node-7',
      );
      expect(heard[2]).toMatch(/^\[#: Cem writes\]\nand how much did it have\?\n/);
      expect(heard.join('\n')).not.toMatch(INDISCREET);
      const table = slack.visible(chat).find((message) => textOf(message).includes('2 GB'));
      expect(table?.blocks).toMatchObject([{ type: 'table' }]);
      expect(screen().join('\n')).toMatch(/Approved by Dora/);
      expect(ran).toEqual(['wipe node-7']);
    });
  },
);
