/** Two gateways on one Postgres: what is sent to one of them happens on whichever runs it. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { eventsUntil } from '../../channels/http/client.ts';
import { FRIENDS, type GatewayFixture, openGatewayFixture, WAIT } from '../setup.ts';

/** After this time the server ends what is idle or slow, in milliseconds. */
const IDLE_MS = 300;
/** Turns meanwhile, on each node in turn. */
const ROUNDS = 6;

const words = (count: number): string => Array.from({ length: count }, (_, n) => `word${n}`).join(' ');

describe('two nodes on one Postgres', () => {
  let a: GatewayFixture;
  let b: GatewayFixture;
  beforeAll(async () => {
    a = await openGatewayFixture({ telegram: true });
    b = await openGatewayFixture({ telegram: true, beside: a });
  });
  afterAll(async () => {
    await b.close();
    await a.close();
  });

  it('streams on one node the whole turn that the other runs', async () => {
    a.ollama.answer({ text: words(40), perSecond: 40 }, { when: 'watch me' });
    await a.post('across', 'hello');
    await a.idle('http:across');
    const events = b.call('/v1/sessions/http:across/events');
    const response = await events;
    const turn = await a.post('across', 'watch me');
    const read = await eventsUntil(response, ({ type, turnId }) => type === 'turn_ended' && turnId === turn);
    const deltas = read.events.flatMap((event) =>
      event.type === 'stream_chunk' && event.turnId === turn ? [event.delta] : [],
    );
    expect(deltas.join('')).toBe(words(40));
    expect((await b.messages('http:across')).at(-1)?.content).toBe(words(40));
  });

  it('stops on one node, within a second, the turn that the other runs (N-58, N-60)', async () => {
    a.ollama.answer({ text: 'never', hold: true }, { when: 'hold me' });
    await a.post('halted', 'hold me');
    const call = await a.modelCall('hold me');
    const asked = performance.now();
    const stopped = await b.call('/v1/sessions/http:halted/stop', { method: 'POST' });
    expect(await stopped.json()).toMatchObject({ stopped: true });
    const { by, at } = await call.closed;
    expect(by).toBe('client');
    expect(at - asked).toBeLessThan(1_000);
  });

  it('runs a repeated message once, whichever node receives it', async () => {
    const headers = { 'idempotency-key': 'either' };
    const posts = [a, b, a, b].map(async (fixture) => {
      const answer = await fixture.call('/v1/sessions/http:either/messages', {
        json: { content: 'once only' },
        headers,
      });
      return await answer.text();
    });
    expect(new Set(await Promise.all(posts)).size).toBe(1);
    await a.idle('http:either');
    expect(await a.messages('http:either')).toHaveLength(2);
  });

  it('answers and streams although the server ends what is idle, and has little patience with statements and locks', async () => {
    const name = new URL(a.env['DATABASE_URL'] ?? '').pathname.slice(1);
    for (const kind of ['idle_session', 'idle_in_transaction_session', 'statement', 'lock'])
      await a.sql.unsafe(`alter database "${name}" set ${kind}_timeout = ${IDLE_MS}`);
    await a.sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name} and pid <> pg_backend_pid()`;
    const listening = () => a.sql`
      select from pg_stat_activity where datname = ${name} and query like 'listen%'`;
    await vi.waitFor(async () => expect(await listening()).toHaveLength(2), WAIT);
    const before = [a.log.length, b.log.length];
    a.ollama.answer({ text: words(20), perSecond: 40 }, { when: 'patiently', times: ROUNDS });
    await a.post('patient', 'hello');
    await a.idle('http:patient');
    for (let n = 0; n < ROUNDS; n += 1) {
      const [here, there] = n % 2 === 0 ? [a, b] : [b, a];
      const response = await there.call('/v1/sessions/http:patient/events');
      const turn = await here.post('patient', 'patiently');
      const read = await eventsUntil(
        response,
        ({ type, turnId }) => type === 'turn_ended' && turnId === turn,
      );
      const deltas = read.events.flatMap((event) =>
        event.type === 'stream_chunk' && event.turnId === turn ? [event.delta] : [],
      );
      expect(deltas.join('')).toBe(words(20));
      expect((await there.call('/readyz')).status).toBe(200);
      await new Promise((resolve) => setTimeout(resolve, IDLE_MS - 20 + 10 * n));
    }
    const lines = [...a.log.slice(before[0]), ...b.log.slice(before[1])];
    expect(lines.filter((line) => JSON.parse(line).level >= 40)).toEqual([]);
  });

  it('polls Telegram from one node, and from the other when that one stops', async () => {
    const [first = '', second = ''] = FRIENDS;
    a.telegram.says(first, 'hello', first);
    await vi.waitFor(() => expect(a.telegram.screen(first)).toEqual(['echo: hello']), WAIT);
    const states = async (): Promise<string[]> => {
      const reports = await Promise.all([a, b].map((fixture) => fixture.gateway.health()));
      return reports.map(({ channels }) => channels['telegram']?.state ?? '');
    };
    expect((await states()).filter((state) => state === 'up')).toHaveLength(1);
    expect(a.telegram.updates.waiting).toBe(1);
    await a.gateway.stop();
    a.telegram.says(second, 'are you there?', second);
    await vi.waitFor(() => expect(a.telegram.screen(second)).toEqual(['echo: are you there?']), {
      ...WAIT,
      timeout: 15_000,
    });
    expect((await b.gateway.health()).channels['telegram']?.state).toBe('up');
  });
});
