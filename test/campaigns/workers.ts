/** Two worker processes behind one port, as `parley start --workers 2` runs them: one after the other is killed, and started again. */
import { readFileSync } from 'node:fs';
import { runCampaign } from '../crash/campaign.ts';
import { gatewayAt } from '../crash/failure.ts';
import type { Failure } from '../crash/failure.ts';
import { arrive } from '../crash/moments.ts';
import type { Moment } from '../crash/moments.ts';
import type { Campaign } from './campaign.ts';
import { repeated, runOptions, scaled } from './campaign.ts';

const WORKERS = 2;
const MOMENTS: Moment[] = ['busy', 'any', 'T1', 'busy', 'T6', 'T4'];

/** Kills a worker; its supervisor starts it again by itself. */
const killWorkerAt = (moment: Moment): Failure => ({
  name: 'kill a worker',
  async strike(stage) {
    await arrive(moment, stage);
    const workers = childrenOf(gatewayAt(stage.scenario, 0).pid ?? 0);
    const victim = workers[Math.floor(stage.random() * workers.length)];
    if (victim === undefined) throw new Error('The supervisor has no worker.');
    process.kill(victim, 'SIGKILL');
    return { since: performance.now(), measure: 'takeover' };
  },
});

/** Linux tells the children of a process. */
function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return text === '' ? [] : text.split(' ').map(Number);
}

export const workers: Campaign = {
  name: 'workers',
  about: `100 times kill -9 of one of ${WORKERS} workers while 50 people write 2,500 messages`,
  databases: ['postgres'],
  run: (setup) =>
    runCampaign({
      ...runOptions(setup),
      environment: { WORKERS: String(WORKERS) },
      messages: scaled(2_500, setup.share, 48),
      sessions: {
        http: scaled(24, setup.share, 8),
        telegram: scaled(13, setup.share, 2),
        discord: scaled(13, setup.share, 2),
        slack: scaled(13, setup.share, 2),
        matrix: scaled(13, setup.share, 2),
      },
      failures: repeated(MOMENTS, scaled(100, setup.share, 2)).map(killWorkerAt),
    }),
};
