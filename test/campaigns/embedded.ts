/** What only happens to an embedded database: killed first starts, a full disk, a second process, a clock set back. */
import { setTimeout as pause } from 'node:timers/promises';
import { runCampaign } from '../crash/campaign.ts';
import { setClock, withOwnClock } from '../crash/clocks.ts';
import { type Failure, gatewayAt } from '../crash/failure.ts';
import { fillDisk } from '../crash/small-disk.ts';
import { GatewayProcess } from '../crash/gateways.ts';
import { arrive, until } from '../crash/moments.ts';
import { TOKEN } from '../crash/scenario.ts';
import { type Campaign, repeated, scaled } from './campaign.ts';
import { killWhileMigrating } from './first-start.ts';

const HOUR_MS = 3_600_000;
/** Size of the home: room for a fresh database, and for the run. */
const DISK_MB = 320;
const FULL_MS = 5_000;
/** A second process must have been refused within this time, in milliseconds. */
const REFUSED_WITHIN_MS = 30_000;
/** Starts a program as the first process of a pid namespace, the way a container does. */
const OWN_PROCESSES = ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child', '--'];

const fullDisk: Failure = {
  name: 'full disk',
  async strike(stage) {
    await arrive('busy', stage);
    const free = await fillDisk(gatewayAt(stage.scenario, 0).home);
    await pause(FULL_MS);
    await free();
    return { since: performance.now(), measure: 'resume' };
  },
};

/** The first process lives in a pid namespace, this one in another: neither can see the other's. */
const secondProcess: Failure = {
  name: 'second process',
  async strike(stage) {
    await arrive('busy', stage);
    const { home } = gatewayAt(stage.scenario, 0);
    const second = new GatewayProcess(home, { PORT: '0', GATEWAY_TOKEN: TOKEN }, { prefix: OWN_PROCESSES });
    second.start();
    const refused = await until(() => !second.running, REFUSED_WITHIN_MS);
    await second.kill();
    if (!refused) throw new Error('A second process runs in the home of the first.');
    return { since: performance.now(), measure: 'resume' };
  },
};

const clockSetBack: Failure = {
  name: 'clock',
  async strike(stage, at) {
    await arrive('busy', stage);
    setClock(0, stage.scenario.folder, at % 2 === 0 ? -2 * HOUR_MS : 0);
    await pause(1_000);
    return { since: performance.now(), measure: 'resume' };
  },
};

export const embedded: Campaign = {
  name: 'embedded',
  about: '60 times a killed first start, a full disk, a second process in the same home, a clock set back',
  databases: ['embedded'],
  run(setup) {
    const isRoot = process.getuid?.() === 0;
    if (!isRoot)
      process.stderr.write('SKIPPED: a full disk and pid namespaces, because only root can make them.\n');
    const all = [clockSetBack, killWhileMigrating(setup), ...(isRoot ? [secondProcess, fullDisk] : [])];
    const count = scaled(60, setup.share, 3);
    return runCampaign({
      seed: setup.seed,
      progress: setup.progress,
      messages: count * 16,
      sessions: { http: 8, telegram: 2, discord: 2 },
      failures: repeated(all, count),
      ...(isRoot && { homeMb: DISK_MB }),
      processes: (at, folder) => ({
        ...withOwnClock(at, folder),
        ...(isRoot && { prefix: OWN_PROCESSES }),
      }),
    });
  },
};
