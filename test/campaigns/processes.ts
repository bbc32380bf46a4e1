/** kill -9 of the processes of a gateway with an embedded database: the gateway, the database, its watchdog, or several. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { runCampaign } from '../crash/campaign.ts';
import type { Verdict } from '../crash/judge/checker.ts';
import { endNodes, type Failure, type FailureResult, gatewayAt } from '../crash/failure.ts';
import type { GatewayProcess } from '../crash/gateways.ts';
import { arrive, until } from '../crash/moments.ts';
import { processesOf } from '../crash/orphans.ts';
import { signal } from '../crash/power-cut.ts';
import { type Campaign, repeated, runOptions, scaled } from './campaign.ts';

const FULL = 250;
const MESSAGES_PER_KILL = 12;
/** How long a gateway may take until it has its database back, in milliseconds. */
const BACK_WITHIN_MS = 20_000;
/** How long a process may outlive those that it belongs to, in milliseconds. */
const GONE_WITHIN_MS = 10_000;

/** Who is killed. */
type Victim = 'gateway' | 'watchdog' | 'database';
/** After the watchdog comes the gateway: the next watchdog must have taken its place. */
const KILLS: Victim[][] = [
  ['database'],
  ['watchdog'],
  ['gateway'],
  ['watchdog', 'gateway'],
  ['database', 'watchdog', 'gateway'],
];

type Violations = Pick<Verdict, 'orphans' | 'exits'>;

/** One kill; what goes wrong is added to the violations. */
function killOf(victims: readonly Victim[], { orphans, exits }: Violations): Failure {
  const name = victims.length === 3 ? 'all' : victims.join('+');
  return {
    name,
    async strike(stage, at) {
      const gateway = gatewayAt(stage.scenario, 0);
      await arrive(at % 2 === 0 ? 'busy' : 'any', stage);
      const { database, watchdog } = await databaseOf(gateway);
      const ending = await belongingTo(gateway, victims, watchdog);
      const instance = await stage.scenario.instance(gateway);
      const since = performance.now();
      const end = async (): Promise<void> => {
        if (victims.includes('database')) signal(database, 'SIGKILL');
        if (victims.includes('watchdog')) signal(watchdog, 'SIGKILL');
        if (victims.includes('gateway')) await gateway.kill();
      };
      let evidence: Partial<FailureResult> = {};
      if (victims.includes('gateway')) {
        const { diedAt, read } = await endNodes(stage, [instance], end);
        gateway.start();
        await gateway.url();
        evidence = { diedAt, ...(await read()) };
      } else {
        await end();
        if (!(await hasDatabase(gateway, victims.includes('database') ? database : undefined)))
          exits.push(
            `kill ${at + 1} (${name}): the gateway has no database ${BACK_WITHIN_MS / 1_000} s later`,
          );
      }
      await until(() => ending.every(({ pid }) => !isAlive(pid)), GONE_WITHIN_MS);
      for (const { pid, command } of ending)
        if (isAlive(pid)) orphans.push(`process ${pid} after kill ${at + 1} (${name}): ${command}`);
      return { ...evidence, since, measure: 'resume' };
    },
  };
}

/** The first process of the database, and the shell that ends it when the gateway dies. */
async function databaseOf({ home, pid }: GatewayProcess): Promise<{ database: number; watchdog: number }> {
  const file = path.join(home, 'pg', 'postmaster.pid');
  const [database = ''] = (await readFile(file, 'utf8')).split('\n');
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ');
  for (const child of children) {
    const command = await readFile(`/proc/${child}/cmdline`, 'utf8');
    if (command.startsWith('sh\0-c\0')) return { database: Number(database), watchdog: Number(child) };
  }
  throw new Error(`The gateway with the process ${pid} has no watchdog.`);
}

/** The processes that must end with these. */
async function belongingTo(
  { home, pid: own }: GatewayProcess,
  victims: readonly Victim[],
  watchdog: number,
): Promise<{ pid: number; command: string }[]> {
  const guard = { pid: watchdog, command: 'watchdog' };
  const all = (await processesOf(home)).filter(({ pid }) => pid !== own);
  if (victims.includes('gateway')) return [...all, guard];
  return victims.includes('database') ? all : [guard];
}

/** Waits until a gateway has a database that is not the killed one. */
async function hasDatabase(gateway: GatewayProcess, killed: number | undefined): Promise<boolean> {
  const end = performance.now() + BACK_WITHIN_MS;
  while (gateway.running && performance.now() < end) {
    if ((killed === undefined || !isAlive(killed)) && (await isReady(gateway))) return true;
    await pause(50);
  }
  return false;
}

async function isReady(gateway: GatewayProcess): Promise<boolean> {
  try {
    return (await fetch(`${await gateway.url()}/readyz`)).ok;
  } catch {
    // It has ended: the loop above sees that.
    return false;
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    // Root may signal every process: this one has ended.
    return false;
  }
}

export const processes: Campaign = {
  name: 'processes',
  about:
    '250 times kill -9 of the embedded database, of its watchdog, of the gateway, of the last two, or of all three',
  databases: ['embedded'],
  async run(setup) {
    const violations: Violations = { orphans: [], exits: [] };
    const count = scaled(FULL, setup.share, KILLS.length);
    return await runCampaign({
      ...runOptions(setup),
      messages: count * MESSAGES_PER_KILL,
      sessions: { http: 12, telegram: 2 },
      failures: repeated(KILLS, count).map((victims) => killOf(victims, violations)),
      audit: async () => violations,
    });
  },
};
