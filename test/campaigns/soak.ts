/** Half an hour of ordinary work without any failure: what grows? */
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { runCampaign } from '../crash/campaign.ts';
import { type Failure, gatewayAt, type Stage } from '../crash/failure.ts';
import { TOKEN } from '../crash/scenario.ts';
import { type Campaign, runOptions } from './campaign.ts';

const FULL_MS = 30 * 60_000;
const LEAST_MS = 6_000;
const SAMPLE_EVERY_MS = 5_000;
const LEAST_EVERY_MS = 1_000;
/** The first part of a run fills caches and is not judged. */
const WARM_SHARE = 1 / 3;
/** Shorter runs than this say nothing about slopes, in milliseconds. */
const JUDGED_FROM_MS = 5 * 60_000;

/** Messages per session and minute. A group allows 20 calls a minute, and an answer takes at most two. */
const PER_MINUTE = 8;
/** A heap grows until it is collected: its minimum size within this time counts, in milliseconds. */
const COLLECTED_WITHIN_MS = 60_000;

/** One sample of the process. */
interface Sample {
  atMs: number;
  rssMb: number;
  heapMb: number;
  handles: number;
  loopDelayMs: number;
}

/** How much each may grow in ten minutes. */
const BARS: Record<Exclude<keyof Sample, 'atMs'>, number> = {
  rssMb: 15,
  heapMb: 5,
  handles: 5,
  loopDelayMs: 20,
};

async function look({ scenario }: Stage): Promise<Sample> {
  const gateway = gatewayAt(scenario, 0);
  const status = await readFile(`/proc/${gateway.pid}/status`, 'utf8');
  const handles = await readdir(`/proc/${gateway.pid}/fd`);
  const headers = { authorization: `Bearer ${TOKEN}` };
  const metrics = await (await fetch(`${await gateway.url()}/metrics`, { headers })).text();
  const gauge = (name: string): number => Number(new RegExp(`^${name} (\\S+)`, 'm').exec(metrics)?.[1]);
  return {
    atMs: performance.now(),
    rssMb: Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1_024,
    heapMb: gauge('nodejs_heap_size_used_bytes') / 2 ** 20,
    handles: handles.length,
    loopDelayMs: gauge('parley_loop_delay_p99_seconds') * 1_000,
  };
}

/** For each minute, the sample with the smallest heap. */
function collected(samples: readonly Sample[]): Sample[] {
  const minutes = Map.groupBy(samples, ({ atMs }) => Math.floor(atMs / COLLECTED_WITHIN_MS));
  return [...minutes.values()].map((minute) =>
    minute.reduce((least, sample) => (sample.heapMb < least.heapMb ? sample : least)),
  );
}

/** Least squares: growth in ten minutes. */
function slope(samples: readonly Sample[], of: keyof typeof BARS): number {
  const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [time, value] = [mean(samples.map(({ atMs }) => atMs)), mean(samples.map((sample) => sample[of]))];
  const over = samples.reduce((sum, one) => sum + (one.atMs - time) * (one[of] - value), 0);
  const under = samples.reduce((sum, one) => sum + (one.atMs - time) ** 2, 0);
  return (over / under) * 600_000;
}

export const soak: Campaign = {
  name: 'soak',
  about: '30 minutes of ordinary work; the slopes of memory, handles and loop delay',
  databases: ['embedded', 'postgres'],
  async run(setup) {
    const forMs = Math.max(LEAST_MS, FULL_MS * setup.share);
    const samples: Sample[] = [];
    const sample: Failure = {
      name: 'sample',
      async strike(stage) {
        await pause(forMs < JUDGED_FROM_MS ? LEAST_EVERY_MS : SAMPLE_EVERY_MS);
        samples.push(await look(stage));
        return { since: performance.now(), measure: 'resume', struck: new Set() };
      },
    };
    const outcome = await runCampaign({
      ...runOptions(setup),
      progress: undefined,
      timed: { forMs, perMinute: PER_MINUTE },
      messages: 0,
      sessions: { http: 36, telegram: 4, discord: 4 },
      failures: [sample],
    });
    const late = samples.slice(Math.floor(samples.length * WARM_SHARE));
    const slopes = (['rssMb', 'heapMb', 'handles', 'loopDelayMs'] as const).map((of) => {
      const judged = of === 'heapMb' ? collected(late) : late;
      const growth = slope(judged, of);
      const [from, to] = [judged[0]?.[of] ?? Number.NaN, judged.at(-1)?.[of] ?? Number.NaN];
      setup.progress?.(
        `${of}: ${from.toFixed(1)} to ${to.toFixed(1)}, ${growth.toFixed(2)} in ten minutes (bar ${BARS[of]})`,
      );
      return growth > BARS[of] && forMs >= JUDGED_FROM_MS ? [`${of} grows by ${growth.toFixed(1)}`] : [];
    });
    return {
      ...outcome,
      verdict: { ...outcome.verdict, orphans: [...outcome.verdict.orphans, ...slopes.flat()] },
    };
  },
};
