/** What one request may cost, whatever is in it: no route keeps the others waiting. */
import { readFile } from 'node:fs/promises';
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { API } from '../../../channels/http/app.ts';
import { MAX_BODY_BYTES } from '../../../channels/http/config.ts';
import type { Route } from '../../../channels/http/route.ts';
import { describeGateway, type GatewayFixture, OWNER } from '../setup.ts';
import { type Choose, costlyBody, costlyQuery, USUAL } from './costliest-request.ts';
import { seeded } from '../../crash/script.ts';

/** Processor time of one turn of the event loop, and of the database, for one request, in milliseconds of the machine below. */
const MAX_LOOP_MS = 50;
const MAX_DATABASE_MS = 1_000;
/** What `calibrate` takes on the machine for which the limits are meant, in milliseconds. */
const USUAL_CALIBRATION_MS = 20;
/** Requests that are tried at each route. */
const TRIES = Number(process.env['COST_TRIES'] ?? 6);
const SEED = Number(process.env['COST_SEED'] ?? 1);
/** How often the costliest is repeated: what it costs is the least of these, because everything else on the machine only adds. */
const REPEATS = 3;
/** The same for one that is over a limit: a busy machine has many moments that are worse than usual. */
const MOST_REPEATS = 12;
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
  it(
    'of each route stops the process for 50 ms at most, and takes the database a second at most',
    { timeout: 600_000 },
    async () => {
      await fillUp(fixture());
      let scale = Math.max(1, calibrate() / USUAL_CALIBRATION_MS);
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
      const costs: Record<string, string>[] = [];
      for (const route of routes) {
        let worst = { seed: SEED, loopMs: -1, databaseMs: 0, status: 0 };
        const tries = route.body === undefined && route.query === undefined ? 1 : TRIES;
        for (let seed = SEED; seed < SEED + tries; seed += 1) {
          const cost = await costOf(fixture(), route, seed);
          if (cost.loopMs + cost.databaseMs / 20 > worst.loopMs + worst.databaseMs / 20)
            worst = { seed, ...cost };
        }
        const isOver = (): boolean =>
          worst.loopMs / scale > MAX_LOOP_MS || worst.databaseMs / scale > MAX_DATABASE_MS;
        for (let n = 1; n < REPEATS || (isOver() && n < MOST_REPEATS); n += 1) {
          scale = Math.max(scale, calibrate() / USUAL_CALIBRATION_MS);
          const { loopMs, databaseMs } = await costOf(fixture(), route, worst.seed);
          worst.loopMs = Math.min(worst.loopMs, loopMs);
          worst.databaseMs = Math.min(worst.databaseMs, databaseMs);
        }
        costs.push({
          route: `${route.method} ${route.path}`,
          seed: String(worst.seed),
          status: String(worst.status),
          loopMs: (worst.loopMs / scale).toFixed(1),
          databaseMs: (worst.databaseMs / scale).toFixed(0),
        });
      }
      if (process.env['COST_TRIES'] !== undefined) process.stdout.write(`${JSON.stringify(costs)}\n`);
      const over = costs.filter(
        ({ loopMs, databaseMs }) => Number(loopMs) > MAX_LOOP_MS || Number(databaseMs) > MAX_DATABASE_MS,
      );
      expect(over).toEqual([]);
      expect(costs.length).toBeGreaterThan(80);
    },
  );
});

/** What one request costs this thread in its longest turn, and the database in all. */
async function costOf(on: GatewayFixture, route: Route, seed: number) {
  const random = seeded(seed);
  const choose: Choose = (below) => Math.floor(random() * below);
  const { url, init } = requestFor(on, route, choose);
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

function requestFor(on: GatewayFixture, route: Route, choose: Choose): { url: string; init: RequestInit } {
  const url = new URL(pathOf(route.path), on.gateway.url);
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

/** Processor time of a fixed piece of work of the kinds that requests cause, in milliseconds. */
function calibrate(): number {
  const values = Array.from({ length: 20_000 }, (_, n) => ({ id: `value-${n}`, n, words: ['a', 'b'] }));
  const times = Array.from({ length: 5 }, () => {
    const start = process.threadCpuUsage();
    const text = JSON.stringify(JSON.parse(JSON.stringify(values)));
    text
      .replaceAll(/[a-z]+-(\d+)/g, '$1')
      .split(',')
      .toSorted();
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
