/** Two worker processes on one port, as with `parley start --workers 2`: one is killed, or both, or their supervisor. */
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { runCampaign } from '../crash/campaign.ts';
import { endNodes, type Failure, gatewayAt, kill, type Stage } from '../crash/failure.ts';
import { arrive, type Moment, until } from '../crash/moments.ts';
import { workersOf } from '../crash/rows.ts';
import { type Campaign, repeated, runOptions, scaled } from './campaign.ts';

const WORKERS = 2;
/** Time until a killed process, or a worker without a supervisor, is gone, and until a worker is back, in milliseconds: the supervisor waits ever longer. */
const GONE_MS = 5_000;
const BACK_MS = 60_000;

/** Kills this many workers; their supervisor restarts them on its own. */
const killWorkers = (count: number, moment: Moment): Failure => ({
  name: count === 1 ? 'kill a worker' : 'kill both workers',
  async strike(stage) {
    const { scenario, random } = stage;
    const supervisor = gatewayAt(scenario, 0);
    await arrive(moment, stage);
    const home = await scenario.instance(supervisor);
    const nodes = await scenario.read((sql) => workersOf(sql, home));
    const children = childrenOf(supervisor.pid ?? 0);
    const first = Math.floor(random() * children.length);
    const victims = Array.from({ length: count }, (_, nth) => children[(first + nth) % children.length] ?? 0);
    const instances = victims.map((pid) => `${home}:${workerNumber(pid)}`);
    const { diedAt, read } = await endNodes(stage, instances, () => end(victims));
    const dead = new Set(instances.map((instance) => nodes.get(instance)));
    await allBack(stage, home, dead);
    return { ...(await read()), since: diedAt, measure: 'takeover' };
  },
});

/** The workers end with their supervisor, and the next supervisor starts new ones. */
const killSupervisor: Failure = {
  name: 'kill the supervisor',
  async strike(stage) {
    await arrive('busy', stage);
    const supervisor = gatewayAt(stage.scenario, 0);
    const workers = childrenOf(supervisor.pid ?? 0);
    const result = await kill(stage, supervisor);
    if (!(await until(() => workers.every(isGone), GONE_MS)))
      throw new Error('A worker has outlived its supervisor.');
    return result;
  },
};

/** Linux lists the children of a process. */
function childrenOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return children === '' ? [] : children.split(' ').map(Number);
}

function workerNumber(pid: number): string {
  const [, number] = /(?:^|\0)PARLEY_WORKER=(\d+)/.exec(readFileSync(`/proc/${pid}/environ`, 'utf8')) ?? [];
  if (number === undefined) throw new Error(`Process ${pid} is no worker.`);
  return number;
}

async function end(pids: readonly number[]): Promise<void> {
  for (const pid of pids) process.kill(pid, 'SIGKILL');
  if (!(await until(() => pids.every(isGone), GONE_MS))) throw new Error('A killed worker is still there.');
}

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
}

/** Waits until every worker has a live node. Throws when the supervisor does not bring one back. */
async function allBack(
  { scenario }: Stage,
  home: string,
  dead: ReadonlySet<string | undefined>,
): Promise<void> {
  const end = performance.now() + BACK_MS;
  for (;;) {
    const nodes = await scenario.read((sql) => workersOf(sql, home));
    if ([...nodes.values()].filter((id) => !dead.has(id)).length === WORKERS) return;
    if (performance.now() > end) throw new Error('The supervisor has not started a worker again.');
    await pause(50);
  }
}

/** A supervisor doubles its wait after each death of a worker: after these, the next supervisor starts over. */
const CYCLE: Failure[] = [
  killWorkers(1, 'busy'),
  killSupervisor,
  killWorkers(2, 'busy'),
  killWorkers(1, 'T6'),
  killWorkers(1, 'T1'),
  killWorkers(1, 'any'),
  killWorkers(1, 'T4'),
];

export const workers: Campaign = {
  name: 'workers',
  about: `100 times kill -9 of a worker, of ${WORKERS} at once or of their supervisor, while 50 people write 2,500 messages`,
  databases: ['postgres'],
  run: (setup) =>
    runCampaign({
      ...runOptions(setup),
      environment: { WORKERS: String(WORKERS) },
      messages: scaled(2_500, setup.share, 40),
      sessions: {
        http: scaled(24, setup.share, 6),
        telegram: scaled(13, setup.share),
        discord: scaled(13, setup.share),
        slack: scaled(13, setup.share),
        matrix: scaled(13, setup.share),
      },
      failures: repeated(CYCLE, scaled(100, setup.share, 2)),
    }),
};
