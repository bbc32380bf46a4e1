/** What one request may cost, whatever is in it: no route keeps the others waiting. */
import { readFile } from 'node:fs/promises';
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { text as textOf } from 'node:stream/consumers';
import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { API } from '../../../channels/http/app.ts';
import { MAX_BODY_BYTES } from '../../../channels/http/config.ts';
import { describeGateway, type GatewayFixture, OWNER } from '../setup.ts';
import { type Choose, costlyBody, costlyQuery, type TriedRoute, USUAL } from './costliest-request.ts';
import { seeded } from '../../crash/script.ts';

/**
 * Processor time that one request may cost in one turn of the event loop, and in the database: as many times what it costs
 * to parse and write JSON of the longest body, measured in the same run. So a slow or busy machine is no failure, and work
 * that grows faster than the body is one on any machine.
 */
const MAX_LOOP = 5;
const MAX_DATABASE = 120;
/** Requests that are tried at each route. */
const TRIES = Number(process.env['COST_TRIES'] ?? 6);
const SEED = Number(process.env['COST_SEED'] ?? 1);
/** How often a request over a limit is repeated: what it costs is the least of these, because everything else on the machine only adds. */
const REPEATS = 12;
/** How long a turn is watched. */
const TURN_MS = 3_000;
/** Milliseconds of a tick in /proc/PID/stat. */
const TICK_MS = 10;

/** Streams that never end, and what ends the test's own rights or the gateway's work. */
const LEFT_OUT = new Set([
  'GET /v1/events',
  'GET /v1/sessions/:key/events',
  'GET /v1/ws',
  'DELETE /v1/tokens/:id',
  'POST /v1/tokens/:id/rotate',
  'PATCH /v1/config',
]);

const limits = { messagesPerMinute: 6_000, messagesAtOnce: 1_000 };
const file = { limits, channels: { http: { limits: { messagesPerMinute: 100_000 } } } };

