/** Half an hour of ordinary work without any failure: what grows? */
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { runCampaign } from '../crash/campaign.ts';
import { gatewayAt } from '../crash/failure.ts';
import type { Failure, Stage } from '../crash/failure.ts';
import { TOKEN } from '../crash/scenario.ts';
import type { Campaign } from './campaign.ts';
import { runOptions } from './campaign.ts';

const FULL_MS = 30 * 60_000;
const LEAST_MS = 6_000;
const SAMPLE_EVERY_MS = 5_000;
const LEAST_EVERY_MS = 1_000;
/** The first part of a run fills caches and is not judged. */
const WARM_SHARE = 1 / 3;
/** Shorter runs than this say nothing about slopes, in milliseconds. */
const JUDGED_FROM_MS = 5 * 60_000;

/** One look at the process. */
interface Sample {
  atMs: number;
  rssMb: number;
  handles: number;
  loopDelayMs: number;
}

/** The most that each may grow in ten minutes. */
const BARS: Record<Exclude<keyof Sample, 'atMs'>, number> = { rssMb: 15, handles: 5, loopDelayMs: 20 };

async function look({ scenario }: Stage): Promise<Sample> {
  const gateway = gatewayAt(scenario, 0);
  const status = await readFile(`/proc/${gateway.pid}/status`, 'utf8');
  const handles = await readdir(`/proc/${gateway.pid}/fd`);
  const headers = { authorization: `Bearer ${TOKEN}` };
  const metrics = await (await fetch(`${await gateway.url()}/metrics`, { headers })).text();
  return {
    atMs: performance.now(),
    rssMb: Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1_024,
    handles: handles.length,
    loopDelayMs: Number(/^parley_loop_delay_p99_seconds (\S+)/m.exec(metrics)?.[1]) * 1_000,
  };
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
      forMs,
      messages: 0,
      sessions: { http: 12, telegram: 4, discord: 4 },
      failures: [sample],
    });
    const late = samples.slice(Math.floor(samples.length * WARM_SHARE));
    const slopes = (['rssMb', 'handles', 'loopDelayMs'] as const).map((of) => {
      const growth = slope(late, of);
      const [from, to] = [late[0]?.[of] ?? Number.NaN, late.at(-1)?.[of] ?? Number.NaN];
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
