/**
 * Outbound webhooks of a whole gateway: signed, in order, once each, tried again, without texts unless wanted, and
 * given up visibly.
 */
import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, it, onTestFinished, vi } from 'vitest';
import { describeGateway, WAIT } from '../setup.ts';

const SECRET = 'a-secret-of-the-receiver-0123456789';

interface Post {
  id: string;
  type: string;
  sessionKey?: string;
  turnId?: string;
  reason?: string;
  content?: string;
}

/** A program that accepts posts, and refuses the next `refuse` of them. */
class Receiver {
  readonly posts: Post[] = [];
  readonly wrong: string[] = [];
  refused = 0;
  refuse = 0;
  readonly #server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      const header = String(request.headers['x-parley-signature']);
      const [, time = ''] = /^t=(\d+),v1=/.exec(header) ?? [];
      const signature = createHmac('sha256', SECRET).update(`${time}.${body}`).digest('hex');
      if (header !== `t=${time},v1=${signature}`) this.wrong.push(header);
      if (this.refuse > 0) {
        this.refuse -= 1;
        this.refused += 1;
        response.writeHead(503).end();
        return;
      }
      this.posts.push(JSON.parse(body));
      response.writeHead(204).end();
    });
  });

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => void this.#server.listen(0, '127.0.0.1', resolve));
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}/events`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => void this.#server.close(resolve));
  }

  of(name: string): string[] {
    return this.posts.filter(({ sessionKey }) => sessionKey === `http:${name}`).map(({ type }) => type);
  }
}

const [plain, whole] = [new Receiver(), new Receiver()];
const [plainUrl, wholeUrl] = [await plain.listen(), await whole.listen()];
const rule = { secretEnv: 'EVENTS_SECRET', events: ['message_received', 'turn_ended'] };
const SETTINGS = {
  env: { EVENTS_SECRET: SECRET },
  file: {
    webhooks: {
      plain: { ...rule, url: plainUrl, private: true },
      whole: { ...rule, url: wholeUrl, private: true, content: true, sessions: ['http:only-*'] },
      outside: { ...rule, url: plainUrl, sessions: ['http:outside'] },
    },
  },
};

describeGateway('an outbound webhook', SETTINGS, (fixture) => {
  // The gateway on the next database begins with empty receivers.
  afterAll(() => {
    for (const { posts } of [plain, whole]) posts.length = 0;
  });
  const says = async (id: string, text: string): Promise<string> => {
    const turn = await fixture().post(id, text);
    await fixture().idle(`http:${id}`);
    return turn;
  };

  it('receives one note when it is new, and then the events it names, in order, signed and without texts', async () => {
    await vi.waitFor(() => expect(plain.posts[0]?.type).toBe('webhook_added'), WAIT);
    const first = await says('facts', 'my secret words');
    const second = await says('facts', 'and more of them');
    await vi.waitFor(() => expect(plain.of('facts')).toHaveLength(4), WAIT);
    const told = plain.posts.filter(({ sessionKey }) => sessionKey === 'http:facts');
    expect(told.map(({ id }) => id)).toEqual([
      `message_received:${first}`,
      `turn_ended:${first}`,
      `message_received:${second}`,
      `turn_ended:${second}`,
    ]);
    expect(told[1]).toMatchObject({
      reason: 'completed',
      turnId: first,
      at: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    expect(JSON.stringify(plain.posts)).not.toMatch(/secret words|echo:/);
    expect(plain.wrong).toEqual([]);
    expect(whole.of('facts')).toEqual([]);
  });

  it('receives the texts if it wants them, and only of the sessions that it names', async () => {
    await says('only-this', 'what is it');
    await says('other', 'not this');
    await vi.waitFor(() => expect(whole.of('only-this')).toHaveLength(2), WAIT);
    const texts = whole.posts
      .filter(({ sessionKey }) => sessionKey !== undefined)
      .map(({ content }) => content);
    expect(texts).toEqual(['what is it', 'echo: what is it']);
  });

  it('receives again what it did not accept, before anything newer', async () => {
    plain.refuse = 1;
    const before = plain.refused;
    const turn = await says('again', 'hello');
    await vi.waitFor(() => expect(plain.refused).toBe(before + 1), WAIT);
    expect(plain.of('again')).toEqual([]);
    // The pause is over.
    await fixture().sql`update lane set wake_at = now() where key = 'hook:plain'`;
    await vi.waitFor(() => expect(plain.of('again')).toEqual(['message_received', 'turn_ended']), WAIT);
    expect(plain.posts.filter(({ id }) => id === `turn_ended:${turn}`)).toHaveLength(1);
  });

  it('receives after a restart what a crash had withheld, once', async () => {
    const turn = await says('crash', 'hello');
    await vi.waitFor(() => expect(plain.of('crash')).toHaveLength(2), WAIT);
    // As if the process had died between the commit and the note.
    const lost = await fixture().sql`
      delete from lane_item where lane = 'hook:plain' and dedupe = ${`turn_ended:${turn}`} returning seq`;
    expect(lost).toHaveLength(1);
    await fixture().restart();
    await vi.waitFor(() => expect(plain.of('crash')).toHaveLength(3), WAIT);
    expect(plain.of('crash')).toEqual(['message_received', 'turn_ended', 'turn_ended']);
  });

  it('is not posted to at an address of this machine unless that is set, and given up after a day, visibly', async () => {
    await says('outside', 'hello');
    const waits = async (): Promise<{ error: string | null }[]> => [
      ...(await fixture().sql<{ error: string | null }[]>`
        select error from lane_item where lane = 'hook:outside' and error is not null`),
    ];
    await vi.waitFor(async () => expect(await waits()).not.toEqual([]), WAIT);
    const status = await fixture().call('/v1/sessions/http:outside/messages', {
      json: { content: '/status' },
    });
    expect((await status.json()).reply).toMatch(
      /^Webhook outside: \d+ events? (?:is|are) waiting because the last attempt failed: /m,
    );
    const errors = (await waits()).map(({ error }) => error).join('\n');
    expect(errors).toMatch(/not a public address|Port \d+ is not allowed/);
    await fixture().sql`
      update lane_item set payload = jsonb_set(payload, '{at}', '1') where lane = 'hook:outside' and done_at is null`;
    await fixture().sql`update lane set wake_at = now() where key = 'hook:outside'`;
    await vi.waitFor(async () => {
      const dead = (await fixture().store.lanes.deadLetters(9)).map(({ lane, error }) => `${lane} ${error}`);
      expect(dead.join('\n')).toMatch(/hook:outside Tried for a day: /);
    }, WAIT);
    const { letters } = await (await fixture().call('/v1/dead-letters')).json();
    const letter = letters.find(({ lane }: { lane: string }) => lane === 'hook:outside');
    const { lane, seq } = letter;
    expect((await fixture().call('/v1/dead-letters/drop', { json: { lane, seq } })).status).toBe(200);
    expect(fixture().log.join('')).not.toContain(SECRET);
  });
});

it('closes the receivers', async () => {
  onTestFinished(() => Promise.all([plain.close(), whole.close()]).then(() => undefined));
  expect([...plain.wrong, ...whole.wrong]).toEqual([]);
});
