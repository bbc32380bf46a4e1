/** Row 4: many answers growing at once, compared with the same load directly on the model server. */
import type { Figure } from './figures.ts';
import { type Asker, modelAsker, type RunningGateway, sessionAsker } from './gateway-setup.ts';

/** Tokens per answer, and how many the model generates per second: one every 20 ms. */
const TOKENS = 40;
const PER_SECOND = 50;
export const ANSWER = `pace ${PER_SECOND} ${TOKENS}`;
/** How long the load runs before counting starts, and how long it is counted. */
const WARM_UP_MS = 3_000;
const WINDOW_MS = 12_000;

/** What a number of sessions must reach: turns per second as a share of what the model server itself achieves. */
const LOADS = [
  { row: 4, sessions: 256, share: 0.8 },
  { row: 4, sessions: 1_000, share: 0.45 },
];

/** 256 and 1,000 sessions, each asking again once answered; loop delay and memory are the gateway's own figures. */
export async function pacedStreams(gateway: RunningGateway): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const load of LOADS) figures.push(...(await measureLoad(gateway, load)));
  return figures;
}

async function measureLoad(
  gateway: RunningGateway,
  { row, sessions, share }: (typeof LOADS)[number],
): Promise<Figure[]> {
  const { on } = gateway;
  const direct = await loadOf(await manyAskers(sessions, () => modelAsker(gateway.model.url, ANSWER)));
  // A fresh process, so that its delay and memory reflect only this load.
  const process = await gateway.restart();
  const askers = await manyAskers(sessions, (nth) =>
    sessionAsker(gateway, `streams-${sessions}-${nth}`, ANSWER),
  );
  let most = 0;
  const watch = setInterval(() => (most = Math.max(most, process.rss())), 500);
  const cpuBefore = await process.metric('process_cpu_seconds_total');
  const through = await loadOf(askers);
  const cpu = (await process.metric('process_cpu_seconds_total')) - cpuBefore;
  clearInterval(watch);
  const delay = (await process.metric('parley_loop_delay_p99_seconds')) * 1_000;
  const what = `${sessions} sessions at 20 ms a token`;
  const perToken = (cpu * 1_000_000) / (through.turns * TOKENS);
  return [
    {
      row,
      what: `${what}: turns/s through the gateway / straight`,
      on,
      value: through.rate / direct.rate,
      unit: '×',
      bar: { atLeast: share },
      note: `${through.rate.toFixed(0)} of ${direct.rate.toFixed(0)} turns/s; ${perToken.toFixed(0)} µs of CPU a token, the turns' own work included`,
    },
    {
      row,
      what: `${what}: errors`,
      on,
      value: through.errors.length,
      unit: '',
      bar: { atMost: 0 },
      note: (through.errors[0] ?? '').slice(0, 400),
    },
    { row, what: `${what}: loop delay p99`, on, value: delay, unit: 'ms', bar: { atMost: 60 } },
    {
      row,
      what: `${what}: memory`,
      on,
      value: most,
      unit: 'MB',
      ...(on === 'postgres' && { bar: { atMost: 512 } }),
    },
  ];
}

export interface Load {
  /** Turns per second in the window. */
  rate: number;
  /** All turns, including the warm-up. */
  turns: number;
  errors: string[];
  /** How much each meter rose per turn in the window. */
  perTurn: Readonly<Record<string, number>>;
}

/** This many askers. */
export function manyAskers(count: number, make: (nth: number) => Promise<Asker>): Promise<Asker[]> {
  return Promise.all(Array.from({ length: count }, (_, nth) => make(nth)));
}

/** Keeps every asker asking until the window is over; closes them. `meters` only rise, and are read at both ends of the window. */
export async function loadOf(
  askers: readonly Asker[],
  meters: Readonly<Record<string, () => number>> = {},
): Promise<Load> {
  const over = new AbortController();
  const errors: string[] = [];
  let turns = 0;
  const running = Promise.all(
    askers.map(async (asker) => {
      try {
        while (!over.signal.aborted) {
          await asker.ask();
          turns += 1;
        }
      } catch (error) {
        errors.push(error instanceof Error ? error.message : String(error));
      }
    }),
  );
  const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
  await wait(WARM_UP_MS);
  const read = (): [string, number][] => Object.entries(meters).map(([name, meter]) => [name, meter()]);
  const [before, metersBefore, startedAt] = [turns, new Map(read()), performance.now()];
  await wait(WINDOW_MS);
  const turnsInWindow = turns - before;
  const rate = (turnsInWindow * 1_000) / (performance.now() - startedAt);
  const rises = read().map(([name, end]) => [name, (end - (metersBefore.get(name) ?? 0)) / turnsInWindow]);
  over.abort();
  await running;
  for (const asker of askers) asker.close();
  return { rate, turns, errors, perTurn: Object.fromEntries(rises) };
}
