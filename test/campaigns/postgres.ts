/** A dedicated Postgres that is restarted, loses connections, is read-only, full, or has no connection left. */
import { setTimeout as pause } from 'node:timers/promises';
import { runCampaign } from '../crash/campaign.ts';
import { type Cluster, startCluster } from '../crash/cluster.ts';
import type { Failure } from '../crash/failure.ts';
import { fillDisk } from '../crash/small-disk.ts';
import { arrive } from '../crash/moments.ts';
import { connect } from '../crash/rows.ts';
import { type Campaign, repeated, scaled } from './campaign.ts';

const MAX_CONNECTIONS = 25;
/** Size of the tables' disk: room for them, and for the run. */
const DISK_MB = 160;
/** The minimum time a state lasts, in milliseconds, and up to twice as long. */
const LASTS_MS = 6_000;
const KILLED_BACKENDS = 3;
/** How long messages are written with a standby in step, in milliseconds, and up to twice as long. */
const STANDBY_MS = 2_000;
/** After this time the server ends an idle session: between two heartbeats of a gateway, in milliseconds. */
const IDLE_MS = 300;

/** What is done to the cluster; it is finished when the promise resolves. */
type Harm = (cluster: Cluster, forMs: number) => Promise<void>;

/** External statements, on a connection that may write regardless of the default. */
async function command(cluster: Cluster, ...statements: string[]): Promise<number[]> {
  const sql = connect(cluster);
  try {
    await sql`set default_transaction_read_only = off`;
    const pids: number[] = [];
    for (const statement of statements) {
      const rows = await sql.unsafe<{ pid?: number }[]>(statement);
      pids.push(...rows.flatMap(({ pid }) => pid ?? []));
    }
    return pids;
  } finally {
    await sql.end({ timeout: 1 });
  }
}

const OTHERS = `from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`;

const restarts: Record<string, Harm> = {
  'restart fast': (cluster) => cluster.restart('fast'),
  'restart immediate': (cluster) => cluster.restart('immediate'),
};

const harms: Record<string, Harm> = {
  async 'ended connections'(cluster) {
    await command(cluster, `select pg_terminate_backend(pid) ${OTHERS} limit ${KILLED_BACKENDS}`);
  },
  async 'killed backend'(cluster) {
    const [pid] = await command(cluster, `select pid ${OTHERS} limit 1`);
    if (pid !== undefined) process.kill(pid, 'SIGKILL');
    await cluster.ready();
  },
  async 'read-only'(cluster, forMs) {
    const set = (state: string): Promise<unknown> =>
      command(
        cluster,
        `alter system set default_transaction_read_only = ${state}`,
        'select pg_reload_conf()',
      );
    await set('on');
    await pause(forMs);
    await set('off');
  },
  async 'no connection left'(cluster, forMs) {
    const taken = Array.from({ length: MAX_CONNECTIONS * 2 }, () => connect(cluster));
    await command(cluster, `select pg_terminate_backend(pid) ${OTHERS}`);
    await Promise.allSettled(taken.map((sql) => sql`select 1`));
    await pause(forMs);
    await Promise.all(taken.map((sql) => sql.end({ timeout: 0 })));
  },
  async 'idle timeouts'(cluster, forMs) {
    const names = ['idle_session_timeout', 'idle_in_transaction_session_timeout'];
    const reload = 'select pg_reload_conf()';
    await command(cluster, ...names.map((name) => `alter system set ${name} = ${IDLE_MS}`), reload);
    await pause(forMs);
    await command(cluster, ...names.map((name) => `alter system reset ${name}`), reload);
  },
  async 'full disk'(cluster, forMs) {
    const free = await fillDisk(cluster.dataFolder);
    await pause(forMs);
    await free();
  },
};

/** Every second failure is a restart, of each kind in turn. */
function cycleOf(isRoot: boolean): [string, Harm][] {
  const others = Object.entries(harms).filter(([name]) => isRoot || name !== 'full disk');
  const kinds = repeated(Object.entries(restarts), others.length);
  return kinds.flatMap((restart, at) => [restart, ...others.slice(at, at + 1)]);
}

/** The primary crashes while its standby is in step, and the standby takes its place. */
function failOverOf(cluster: Cluster): Failure {
  return {
    name: 'failover',
    async strike(stage) {
      await arrive('busy', stage);
      await cluster.failOver(STANDBY_MS * (1 + stage.random()));
      return { since: performance.now(), measure: 'resume' };
    },
  };
}

export const failovers: Campaign = {
  name: 'failovers',
  about:
    '20 times the primary crashes under load, and a synchronous standby made from a base backup is promoted',
  databases: ['postgres'],
  async run({ share, seed, progress }) {
    const cluster = await startCluster();
    try {
      const count = scaled(20, share, 2);
      return await runCampaign({
        seed,
        progress,
        cluster,
        messages: count * 24,
        sessions: { http: 12, telegram: 4, discord: 4, slack: 2, matrix: 2 },
        failures: repeated([failOverOf(cluster)], count),
      });
    } finally {
      await cluster.close();
    }
  },
};

function failureOf(cluster: Cluster, name: string, harm: Harm): Failure {
  return {
    name,
    async strike(stage) {
      await arrive('busy', stage);
      await harm(cluster, LASTS_MS * (1 + stage.random()));
      return { since: performance.now(), measure: 'resume' };
    },
  };
}

export const postgres: Campaign = {
  name: 'postgres',
  about:
    '50 restarts of a Postgres, and 50 times one that loses connections, ends idle ones, is read-only, full, or has no connection left',
  databases: ['postgres'],
  async run({ share, seed, progress }) {
    const isRoot = process.getuid?.() === 0;
    if (!isRoot) process.stderr.write('SKIPPED: the full disk, because only root can make a small one.\n');
    const settings = [`max_connections=${MAX_CONNECTIONS}`];
    const cluster = await startCluster({ settings, diskMb: isRoot ? DISK_MB : undefined });
    try {
      const count = scaled(100, share, 3);
      return await runCampaign({
        seed,
        progress,
        cluster,
        messages: count * 24,
        sessions: { http: 12, telegram: 4, discord: 4, slack: 2, matrix: 2 },
        failures: repeated(cycleOf(isRoot), count).map(([name, harm]) => failureOf(cluster, name, harm)),
      });
    } finally {
      await cluster.close();
    }
  },
};
