/** `parley start`: one gateway, or with `--workers` several processes behind one port. */
import cluster from 'node:cluster';
import { availableParallelism } from 'node:os';
import { GatewayError } from '../protocol/errors.ts';
import { PARLEY } from '../protocol/texts/parley.ts';
import { addEnvFiles } from './environment.ts';
import { readArguments } from './arguments.ts';
import { followCurrent, trialDue } from './upgrade/versions.ts';

/** Processes that one supervisor starts at most: each has its own connections to the database. */
export const MAX_WORKERS = 64;

/** Runs until it is stopped. Throws `GatewayError('usage')`, and the errors of the environment files. */
export async function start(args: readonly string[]): Promise<void> {
  const workers = readWorkers(args);
  addEnvFiles();
  await followCurrent();
  const due = trialDue();
  if (due !== undefined) {
    const { tryVersion } = await import('./upgrade/trial.ts');
    await tryVersion(due);
  }
  if (workers > 1 && cluster.isPrimary) {
    const { superviseWorkers } = await import('./workers.ts');
    return await superviseWorkers(workers);
  }
  const { run } = await import('../main.ts');
  return await run();
}

/** The number of processes. Throws `GatewayError('usage')`. */
export function readWorkers(args: readonly string[], cores = availableParallelism()): number {
  const usage = `Expected: start [--workers N|auto]. See: ${PARLEY} --help`;
  const value = readArguments(args, usage, { options: { workers: { type: 'string' } } }).values.workers;
  if (value === undefined) return 1;
  if (value === 'auto') return Math.min(MAX_WORKERS, cores);
  const count = /^\d{1,3}$/.test(value) ? Number(value) : 0;
  if (count >= 1 && count <= MAX_WORKERS) return count;
  throw new GatewayError('usage', `--workers takes auto or a number from 1 to ${MAX_WORKERS}.`);
}
