/** A burst of subagents in the background on each network, under its limits: few cards, none left open, each end above its report. */
import { afterAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { MAX_CARDS } from '../../../src/delivery/live/agent-card.ts';
import { MAX_SUBAGENTS_AT_ONCE } from '../../../src/protocol/agent/subagents.ts';
import { FakeDiscord } from '../../fakes/discord/discord.ts';
import { openThread } from '../../fakes/discord/threads.ts';
import { FakeHomeserver } from '../../fakes/matrix/homeserver.ts';
import { variablesOf } from '../../fakes/networks.ts';
import { FakeSlack, textOf } from '../../fakes/slack/slack.ts';
import { KNOWN_LIMITS } from '../../fakes/telegram/limits.ts';
import { FAKE_BOT } from '../../fakes/telegram/telegram.ts';
import { describeGateway, type GatewayFixture } from '../setup.ts';

/** What Discord's headers name for most routes of a channel. */
const FIVE = { limit: 5, windowMs: 5_000 };
const discord = await FakeDiscord.open({ limits: { send: FIVE, edit: FIVE } });
const slack = await FakeSlack.open({ limits: true });
/** Synapse's default takes one event in five seconds, which is too long for a test; the way to this pace is the same. */
const matrix = await FakeHomeserver.open({ limits: { perSecond: 0.5, burst: 10 } });
afterAll(async () => {
  for (const fake of [discord, slack, matrix]) await fake.close();
});

const LONG = { timeout: 120_000, interval: 100 };
/** A call that a busy machine holds up may arrive together with the next one. */
const HELD_UP = 1;
const RELATION = z.object({
  'm.relates_to': z.object({ 'm.in_reply_to': z.object({ event_id: z.string() }).optional() }).optional(),
});
const TOPICS = ['north', 'south'] as const;
const TASKS = TOPICS.flatMap((topic) =>
  Array.from({ length: MAX_SUBAGENTS_AT_ONCE }, (_, nth) => `${topic} ${'abcdefgh'[nth]}`),
);

interface Shown {
  id: string;
  text: string;
  /** Absent on Slack, where an answer is in the thread of its question. */
  replyTo?: string | undefined;
}

interface Group {
  /** A member writes to the bot in one of two conversations of the chat. */
  asks(topic: 0 | 1, text: string): void;
  /** Presses the button below a message. */
  stops(id: string): void;
  shown(): Shown[];
  /** Calls that were too fast, and those among them that came before the pause of another was over. */
  counts(): { refused: number; early: number };
}

async function onTelegram({ telegram, store }: GatewayFixture): Promise<Group> {
  const id = '-1008001';
  await store.access.addGrant('telegram', 'group', id);
  telegram.chats.open(id, { topics: [11, 12] });
  return {
    asks: (topic, text) =>
      void telegram.says(id, `@${FAKE_BOT.username} ${text}`, '61', { threadId: 11 + topic }),
    stops(card) {
      const message = telegram.messages(id).find((one) => String(one.id) === card);
      telegram.presses(id, '61', message?.buttons[0]?.data ?? '', message);
    },
    shown: () =>
      telegram.messages(id).map(({ id: at, text, replyTo }) => ({
        id: String(at),
        text,
        replyTo: replyTo === undefined ? undefined : String(replyTo),
      })),
    counts: () => ({ refused: telegram.flood.refused, early: telegram.flood.violations.length }),
  };
}

async function onDiscord({ store }: GatewayFixture): Promise<Group> {
  const { platform } = discord;
  const channel = platform.addChannel(0);
  await store.access.addGrant('discord', 'group', channel.id);
  const ada = discord.person('Ada');
  const threads = TOPICS.map((topic) => openThread(platform, discord.says(channel, topic, ada), ada, topic));
  const visible = () =>
    threads.flatMap((thread) =>
      discord
        .visible(thread)
        .flatMap((message) => (message.author.bot === true ? [{ thread, message }] : [])),
    );
  return {
    asks: (topic, text) => void discord.says(threads[topic] ?? channel, text, ada, { mention: true }),
    stops(card) {
      const found = visible().find(({ message }) => message.id === card);
      if (found !== undefined) discord.press(found.thread, 'Stop', ada, undefined, found.message);
    },
    shown: () =>
      visible().map(({ message: { id, content, replyTo } }) => ({
        id,
        text: content.replaceAll('*', ''),
        replyTo: replyTo?.id,
      })),
    counts: () => ({ refused: discord.limits.refused, early: discord.limits.early }),
  };
}

async function onSlack({ store }: GatewayFixture): Promise<Group> {
  const { workspace } = slack;
  const chat = workspace.channel();
  await store.access.addGrant('slack', 'group', chat.id);
  const ada = workspace.person('Ada');
  const threads = TOPICS.map((topic) => slack.says(chat, topic, ada).ts);
  return {
    asks: (topic, text) =>
      void slack.says(chat, `<@${workspace.bot.userId}> ${text}`, ada, { threadTs: threads[topic] ?? '' }),
    stops(card) {
      const message = slack.visible(chat).find(({ ts }) => ts === card);
      if (message !== undefined) slack.presses(chat, message, 'Stop', ada);
    },
    shown: () => slack.visible(chat).map((message) => ({ id: message.ts, text: textOf(message) })),
    counts: () => ({ refused: slack.limits.refused, early: slack.limits.early }),
  };
}

async function onMatrix({ store }: GatewayFixture): Promise<Group> {
  const { rooms } = matrix;
  const ada = rooms.person('Ada');
  const room = rooms.room(ada, rooms.person('Bob'));
  await store.access.addGrant('matrix', 'group', room.id);
  const threads = TOPICS.map((topic) => matrix.says(room, topic, ada, { mentions: false }).event_id);
  const repliesTo = (id: string): string | undefined => {
    const event = room.events.find((one) => one.event_id === id);
    return RELATION.parse(event?.content)['m.relates_to']?.['m.in_reply_to']?.event_id;
  };
  return {
    asks: (topic, text) =>
      void matrix.says(room, `Parley: ${text}`, ada, { thread: threads[topic], mentions: true }),
    stops: (card) => void matrix.reacts(room, card, '1️⃣', ada),
    shown: () => matrix.visible(room).map(({ id, text }) => ({ id, text, replyTo: repliesTo(id) })),
    counts: () => ({ refused: matrix.limits.refused, early: matrix.limits.early }),
  };
}

/** How many calls may be refused: a homeserver does not say how much it accepts, and two refusals show that. */
const NETWORKS = [
  ['Telegram', onTelegram, 0],
  ['Discord', onDiscord, 0],
  ['Slack', onSlack, 0],
  ['Matrix', onMatrix, 2],
] as const;

const settings = {
  telegram: true,
  telegramLimits: KNOWN_LIMITS,
  env: variablesOf({ discord, slack, matrix }),
  // Titles and facts name the tasks, too, and would get the answers that subagents wait for.
  file: { tools: { enabled: ['spawn_agent'] }, afterTurn: { title: false, facts: false } },
};

describeGateway('A burst of subagents in the background', settings, (fixture) => {
  describe.each(NETWORKS)('on %s', (network, open, most) => {
    it('has a few cards at once, each of which ends as the head of its report, and is not refused as too fast', async () => {
      const { ollama } = fixture();
      const group = await open(fixture());
      const before = group.counts();
      const tasks = TASKS.map((task) => `${network} ${task}`);
      const cards = (state: string): Shown[] => group.shown().filter(({ text }) => text.includes(state));
      const report = (task: string): Shown | undefined =>
        group.shown().find(({ text }) => text.includes(`told of ${task}`));

      for (const task of tasks) {
        const lines = Array.from({ length: 5 }, (_, nth) => `Line ${nth} about ${task}.`);
        ollama.answer(
          { text: [...lines, `found ${task}`].join('\n'), hold: true },
          { when: `count ${task}` },
        );
        ollama.answer({ text: `told of ${task}` }, { when: `found ${task}` });
      }
      for (const [at, topic] of TOPICS.entries()) {
        const toolCalls = tasks
          .filter((task) => task.includes(topic))
          .map((task) => ({ name: 'spawn_agent', args: { task: `count ${task}`, background: true } }));
        ollama.answer({ toolCalls }, { when: `begin ${network} ${topic}` });
        ollama.answer({ text: `begun ${topic}` }, { when: `begin ${network} ${topic}` });
        group.asks(at === 0 ? 0 : 1, `begin ${network} ${topic}`);
      }
      const calls = await Promise.all(tasks.map((task) => fixture().modelCall(`count ${task}`)));
      await vi.waitFor(() => expect(cards('working in the background')).toHaveLength(MAX_CARDS), LONG);
      await vi.waitFor(() => expect(cards('begun')).toHaveLength(TOPICS.length), LONG);

      const [stopped] = cards('working in the background');
      const ended = tasks.find((task) => stopped?.text.includes(task)) ?? '';
      group.stops(stopped?.id ?? '');
      await vi.waitFor(() => expect(cards(`was stopped: count ${ended}`)).toHaveLength(1), LONG);
      const others = tasks.filter((task) => task !== ended);
      for (const call of calls) call.release();

      await vi.waitFor(() => expect(others.filter((task) => report(task) === undefined)).toEqual([]), LONG);
      await vi.waitFor(() => expect(cards('working in the background')).toEqual([]), LONG);
      const { refused, early } = group.counts();
      expect(report(ended)).toBeUndefined();
      expect(cards('has finished')).toHaveLength(MAX_CARDS - 1);
      const order = group.shown().map(({ id }) => id);
      for (const card of cards('has finished')) {
        const told = report(others.find((task) => card.text.includes(`count ${task}`)) ?? '');
        expect(told?.replyTo).toBe(network === 'Slack' ? undefined : card.id);
        expect(order.indexOf(told?.id ?? '')).toBeGreaterThan(order.indexOf(card.id));
      }
      expect(early - before.early).toBe(0);
      expect(refused - before.refused).toBeLessThanOrEqual(most + HELD_UP);
    }, 300_000);
  });
});
