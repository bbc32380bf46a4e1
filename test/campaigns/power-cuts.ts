/** Power cuts: copies of the disk of a home at any moment, each of which a gateway must open with all acknowledged messages. */
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { runCampaign } from '../crash/campaign.ts';
import { type Failure, gatewayAt, type Stage } from '../crash/failure.ts';
import { GatewayProcess } from '../crash/gateways.ts';
import { arrive } from '../crash/moments.ts';
import { processesOf } from '../crash/orphans.ts';
import { cutPower, lossesOf, OWN_MACHINE, signal } from '../crash/power-cut.ts';
import { imageOf, TOKEN } from '../crash/scenario.ts';
import { makeImage, mountImage, unmountDisk } from '../crash/small-disk.ts';
import { type Campaign, repeated, scaled } from './campaign.ts';

/** Room for a database with its log, and for the run. */
const DISK_MB = 512;
/** A power that fails once often fails again: how long after a start the next cut may come, in milliseconds. */
const AFTER_START_MS = 6_000;
/** A first start takes about this long, in milliseconds. */
const FIRST_START_MS = 4_000;
const FULL = 40;
const MESSAGES_PER_CUT = 16;

/** When the power is cut. */
type Moment = 'busy' | 'start' | 'stop' | 'kill' | 'first start';
const MOMENTS: Moment[] = ['busy', 'start', 'kill', 'first start', 'busy', 'stop', 'busy', 'start'];

/** One cut; what is lost by it is added to `lost`. */
function cutAt(moment: Moment, lost: string[][]): Failure {
  return {
    name: `cut (${moment})`,
    async strike(stage, at) {
      const copy = path.join(stage.scenario.folder, `cut${at}.img`);
      const accepted = await (moment === 'first start'
        ? cutFirstStart(stage, copy)
        : cut(moment, stage, at, copy));
      const losses = await lossesOf(copy, accepted);
      lost.push(losses.map((loss) => `cut ${at + 1} (${moment}): ${loss}`));
      return { since: performance.now(), measure: 'resume', struck: new Set() };
    },
  };
}

/** Cuts the power of the run's gateway, which goes on or is started again; returns what had been acknowledged before. */
async function cut(
  moment: Moment,
  stage: Stage,
  at: number,
  copy: string,
): Promise<Stage['people']['accepted']> {
  const { scenario, people, random } = stage;
  const gateway = gatewayAt(scenario, 0);
  await arrive('busy', stage);
  if (moment === 'stop') await gateway.close();
  if (moment === 'kill' || (moment === 'start' && at % 2 === 0)) await killAll(gateway, at % 4 === 0);
  if (moment === 'start') {
    await gateway.close();
    gateway.start();
    await pause(random() * AFTER_START_MS);
  }
  const accepted = [...people.accepted];
  await cutPower(gateway.home, copy);
  if (!gateway.running) gateway.start();
  await gateway.url();
  return accepted;
}

/** kill -9 of the gateway, with or without the processes that belong to it. */
async function killAll(gateway: GatewayProcess, alone: boolean): Promise<void> {
  if (!alone)
    for (const { pid } of await processesOf(gateway.home)) if (pid !== gateway.pid) signal(pid, 'SIGKILL');
  await gateway.kill();
}

/** A gateway that nobody has written to yet: it must start again, and that is all. */
async function cutFirstStart({ scenario, random }: Stage, copy: string): Promise<[]> {
  const home = `${copy}.first`;
  await makeImage(imageOf(home), DISK_MB);
  await mountImage(imageOf(home), home);
  const gateway = new GatewayProcess(
    home,
    { PORT: '0', GATEWAY_TOKEN: TOKEN, OLLAMA_HOST: scenario.ollama.url },
    { prefix: OWN_MACHINE },
  );
  try {
    gateway.start();
    await pause(random() * FIRST_START_MS);
    await cutPower(home, copy);
  } finally {
    await gateway.kill();
    await unmountDisk(home);
    await Promise.all([home, imageOf(home)].map((file) => rm(file, { recursive: true, force: true })));
  }
  return [];
}

export const powerCuts: Campaign = {
  name: 'power-cuts',
  about:
    '40 power cuts: copies of the disk at any moment, each opened by a gateway that must have all it acknowledged',
  databases: ['embedded'],
  missing: () =>
    process.getuid?.() === 0 && existsSync('/dev/loop-control')
      ? undefined
      : 'run as root where there are loop devices',
  async run({ share, seed, progress }) {
    const lost: string[][] = [];
    const count = scaled(FULL, share, 4);
    const outcome = await runCampaign({
      seed,
      progress,
      messages: count * MESSAGES_PER_CUT,
      sessions: { http: 8 },
      failures: repeated(MOMENTS, count).map((moment) => cutAt(moment, lost)),
      imageMb: DISK_MB,
      audit: async () => ({ lost: lost.flat() }),
    });
    const unopened = lost.flat().filter((loss) => loss.includes('does not open')).length;
    progress?.(
      `${count} disks: ${count - unopened} opened, ${lost.flat().length - unopened} acknowledged messages missing`,
    );
    return outcome;
  },
};