describeGateway('the costliest request', { file, model: { fallback: { text: 'fine' } } }, (fixture) => {
  beforeAll(() => fillUp(fixture()), 60_000);

  it(
    `of each route stops the process no longer than ${MAX_LOOP} times what it takes to parse its body, and the database no longer than ${MAX_DATABASE} times`,
    { timeout: 600_000 },
    async () => {
      const order = ['GET', 'POST', 'PATCH', 'DELETE'];
      const routes = API.filter(({ method, path }) => !LEFT_OUT.has(`${method} ${path}`)).toSorted(
        (one, other) => order.indexOf(one.method) - order.indexOf(other.method),
      );
      for (const [route, body] of Object.entries(USUAL)) {
        const { method = '' } =
          API.find(({ path, body: reads }) => path === route && reads !== undefined) ?? {};
        const { status } = await fixture().call(pathOf(route), { method, json: body });
        expect([route, Math.floor(status / 100)]).toEqual([route, 2]);
      }
      await settle(fixture());
      const costs = [];
      for (const route of routes) costs.push(await costliest(fixture(), route, fixture().gateway.url));
      if (process.env['COST_TRIES'] !== undefined) process.stdout.write(`${JSON.stringify(costs)}\n`);
      expect(costs.filter(isOver)).toEqual([]);
      expect(costs.length).toBeGreaterThan(80);
    },
  );

  it('is found at a route whose work grows with the square of its body', async () => {
    const server = createServer((incoming, outgoing) => {
      void textOf(incoming).then((sent) => {
        let count = 0;
        for (let at = 0; at < sent.length; at += 16) count += sent.indexOf('\u0001', at);
        outgoing.end(String(count));
      });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const body = z.strictObject({ content: z.string() });
    const route: TriedRoute = { method: 'POST', path: '/planted', body };
    const cost = await costliest(fixture(), route, `http://127.0.0.1:${port}`);
    server.close();
    server.close();
    expect(isOver(cost)).toBe(true);
  }, 60_000);
});

/** What the costliest request to a route costs, in times of `parseMs`. */
interface RouteCost {
  route: string;
  seed: number;
  status: number;
  loop: number;
  database: number;
}

function isOver({ loop, database }: Pick<RouteCost, 'loop' | 'database'>): boolean {
  return loop > MAX_LOOP || database > MAX_DATABASE;
}

/** The slowest of all measurements so far: the machine may be busier now than at the start. */
let unitMs = 0;

async function costliest(on: GatewayFixture, route: TriedRoute, base: string): Promise<RouteCost> {
  unitMs = Math.max(unitMs, parseMs());
  const inUnits = async (seed: number) => {
    const { loopMs, databaseMs: inDatabaseMs, status } = await costOf(on, route, seed, base);
    return { seed, status, loop: loopMs / unitMs, database: inDatabaseMs / unitMs };
  };
  const shareOf = ({ loop, database }: { loop: number; database: number }): number =>
    Math.max(loop / MAX_LOOP, database / MAX_DATABASE);
  const tries = route.body === undefined && route.query === undefined ? 1 : TRIES;
  let worst = await inUnits(SEED);
  for (let seed = SEED + 1; seed < SEED + tries; seed += 1) {
    const cost = await inUnits(seed);
    if (shareOf(cost) > shareOf(worst)) worst = cost;
  }
  for (let n = 1; isOver(worst) && n < REPEATS; n += 1) {
    unitMs = Math.max(unitMs, parseMs());
    const { loop, database } = await inUnits(worst.seed);
    worst = { ...worst, loop: Math.min(worst.loop, loop), database: Math.min(worst.database, database) };
  }
  return { route: `${route.method} ${route.path}`, ...worst };
}

/** What one request costs this thread in its longest turn, and the database in all. */
async function costOf(on: GatewayFixture, route: TriedRoute, seed: number, base: string) {
  const random = seeded(seed);
  const choose: Choose = (below) => Math.floor(random() * below);
  const { url, init } = requestFor(base, route, choose);
  const before = await databaseMs(on);
  let longestMs = 0;
  let isOver = false;
  let last = process.threadCpuUsage();
  const look = (): void => {
    const { user, system } = process.threadCpuUsage(last);
    longestMs = Math.max(longestMs, (user + system) / 1_000);
    last = process.threadCpuUsage();
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  try {
    const status = await ask(url, init);
    await settle(on);
    return { loopMs: longestMs, databaseMs: (await databaseMs(on)) - before, status };
  } finally {
    isOver = true;
  }
}

/** Waits for the turns of the conversation; what waits for someone, or takes long, is stopped: its start is what counts. */
async function settle(on: GatewayFixture): Promise<void> {
  const isBusy = async (): Promise<boolean> => {
    const turns = await on.sql<{ state: string }[]>`
      select state from turn where session = 'http:heavy' and state <> 'done'`;
    return turns.length > 0 && turns.every(({ state }) => state !== 'parked');
  };
  const until = performance.now() + TURN_MS;
  while (performance.now() < until && (await isBusy())) await turnOfLoop();
  const left = await on.sql`select from turn where session = 'http:heavy' and state <> 'done' limit 1`;
  if (left.length === 0) return;
  await on.call('/v1/sessions/http:heavy/stop', { method: 'POST' });
  // However long that takes on a busy machine: this is about what it costs.
  const busy = () => on.sql`select from lane where key = 'in:http:heavy' and tail > head`;
  await expect.poll(busy, { timeout: 120_000, interval: 20 }).toHaveLength(0);
}

/** The status, once the answer has been read; 0 when the gateway has refused to read the rest of the body. */
async function ask(url: string, init: RequestInit): Promise<number> {
  try {
    const response = await fetch(url, init);
    for await (const chunk of response.body ?? []) void chunk;
    return response.status;
  } catch (error) {
    if (error instanceof TypeError) return 0;
    throw error;
  }
}

function requestFor(base: string, route: TriedRoute, choose: Choose): { url: string; init: RequestInit } {
  const url = new URL(pathOf(route.path), base);
  for (const name of Object.keys(route.query ?? {}))
    if (choose(4) > 0) url.searchParams.set(name, costlyQuery(name, choose));
  const body = costlyBody(route, MAX_BODY_BYTES * 0.8, choose);
  const text = JSON.stringify(body)?.slice(0, MAX_BODY_BYTES);
  const headers = {
    authorization: `Bearer ${OWNER}`,
    ...(body !== undefined && { 'content-type': 'application/json' }),
  };
  return {
    url: url.href,
    init: { method: route.method, headers, ...(text !== undefined && { body: text }) },
  };
}

/** The path with the fullest conversation in it. */
function pathOf(path: string): string {
  const values: Record<string, string> = { key: 'http:heavy', turn: 'turn-1', id: '1' };
  return path
    .replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(values[name] ?? 'x'))
    .replace('*', 'a.txt');
}

/** Processor time of all connections to the gateway's database, in milliseconds. */
async function databaseMs({ sql }: GatewayFixture): Promise<number> {
  const backends = await sql<{ pid: number }[]>`
    select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`;
  const times = await Promise.all(
    backends.map(async ({ pid }) => {
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * TICK_MS;
    }),
  );
  return times.reduce((sum, ms) => sum + ms, 0);
}

/** Processor time to parse and write JSON of the longest body, in milliseconds: the least of a few. */
function parseMs(): number {
  const value = { id: 'value', words: ['alpha', 'beta'], n: 1 };
  const count = Math.floor(MAX_BODY_BYTES / JSON.stringify(value).length);
  const body = JSON.stringify(Array.from({ length: count }, () => value));
  const times = Array.from({ length: 5 }, () => {
    const start = process.threadCpuUsage();
    JSON.stringify(JSON.parse(body));
    const { user, system } = process.threadCpuUsage(start);
    return (user + system) / 1_000;
  });
  return Math.min(...times);
}

/** A conversation of 3 MB, 400 others, and everything else as full as the limits allow. */
async function fillUp(on: GatewayFixture): Promise<void> {
  const { sql, store } = on;
  await on.post('heavy', 'begin');
  await on.idle('http:heavy');
  const token = (await store.access.tokens())[0]?.tokenId ?? '';
  const words = Array.from({ length: 9_000 }, (_, n) => `word${(n * 7) % 400}`).join(' ');
  await sql`
    insert into session (key, owner_token_id, updated_at)
    select 'http:s' || n, ${token}, now() - n * interval '1 s' from generate_series(1, 400) n`;
  await sql`
    insert into message (session, seq, turn_id, role, content)
    select 'http:s' || n, 1, 'turn-' || n, 'user', ${words} || ' needle' from generate_series(1, 96) n`;
  await sql`
    insert into message (session, seq, turn_id, role, content)
    select 'http:heavy', n, 'heavy-' || n, case when n % 2 = 0 then 'assistant' else 'user' end, left(${words}, 3000) || n
    from generate_series(10, 1000) n`;
  await sql`
    insert into memory (user_id, key, content, session, untrusted)
    select ${`http:${token}`}, 'k/' || n, left(${words}, 990) || n, 'http:heavy', false from generate_series(1, 200) n`;
}
