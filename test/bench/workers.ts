/** Row `workers`: how many turns per second a second worker process adds, on Postgres. */
import { cpus } from 'node:os';
import { type Figure, median, quantile } from './figures.ts';
import type { RunningGateway } from './gateway-setup.ts';
import { IN_FLIGHT, type Load, measureLoad } from './turns.ts';

const WORKERS = 2;
/** One process and several take turns, because the machine is not equally free all the time. */
const ROUNDS = 2;

/** Turns per second and slowest first tokens of one process and of two; nothing on the embedded database (one process). */
export async function severalWorkers(gateway: RunningGateway): Promise<Figure[]> {
  const { on } = gateway;
  if (on === 'embedded') return [];
  const [alone, shared]: [Load, Load] = [empty(), empty()];
  for (let round = 0; round < ROUNDS; round += 1) {
    await gateway.restart();
    add(alone, await measureLoad(gateway));
    await gateway.restart({}, {}, WORKERS);
    add(shared, await measureLoad(gateway));
  }
  await gateway.restart();
  const rateOf = ({ rates }: Load): number => median(rates);
  const firstOf = ({ firstMs }: Load): number => quantile(firstMs, 0.99);
  const seen = ({ rates }: Load): string => rates.map(Math.round).join(', ');
  const machine = `${cpus().length} cores for workers, Postgres, model and clients together; ${IN_FLIGHT} in flight`;
  return [
    {
      what: `turns per second of ${WORKERS} workers`,
      on,
      value: rateOf(shared),
      unit: '/s',
      note: `${machine}: ${seen(shared)}`,
    },
    { what: 'turns per second of one process', on, value: rateOf(alone), unit: '/s', note: seen(alone) },
    {
      what: `turns per second, ${WORKERS} workers / one process`,
      on,
      value: rateOf(shared) / rateOf(alone),
      unit: '×',
    },
    {
      what: `first token under that load, p99 of ${WORKERS} workers`,
      on,
      value: firstOf(shared),
      unit: 'ms',
      note: `one process: ${firstOf(alone).toFixed(1)} ms`,
    },
  ];
}

function empty(): Load {
  return { rates: [], firstMs: [] };
}

function add(all: Load, more: Load): void {
  all.rates.push(...more.rates);
  for (const ms of more.firstMs) all.firstMs.push(ms);
}
