/** Row 3: how many full turns per second, from accepted to stored; and whether thousands of them leak memory. */
import { type Figure, median } from './figures.ts';
import { type RunningGateway, sessionAsker } from './gateway-setup.ts';

/** Concurrent turns, each in a separate session. */
export const IN_FLIGHT = 64;
const WINDOW_MS = 6_000;
const WINDOWS = 3;
const LEAST = { postgres: 500, embedded: 450 };
const ANSWER = 'say 5';

/** How a gateway performed under load. */
export interface Load {
  /** Turns per second, for each window. */
  rates: number[];
  /** Milliseconds to the first token, for each turn that ended in a window. */
  firstMs: number[];
}

/** Sessions that each always have a turn in flight; an answer ends only once its turn is stored. */
export async function measureLoad(gateway: RunningGateway): Promise<Load> {
  const askers = await Promise.all(
    Array.from({ length: IN_FLIGHT }, (_, nth) => sessionAsker(gateway, `turns-${nth}`, ANSWER)),
  );
  let firstMs: number[] = [];
  const over = new AbortController();
  const all = Promise.all(
    askers.map(async (asker) => {
      while (!over.signal.aborted) firstMs.push((await asker.ask()).firstMs);
    }),
  );
  const rates: number[] = [];
  await window(WINDOW_MS / 2, all);
  firstMs = [];
  for (let nth = 0; nth < WINDOWS; nth += 1) {
    const [before, startedAt] = [firstMs.length, performance.now()];
    await window(WINDOW_MS, all);
    rates.push(((firstMs.length - before) * 1_000) / (performance.now() - startedAt));
  }
  const seen = { rates, firstMs: [...firstMs] };
  over.abort();
  await all;
  for (const asker of askers) asker.close();
  return seen;
}

/** Row 3: 64 sessions at once. */
export async function turnsPerSecond(gateway: RunningGateway): Promise<Figure> {
  const { rates } = await measureLoad(gateway);
  return {
    row: 3,
    what: 'durable turns per second',
    on: gateway.on,
    value: median(rates),
    unit: '/s',
    bar: { atLeast: gateway.on === 'postgres' ? LEAST.postgres : LEAST.embedded },
    note: `median of ${WINDOWS} × ${WINDOW_MS / 1_000} s, ${IN_FLIGHT} in flight: ${rates.map(Math.round).join(', ')}`,
  };
}

/** Waits, but not beyond a failed turn. */
async function window(ms: number, turns: Promise<unknown>): Promise<void> {
  await Promise.race([turns, new Promise((resolve) => setTimeout(resolve, ms))]);
}

const MEMORY_TURNS = 5_000;
const MEMORY_SESSIONS = 200;

/** 5,000 turns over 200 sessions; resident memory is read ten times, the slope is that of the second half. */
export async function memorySlope(gateway: RunningGateway): Promise<Figure> {
  const askers = await Promise.all(
    Array.from({ length: MEMORY_SESSIONS }, (_, nth) => sessionAsker(gateway, `memory-${nth}`, ANSWER)),
  );
  const seen: number[] = [];
  const rounds = MEMORY_TURNS / MEMORY_SESSIONS;
  for (let round = 0; round < rounds; round += 1) {
    await Promise.all(askers.map((asker) => asker.ask()));
    if ((round + 1) % 5 === 0) seen.push(gateway.gateway.rss());
  }
  for (const asker of askers) asker.close();
  const [middle, end] = [seen[Math.floor(seen.length / 2)] ?? 0, seen.at(-1) ?? 0];
  const turns = (MEMORY_TURNS * (seen.length - 1 - Math.floor(seen.length / 2))) / seen.length;
  return {
    what: `memory per 1,000 turns, over ${MEMORY_SESSIONS} sessions`,
    on: gateway.on,
    value: ((end - middle) * 1_000) / turns,
    unit: 'MB',
    note: `RSS in MB: ${seen.map(Math.round).join(' ')}`,
  };
}
