/** kill -9 of the processes of a gateway with an embedded database: the gateway, the database, what keeps it, or all of them. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { runCampaign } from '../crash/campaign.ts';
import { gatewayAt } from '../crash/failure.ts';
import type { Failure } from '../crash/failure.ts';
import type { GatewayProcess } from '../crash/gateways.ts';
import { arrive, until } from '../crash/moments.ts';
import { processesOf } from '../crash/orphans.ts';
import { signal } from '../crash/power-cut.ts';
import type { Campaign } from './campaign.ts';
import { repeated, runOptions, scaled } from './campaign.ts';

const FULL = 200;
const MESSAGES_PER_KILL = 12;
/** How long a gateway may go on without its database before it ends or has it back, in milliseconds. */
const DECIDED_WITHIN_MS = 20_000;
/** How long a process may outlive those that belong to it, in milliseconds. */
const GONE_WITHIN_MS = 10_000;

/** Who is killed. */
type Victim = 'gateway' | 'keeper' | 'database' | 'all';
const VICTIMS: Victim[] = ['gateway', 'database', 'keeper', 'all'];

/** One kill; what outlives it is added to `orphans`. */
function killOf(victim: Victim, orphans: string[]): Failure {
  return {
    name: `kill of ${victim}`,
    async strike(stage, at) {
      const gateway = gatewayAt(stage.scenario, 0);
      await arrive(at % 8 < 4 ? 'busy' : 'any', stage);
      const before = await processesOf(gateway.home);
      const { database, keeper } = await databaseOf(gateway);
      const struck = { gateway: [], keeper: [keeper], database: [database], all: [database, keeper] }[victim];
      const endsGateway = victim === 'gateway' || victim === 'all';
      if (!endsGateway) gateway.mayEnd();
      for (const pid of struck) signal(pid, 'SIGKILL');
      if (endsGateway || !(await hasDatabaseAgain(gateway, database))) await gateway.kill();
      const since = performance.now();
      if (!gateway.running) gateway.start();
      await gateway.url();
      const left = before.filter(({ pid }) => pid !== gateway.pid);
      await until(() => left.every(({ pid }) => !isAlive(pid)), GONE_WITHIN_MS);
      for (const { pid, command } of left)
        if (isAlive(pid)) orphans.push(`${pid} outlived kill ${at + 1} (${victim}): ${command}`);
      return { since, measure: 'resume' };
    },
  };
}

/** The database's first process, and its parent. */
async function databaseOf({ home }: GatewayProcess): Promise<{ database: number; keeper: number }> {
  const [first = ''] = (await readFile(path.join(home, 'pg', 'postmaster.pid'), 'utf8')).split('\n');
  const status = await readFile(`/proc/${first}/status`, 'utf8');
  const [, parent = ''] = /^PPid:\s+(\d+)$/m.exec(status) ?? [];
  return { database: Number(first), keeper: Number(parent) };
}

/** False when the gateway has ended, or stays without a database. */
async function hasDatabaseAgain(gateway: GatewayProcess, killed: number): Promise<boolean> {
  const end = performance.now() + DECIDED_WITHIN_MS;
  while (gateway.running && performance.now() < end) {
    if ((await isReady(gateway)) && !isAlive(killed)) return true;
    await pause(50);
  }
  return false;
}

async function isReady(gateway: GatewayProcess): Promise<boolean> {
  try {
    return (await fetch(`${await gateway.url()}/readyz`)).ok;
  } catch {
    // It has ended, or is about to.
    return false;
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    // Ended: all of them belong to this user.
    return false;
  }
}

export const processes: Campaign = {
  name: 'processes',
  about:
    '200 times kill -9 of the gateway, of its embedded database, of the process between them, or of all three',
  databases: ['embedded'],
  async run(setup) {
    const orphans: string[] = [];
    const count = scaled(FULL, setup.share, VICTIMS.length);
    return await runCampaign({
      ...runOptions(setup),
      messages: count * MESSAGES_PER_KILL,
      sessions: { http: 12, telegram: 2 },
      failures: repeated(VICTIMS, count).map((victim) => killOf(victim, orphans)),
      audit: async () => ({ orphans }),
    });
  },
};
