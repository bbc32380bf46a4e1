/** An evening in a group of each network: a subagent in the background with its card and its button, an edited question and a deleted one. */
import { afterAll, describe, expect, it, vi } from 'vitest';
import { addressOf } from '../../../src/protocol/message.ts';
import { deletes as deletesOnDiscord, edits as editsOnDiscord } from '../../fakes/discord/acts.ts';
import { FakeHomeserver } from '../../fakes/matrix/homeserver.ts';
import { variablesOf } from '../../fakes/networks.ts';
import { deletes as deletesOnSlack } from '../../fakes/slack/acts.ts';
import { FakeSlack, textOf } from '../../fakes/slack/slack.ts';
import { editsMessage } from '../../fakes/telegram/people.ts';
import { FAKE_BOT } from '../../fakes/telegram/telegram.ts';
import { describeGateway, type GatewayFixture, WAIT } from '../setup.ts';

const slack = await FakeSlack.open();
const matrix = await FakeHomeserver.open();
afterAll(async () => {
  await slack.close();
  await matrix.close();
});
const env = variablesOf({ slack, matrix });

/** A question to the bot in the group. */
interface Question {
  edits(text: string): void;
  /** Absent on Telegram, which does not tell bots. */
  deletes?: () => void;
}

interface Group {
  address: string;
  asks(text: string): Question;
  /** Presses Stop under the newest message that has it. */
  stops(): void;
  screen(): string[];
}

const onTelegram = async ({ telegram, store }: GatewayFixture): Promise<Group> => {
  const id = '-1007001';
  await store.access.addGrant('telegram', 'group', id);
  const named = (text: string): string => `@${FAKE_BOT.username} ${text}`;
  return {
    address: `telegram:${id}`,
    asks(text) {
      telegram.says(id, named(text), '51');
      const messageId = [...telegram.chats.open(id).messages.keys()].at(-1) ?? 0;
      return { edits: (fresh) => void editsMessage(telegram, id, messageId, named(fresh)) };
    },
    stops: () => void telegram.press(id, 'Stop', '51'),
    screen: () => telegram.screen(id),
  };
};

const onDiscord = async ({ discord, store }: GatewayFixture): Promise<Group> => {
  const channel = discord.platform.addChannel(0);
  await store.access.addGrant('discord', 'group', channel.id);
  const ada = discord.person('Ada');
  return {
    address: `discord:${channel.id}`,
    asks(text) {
      const message = discord.says(channel, text, ada, { mention: true });
      return {
        edits: (fresh) => editsOnDiscord(discord, message, `<@${discord.platform.bot.id}> ${fresh}`),
        deletes: () => deletesOnDiscord(discord, message),
      };
    },
    stops: () => void discord.press(channel, 'Stop', ada),
    screen: () => discord.screen(channel),
  };
};

const onSlack = async ({ store }: GatewayFixture): Promise<Group> => {
  const { workspace } = slack;
  const chat = workspace.channel();
  await store.access.addGrant('slack', 'group', chat.id);
  const ada = workspace.person('Ada');
  const named = (text: string): string => `<@${workspace.bot.userId}> ${text}`;
  // In a channel, each question begins a thread: the others continue it.
  const { ts: threadTs } = slack.says(chat, 'Evening all', ada);
  return {
    address: `slack:${chat.id}:${threadTs}`,
    asks(text) {
      const message = slack.says(chat, named(text), ada, { threadTs });
      return {
        edits: (fresh) => slack.edits(chat, message, named(fresh)),
        deletes: () => deletesOnSlack(slack, chat, message),
      };
    },
    stops() {
      const card = slack.visible(chat).findLast((message) => textOf(message).includes('working'));
      if (card === undefined) throw new Error('no card');
      slack.presses(chat, card, 'Stop', ada);
    },
    screen: () => slack.visible(chat).map(textOf),
  };
};

const onMatrix = async ({ store }: GatewayFixture): Promise<Group> => {
  const { rooms } = matrix;
  const ada = rooms.person('Ada');
  const room = rooms.room(ada, rooms.person('Bob'));
  await store.access.addGrant('matrix', 'group', room.id);
  const named = (text: string): string => `${rooms.bot.id}: ${text}`;
  // Neither a reaction nor an edit says in which thread its message is.
  const { event_id: thread } = matrix.says(room, 'Evening all', ada, { mentions: false });
  return {
    address: addressOf({ channel: 'matrix', chatId: room.id, threadId: thread }),
    asks(text) {
      const event = matrix.says(room, named(text), ada, { thread });
      return {
        edits: (fresh) => void matrix.edits(room, event, named(fresh)),
        deletes: () => void rooms.redact(room, event.event_id, ada.id),
      };
    },
    stops() {
      const card = matrix.visible(room).findLast(({ text }) => text.includes('working'));
      matrix.reacts(room, card?.id ?? '', '1️⃣', ada);
    },
    screen: () => matrix.screen(room),
  };
};

const NETWORKS = [
  ['Telegram', onTelegram],
  ['Discord', onDiscord],
  ['Slack', onSlack],
  ['Matrix', onMatrix],
] as const;

const file = { tools: { enabled: ['spawn_agent'] } };

describeGateway('An evening in a group', { telegram: true, discord: true, env, file }, (fixture) => {
  describe.each(NETWORKS)('on %s', (network, open) => {
    it('has one card for a subagent, whose button stops it, and answers what its people meant in the end', async () => {
      const { ollama, store } = fixture();
      const group = await open(fixture());
      const shows = (text: string): Promise<void> =>
        vi.waitFor(() => expect(group.screen().join('\n')).toContain(text), WAIT);
      const task = `count the stars on ${network}`;
      const spawn = { name: 'spawn_agent', args: { task, background: true } };
      ollama.answer({ toolCalls: [spawn] }, { when: `please begin on ${network}` });
      ollama.answer({ text: 'It is counting.' }, { when: `please begin on ${network}` });
      ollama.answer({ text: 'never', hold: true }, { when: task });
      group.asks(`please begin on ${network}`);
      await shows('It is counting.');
      await shows(`working in the background: ${task}`);
      group.stops();
      await shows(`was stopped: ${task}`);
      expect(group.screen().join('\n')).not.toContain('working in the background');

      ollama.answer({ text: 'Slowly done.', hold: true }, { when: `slowly on ${network}` });
      ollama.answer({ text: 'At eight.' }, { when: 'when is dinner' });
      group.asks(`slowly on ${network}`);
      const call = await fixture().modelCall(`slowly on ${network}`);
      const question = group.asks('when is lunch?');
      const other = group.asks('and who cooks?');
      const waiting = (count: number): Promise<void> =>
        vi.waitFor(async () => {
          const queue = await store.ledger.queue(group.address as `${string}:${string}`);
          expect(queue.waiting).toBe(count);
        }, WAIT);
      await waiting(2);
      question.edits('when is dinner?');
      other.deletes?.();
      await waiting(other.deletes === undefined ? 2 : 1);
      // The edit is one of the message that waits: nothing tells but the answer.
      await vi.waitFor(async () => {
        const texts = (await fixture().messages(group.address)).map(({ content }) => content);
        expect(texts.join('\n')).toContain('when is dinner?');
      }, WAIT);
      call.release();
      await shows('At eight.');
      await fixture().idle(group.address);
      const heard = ollama.calls.map(({ body }) => JSON.stringify(body.messages)).join('\n');
      expect(heard).not.toContain('when is lunch');
      expect(group.screen().join('\n').includes('who cooks')).toBe(other.deletes === undefined);
    }, 60_000);
  });
});
