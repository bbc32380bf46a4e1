/** Questions that people delete on their platform before or after their turn has begun. */
import { afterAll, describe, expect, it, vi } from 'vitest';
import { addressOf } from '../../../src/contracts/message.ts';
import { deletes as deletesOnDiscord } from '../../fakes/discord/acts.ts';
import { FakeHomeserver, MATRIX_TOKEN } from '../../fakes/matrix/homeserver.ts';
import { deletes as deletesOnSlack } from '../../fakes/slack/acts.ts';
import { FakeSlack, SLACK_APP_TOKEN, SLACK_TOKEN } from '../../fakes/slack/slack.ts';
import { describeGatewayOnEachDatabase, WAIT } from '../setup.ts';

const slack = await FakeSlack.open();
const matrix = await FakeHomeserver.open();
afterAll(async () => {
  await slack.close();
  await matrix.close();
});
const env = {
  SLACK_BOT_TOKEN: SLACK_TOKEN,
  SLACK_APP_TOKEN,
  SLACK_API_ROOT: slack.apiRoot,
  MATRIX_URL: matrix.root,
  MATRIX_TOKEN,
};
let chats = 0;

/** A private chat of one network. */
interface Chat {
  address: string;
  /** Somebody writes; returns how they delete it, and how their platform reports the last thing again. */
  says(text: string): { deletes: () => void };
  screen(): string[];
}

describeGatewayOnEachDatabase('A deleted question', { discord: true, env }, (fixture) => {
  const onDiscord = async (): Promise<Chat> => {
    const { discord, store } = fixture();
    const { channel, person } = discord.dm(`Person ${(chats += 1)}`);
    await store.access.addGrant('discord', 'dm', person.id);
    return {
      address: `discord:${channel.id}`,
      says(text) {
        const message = discord.says(channel, text, person);
        return { deletes: () => deletesOnDiscord(discord, message) };
      },
      screen: () => discord.screen(channel),
    };
  };
  const onSlack = async (): Promise<Chat> => {
    const { chat, person } = slack.workspace.dm(`Person ${(chats += 1)}`);
    await fixture().store.access.addGrant('slack', 'dm', person.id);
    return {
      address: `slack:${chat.id}`,
      says(text) {
        const message = slack.says(chat, text, person);
        return {
          deletes() {
            deletesOnSlack(slack, chat, message);
            slack.redelivers();
          },
        };
      },
      screen: () => slack.screen(chat),
    };
  };
  const onMatrix = async (): Promise<Chat> => {
    const person = matrix.rooms.person(`Person ${(chats += 1)}`);
    await fixture().store.access.addGrant('matrix', 'dm', person.id);
    const room = matrix.rooms.room(person);
    return {
      address: addressOf({ channel: 'matrix', chatId: room.id }),
      says(text) {
        const { event_id: id } = matrix.says(room, text, person);
        return { deletes: () => void matrix.rooms.redact(room, id, person.id) };
      },
      screen: () => matrix.screen(room),
    };
  };
  const waiting = async ({ address }: Chat): Promise<number> =>
    (await fixture().store.ledger.queue(address as `${string}:${string}`)).waiting;
  const answersOf = (chat: Chat): string => chat.screen().join('\n');

  describe.each([
    ['Discord', onDiscord],
    ['Slack', onSlack],
    ['Matrix', onMatrix],
  ])('on %s', (_, open) => {
    it('gets no answer while it waits, and stays in the history as taken back', async () => {
      const chat = await open();
      const first = `hold ${chat.address}`;
      fixture().ollama.answer({ text: 'first done', hold: true }, { when: first });
      chat.says(first);
      const call = await fixture().modelCall(first);
      const taken = chat.says('forget this one');
      chat.says('but answer this');
      await vi.waitFor(async () => expect(await waiting(chat)).toBe(2), WAIT);
      taken.deletes();
      await vi.waitFor(async () => expect(await waiting(chat)).toBe(1), WAIT);
      call.release();
      await vi.waitFor(() => expect(answersOf(chat)).toContain('echo: but answer this'), WAIT);
      await fixture().idle(chat.address);
      expect(answersOf(chat)).not.toContain('forget this');
      const kept = await fixture().messages(chat.address);
      expect(kept.filter(({ leftOut }) => leftOut).map(({ content }) => content)).toEqual([
        'forget this one',
      ]);
      const { body } = await fixture().modelCall('but answer this');
      expect(JSON.stringify(body.messages)).not.toContain('forget this');
      expect(
        fixture()
          .log.filter((line) => line.includes('message_deleted'))
          .join(''),
      ).toContain(chat.address);
    });

    it('is answered when its turn has begun', async () => {
      const chat = await open();
      const asked = `slowly ${chat.address}`;
      fixture().ollama.answer({ text: `done ${chat.address}`, hold: true }, { when: asked });
      const question = chat.says(asked);
      const call = await fixture().modelCall(asked);
      question.deletes();
      const next = chat.says('and then');
      await vi.waitFor(async () => expect(await waiting(chat)).toBe(1), WAIT);
      next.deletes();
      await vi.waitFor(async () => expect(await waiting(chat)).toBe(0), WAIT);
      call.release();
      await vi.waitFor(() => expect(answersOf(chat)).toContain(`done ${chat.address}`), WAIT);
      await fixture().idle(chat.address);
      expect(chat.screen().join('')).not.toContain('and then');
    });
  });

  it('on Discord may be one of many that a moderator deletes at once, also in a thread', async () => {
    const { discord, store } = fixture();
    const { platform } = discord;
    const channel = platform.addChannel(0);
    await store.access.addGrant('discord', 'group', channel.id);
    const person = discord.person('Bo');
    const thread = platform.addThread(channel, { ownerId: person.id, name: 'A thread' });
    fixture().ollama.answer({ text: 'first done', hold: true }, { when: 'hold the thread' });
    const says = (text: string) => discord.says(thread, text, person, { mention: true });
    says('hold the thread');
    const call = await fixture().modelCall('hold the thread');
    const [one, two] = [says('spam one'), says('spam two')];
    const address = `discord:${channel.id}:${thread.id}` as const;
    const queued = async () => (await store.ledger.queue(address)).waiting;
    await vi.waitFor(async () => expect(await queued()).toBe(2), WAIT);
    deletesOnDiscord(discord, one, two);
    await vi.waitFor(async () => expect(await queued()).toBe(0), WAIT);
    call.release();
    await vi.waitFor(() => expect(discord.screen(thread).join('')).toContain('first done'), WAIT);
    await fixture().idle(address);
    expect(discord.screen(thread).join('')).not.toContain('echo: spam');
  });
});
