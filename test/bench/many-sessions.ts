/** The row "sessions": a gateway with 10,000 conversations, each a copy of a real one: its start, first tokens, lists, search and memory. */
import { connect } from '../crash/rows.ts';
import { BENCH_TOKEN } from './children.ts';
import { type Figure, median } from './figures.ts';
import { type RunningGateway, sessionAsker } from './gateway-setup.ts';
import { familyMb } from './process-cpu.ts';

const SESSIONS = 10_000;
const ORIGINAL = 'original';
/** Turns of each: four messages. */
const TURNS = 2;
const SAMPLES = 30;
/** The tables of a conversation, and the column that names it. */
const TABLES = {
  session: 'key',
  lane: 'key',
  lane_item: 'lane',
  turn: 'session',
  message: 'session',
  context: 'session',
};

/** The id of a turn, which is unique. */
const TURN_ID = '([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})';

/** Bars, on any database: milliseconds, and megabytes of all processes. */
const BARS = { start: 2_500, first: 30, list: 100, search: 500, page: 50, memory: 400 };

/** Fills the database and measures; the conversations stay. */
export async function manySessions(gateway: RunningGateway): Promise<Figure[]> {
  const original = await sessionAsker(gateway, ORIGINAL, 'say 5');
  for (let turn = 0; turn < TURNS; turn += 1) await original.ask();
  original.close();
  await copySessions(gateway);
  const { readyAfterMs } = await gateway.restart();
  const first: number[] = [];
  for (let nth = 1; nth <= SAMPLES; nth += 1) {
    const asker = await sessionAsker(gateway, `copy${nth * 300}`, 'say 5');
    first.push((await asker.ask()).firstMs);
    asker.close();
  }
  const list = await timesOf(gateway, '/v1/sessions?limit=100');
  const search = await timesOf(gateway, '/v1/search?q=say');
  const page = await timesOf(gateway, '/v1/sessions/http:copy5000/messages');
  const all = familyMb(gateway.gateway.pid);
  const figure = { on: gateway.on, note: `${SESSIONS} sessions of ${2 * TURNS} messages` };
  const ms = (what: string, value: number, atMost: number): Figure => ({
    ...figure,
    what,
    value,
    unit: 'ms',
    bar: { atMost },
  });
  return [
    ms('start to ready, 10,000 sessions', readyAfterMs, BARS.start),
    ms('first token in one of 10,000 sessions, p50', median(first), BARS.first),
    ms('list of 100 of 10,000 sessions, p50', median(list), BARS.list),
    ms('search in 10,000 sessions, p50', median(search), BARS.search),
    ms('messages of one of 10,000 sessions, p50', median(page), BARS.page),
    {
      ...figure,
      what: 'memory of all processes, 10,000 sessions',
      value: all ?? Number.NaN,
      unit: 'MB',
      bar: { atMost: BARS.memory },
    },
  ];
}

/** Copies every row of the original conversation, with its own name and ids in place of those. */
async function copySessions({ place }: RunningGateway): Promise<void> {
  const sql = connect(place);
  try {
    for (const [table, column] of Object.entries(TABLES)) {
      const columns = await sql<{ name: string }[]>`
        select column_name as name from information_schema.columns
        where table_name = ${table} and is_identity = 'NO' and is_generated = 'NEVER'`;
      const names = columns.map(({ name }) => name);
      await sql`
        insert into ${sql(table)} (${sql(names)})
        select ${sql(names.map((name) => `copied.${name}`))} from ${sql(table)} original, generate_series(1, ${SESSIONS}) n,
          jsonb_populate_record(null::${sql(table)}, replace(
            regexp_replace(to_jsonb(original)::text, ${TURN_ID}, '\\1-' || n, 'g'), ${ORIGINAL}, 'copy' || n)::jsonb) copied
        where original.${sql(column)} in (${`http:${ORIGINAL}`}, ${`in:http:${ORIGINAL}`})`;
    }
    const [row] = await sql<{ count: number }[]>`
      select count(*)::int as count from message where session like 'http:copy%'`;
    if (row?.count !== SESSIONS * TURNS * 2) throw new Error(`${row?.count} messages were copied`);
    await sql`analyze`;
  } finally {
    await sql.end();
  }
}

async function timesOf({ gateway }: RunningGateway, route: string): Promise<number[]> {
  const times: number[] = [];
  for (let nth = 0; nth < SAMPLES; nth += 1) {
    const start = performance.now();
    const response = await fetch(gateway.url + route, {
      headers: { authorization: `Bearer ${BENCH_TOKEN}` },
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${route}: ${response.status} ${text.slice(0, 200)}`);
    times.push(performance.now() - start);
  }
  return times;
}
