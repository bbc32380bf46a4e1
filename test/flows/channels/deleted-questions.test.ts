/** Questions that people delete on their platform before or after their turn has begun, also with two nodes. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Address, addressOf } from '../../../src/protocol/message.ts';
import { deletes as deletesOnDiscord } from '../../fakes/discord/acts.ts';
import type { FakeCall } from '../../fakes/ollama/ollama.ts';
import { FakeHomeserver } from '../../fakes/matrix/homeserver.ts';
import { variablesOf } from '../../fakes/networks.ts';
import { deletes as deletesOnSlack } from '../../fakes/slack/acts.ts';
import { FakeSlack } from '../../fakes/slack/slack.ts';
import { describeGateway, type GatewayFixture, openGatewayFixture, WAIT } from '../setup.ts';

const slack = await FakeSlack.open();
const matrix = await FakeHomeserver.open();
afterAll(async () => {
  await slack.close();
  await matrix.close();
});
const env = variablesOf({ slack, matrix });
let chats = 0;

/** A private chat of one network. */
interface Chat {
  address: Address;
  /** Somebody writes; returns how they delete it, and how their platform reports the last thing again. */
  says(text: string): { deletes: () => void };
  screen(): string[];
}

/** Opens a chat with somebody whom the gateway knows. */
type OpenChat = (fixture: GatewayFixture) => Promise<Chat>;

const onDiscord: OpenChat = async ({ discord, store }) => {
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

const onSlack: OpenChat = async ({ store }) => {
  const { chat, person } = slack.workspace.dm(`Person ${(chats += 1)}`);
  await store.access.addGrant('slack', 'dm', person.id);
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

const onMatrix: OpenChat = async ({ store }) => {
  const person = matrix.rooms.person(`Person ${(chats += 1)}`);
  await store.access.addGrant('matrix', 'dm', person.id);
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

const NETWORKS: [string, OpenChat][] = [
  ['Discord', onDiscord],
  ['Slack', onSlack],
  ['Matrix', onMatrix],
];

/** Waits until so many messages wait in a chat's lane. */
async function waiting({ store }: GatewayFixture, { address }: Chat, count: number): Promise<void> {
  await vi.waitFor(async () => {
    const queue = await store.ledger.queue(address);
    expect(queue.waiting).toBe(count);
  }, WAIT);
}

const answersOf = (chat: Chat): string => chat.screen().join('\n');

describeGateway('A deleted question', { discord: true, env }, (fixture) => {
  describe.each(NETWORKS)('on %s', (_, open) => {
    it('gets no answer while it waits, and stays in the history as taken back', async () => {
      const chat = await open(fixture());
      const first = `hold ${chat.address}`;
      fixture().ollama.answer({ text: 'first done', hold: true }, { when: first });
      chat.says(first);
      const call = await fixture().modelCall(first);
      const taken = chat.says('forget this one');
      chat.says('but answer this');
      await waiting(fixture(), chat, 2);
      taken.deletes();
      await waiting(fixture(), chat, 1);
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

    it('is answered when its turn has started', async () => {
      const chat = await open(fixture());
      const asked = `slowly ${chat.address}`;
      fixture().ollama.answer({ text: `done ${chat.address}`, hold: true }, { when: asked });
      const question = chat.says(asked);
      const call = await fixture().modelCall(asked);
      question.deletes();
      const next = chat.says('and then');
      await waiting(fixture(), chat, 1);
      next.deletes();
      await waiting(fixture(), chat, 0);
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

describe('two nodes on one Postgres', () => {
  let a: GatewayFixture;
  let b: GatewayFixture;
  beforeAll(async () => {
    // A node with one running turn leaves the other lanes to the other node.
    const options = { discord: true, env, file: { turns: { concurrency: 1 } } };
    a = await openGatewayFixture(options);
    b = await openGatewayFixture({ ...options, beside: a });
  });
  afterAll(async () => {
    await b.close();
    await a.close();
  });

  /** The node that holds the lane of an address. */
  const holderOf = async (address: string): Promise<string | null | undefined> => {
    const [lane] = await a.sql<{ owner: string | null }[]>`
      select owner from lane where key = ${`in:${address}`} and tail > head`;
    return lane?.owner;
  };
  /** Lets a node run a turn of a session of its own; returns the call that it waits for. */
  const occupy = async (node: GatewayFixture, id: string): Promise<FakeCall> => {
    a.ollama.answer({ text: 'done', hold: true }, { when: `occupy ${id}` });
    await node.post(id, `occupy ${id}`);
    return await a.modelCall(`occupy ${id}`);
  };

  describe.each(NETWORKS)('a question that is deleted on %s', (network, open) => {
    it('is not answered by the node that runs the turn before it, and the next one is', async () => {
      const chat = await open(a);
      const name = `runs-${network}`;
      const occupied = await occupy(a, name);
      const first = `hold ${chat.address}`;
      a.ollama.answer({ text: 'first done', hold: true }, { when: first });
      chat.says(first);
      const call = await a.modelCall(first);
      const holders = [await holderOf(chat.address), await holderOf(`http:${name}`)];
      expect(holders).toEqual([expect.any(String), expect.any(String)]);
      expect(holders[0]).not.toBe(holders[1]);
      const taken = chat.says('forget this one');
      chat.says('but answer this');
      await waiting(a, chat, 2);
      taken.deletes();
      await waiting(a, chat, 1);
      call.release();
      await vi.waitFor(() => expect(answersOf(chat)).toContain('echo: but answer this'), WAIT);
      await a.idle(chat.address);
      expect(answersOf(chat)).not.toContain('forget this');
      occupied.release();
      await a.idle(`http:${name}`);
    });

    it('is not answered by the node that becomes free for its chat, and the next one is', async () => {
      const chat = await open(a);
      const [mine, other] = [`mine-${network}`, `other-${network}`];
      const occupied = [await occupy(a, mine), await occupy(b, other)];
      const taken = chat.says('forget this one');
      chat.says('but answer this');
      await waiting(a, chat, 2);
      expect(await holderOf(chat.address)).toBeNull();
      taken.deletes();
      await waiting(a, chat, 1);
      occupied[1]?.release();
      await vi.waitFor(() => expect(answersOf(chat)).toContain('echo: but answer this'), WAIT);
      await a.idle(chat.address);
      expect(answersOf(chat)).not.toContain('forget this');
      occupied[0]?.release();
      await a.idle(`http:${mine}`);
    });
  });

  it('leave the connections of all networks to one of them', async () => {
    const states = async ({ gateway }: GatewayFixture): Promise<(string | undefined)[]> => {
      const { channels } = await gateway.health();
      return ['discord', 'slack', 'matrix'].map((name) => channels[name]?.state);
    };
    expect(await states(a)).toEqual(['up', 'up', 'up']);
    expect(await states(b)).not.toContain('up');
  });
});
