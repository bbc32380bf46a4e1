/** Row 3: the CPU time of a durable turn, of each process, beside what a stateless Hono proxy needs for the same answer. */
import type { Helper } from './children.ts';
import { type Figure, median } from './figures.ts';
import { modelAsker, type RunningGateway, sessionAsker } from './gateway-setup.ts';
import { cpuMs, familyCpuMs, postmasterOf } from './process-cpu.ts';
import { ANSWER, loadOf, manyAskers } from './streams.ts';

/** The bars hold where the load is highest. */
const LOADS = [
  { sessions: 64 },
  { sessions: 256 },
  { sessions: 1_000, bars: { gateway: 1.8, Postgres: 0.9 } },
];
/** Proxy and gateway take turns, because the machine is not equally free all the time. */
const ROUNDS = 3;

type Meters = Readonly<Record<string, () => number>>;

/** Medians of three rounds; on a machine without /proc nothing, and a sentence on the error output. */
export async function cpuPerTurn(gateway: RunningGateway, proxy: Helper): Promise<Figure[]> {
  const postmaster = await postmasterOf(gateway.place);
  if (cpuMs(process.pid) === undefined) {
    process.stderr.write('CPU per turn is not measured: only Linux reports the CPU time of processes.\n');
    return [];
  }
  if (postmaster === undefined)
    process.stderr.write(
      `${gateway.on}: the CPU of Postgres is not measured: it is no process of its own here.\n`,
    );
  const figures: Figure[] = [];
  for (const load of LOADS) figures.push(...(await measureLoad(gateway, proxy, { postmaster, ...load })));
  return figures;
}

interface MeasuredLoad {
  postmaster: number | undefined;
  sessions: number;
  bars?: Readonly<Record<string, number>>;
}

async function measureLoad(
  gateway: RunningGateway,
  proxy: Helper,
  { postmaster, sessions, bars = {} }: MeasuredLoad,
): Promise<Figure[]> {
  const { model } = gateway;
  const of = (pid: number | undefined) => (): number => cpuMs(pid) ?? Number.NaN;
  const around: Meters = { 'model server': of(model.pid), client: of(process.pid) };
  const rounds: { proxy: Record<string, number>; gateway: Record<string, number>; errors: number }[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const plain = await loadOf(await manyAskers(sessions, () => modelAsker(proxy.url, ANSWER)), {
      proxy: of(proxy.pid),
      ...around,
    });
    const { pid } = await gateway.restart();
    const askers = await manyAskers(sessions, (nth) =>
      sessionAsker(gateway, `cpu-${sessions}-${round}-${nth}`, ANSWER),
    );
    const durable = await loadOf(askers, {
      gateway: of(pid),
      ...(postmaster !== undefined && { Postgres: () => familyCpuMs(postmaster) ?? Number.NaN }),
      ...around,
    });
    rounds.push({
      proxy: { ...plain.perTurn },
      gateway: { ...durable.perTurn },
      errors: plain.errors.length + durable.errors.length,
    });
  }
  if (rounds.some(({ errors }) => errors > 0)) throw new Error('turns failed while CPU was measured');
  return Object.keys(rounds[0]?.gateway ?? {}).map((name) => {
    const ratios = rounds.map((seen) => seen.gateway[name]! / seen.proxy['proxy']!);
    const spent = median(rounds.map((seen) => seen.gateway[name]!));
    const beside = median(rounds.map((seen) => seen.proxy['proxy']!));
    return {
      row: 3,
      what: `CPU per turn at ${sessions} streams: ${name} / plain proxy`,
      on: gateway.on,
      value: median(ratios),
      unit: '×',
      ...(bars[name] !== undefined && { bar: { atMost: bars[name] } }),
      note: `${ratios.map((ratio) => ratio.toFixed(2)).join(', ')}; ${spent.toFixed(2)} ms against ${beside.toFixed(2)} ms`,
    };
  });
}
