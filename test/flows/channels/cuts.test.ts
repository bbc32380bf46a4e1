/** Readers whose connections break again and again, over event streams and WebSockets: together they read what is stored. */
import { expect, it } from 'vitest';
import type { AgentEvent } from '../../../src/protocol/event.ts';
import { campaignSize } from '../../campaign.ts';
import { frames } from '../../channels/http/client.ts';
import { SocketClient } from '../../channels/http/websocket/client.ts';
import { describeGateway, type GatewayFixture, OWNER } from '../setup.ts';

const CUTS = campaignSize(1_000);
const READERS = 10;
const MOST_EVENTS_A_CONNECTION = 8;

/** The text of a turn, put together from the events of many connections. */
class Reader {
  text = '';
  lastEventId: string;
  ended = false;
  cuts = 0;

  constructor(lastEventId: string) {
    this.lastEventId = lastEventId;
  }

  read(event: AgentEvent, id: string | undefined): void {
    if (event.type === 'snapshot') this.text = event.text;
    if (event.type === 'stream_chunk') this.text += event.delta;
    if (event.type === 'turn_ended') this.ended = true;
    if (id !== undefined) this.lastEventId = id;
  }
}

type Connection = (fixture: GatewayFixture, reader: Reader, most: number) => Promise<void>;

async function overEvents(fixture: GatewayFixture, reader: Reader, most: number): Promise<void> {
  const cut = new AbortController();
  const response = await fixture.call('/v1/sessions/http:cut/events', {
    headers: { 'last-event-id': reader.lastEventId },
    signal: cut.signal,
  });
  let left = most;
  for await (const { id, data } of frames(response)) {
    if (data !== undefined) {
      reader.read(JSON.parse(data), id);
      left -= 1;
    }
    if (left <= 0 || reader.ended) break;
  }
  cut.abort();
}

async function overWebSocket(fixture: GatewayFixture, reader: Reader, most: number): Promise<void> {
  const client = new SocketClient(fixture.gateway.url, { authorization: `Bearer ${OWNER}` });
  await client.opened();
  client.send({ type: 'resume', session: 'http:cut', lastEventId: reader.lastEventId });
  let left = most;
  await client.frame(({ type, event, id }) => {
    if (type === 'error' || type === 'fallen_behind') throw new Error(JSON.stringify(type));
    if (type !== 'event' || event === undefined) return false;
    reader.read(event, id);
    left -= 1;
    return left <= 0 || reader.ended;
  });
  client.close();
}

/** Reads until the turn has ended, one short connection after another; `next` is a number in [0, 1). */
async function readInPieces(
  fixture: GatewayFixture,
  reader: Reader,
  connection: Connection,
  next: () => number,
): Promise<void> {
  while (!reader.ended) {
    await connection(fixture, reader, 1 + Math.floor(next() * MOST_EVENTS_A_CONNECTION));
    reader.cuts += 1;
  }
}

/** Numbers in [0, 1), always the same for a seed (a linear congruential generator). */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

describeGateway('a reader whose connection breaks at random', {}, (fixture) => {
  it.each([
    ['event streams', overEvents],
    ['WebSockets', overWebSocket],
  ] as const)(`reads over %s what is stored, ${CUTS} cuts in all`, async (_, connection) => {
    let cuts = 0;
    for (let round = 1; cuts < CUTS; round += 1) {
      const words = Array.from({ length: 120 }, (_word, n) => `${round}-${n}`).join(' ');
      fixture().ollama.answer({ text: words, perSecond: 200 }, { when: `round ${round}` });
      const sent = await fixture().call('/v1/sessions/http:cut/messages', {
        json: { content: `round ${round}` },
      });
      const { lastEventId }: { lastEventId: string } = await sent.json();
      const readers = Array.from({ length: READERS }, () => new Reader(lastEventId));
      await Promise.all(
        readers.map((reader, n) => readInPieces(fixture(), reader, connection, numbers(round * 100 + n))),
      );
      await fixture().idle('http:cut');
      const stored = (await fixture().messages('http:cut')).at(-1)?.content;
      expect(stored).toBe(words);
      expect(new Set(readers.map(({ text }) => text))).toEqual(new Set([words]));
      cuts += readers.reduce((sum, reader) => sum + reader.cuts, 0);
    }
  });
});
