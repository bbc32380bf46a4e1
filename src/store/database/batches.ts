/** Joins calls that arrive while a statement is on its way: one statement, one commit and one answer for all of them. */
import { StoreError } from '../../protocol/errors.ts';
import type { Database, Sql } from './database.ts';

/** Calls in one statement: more make each of them wait longer than they save. */
export const MAX_BATCH = 32;

export interface BatchOptions<Call, Result> {
  /** Two calls with the same key are never in one statement. */
  keyOf: (call: Call) => string;
  /** Runs the calls in one statement; the results are in their order. `attempt` as in `Database.run`. */
  run: (sql: Sql, calls: readonly Call[], attempt: number) => Promise<Result[]>;
}

interface WaitingCall<Call, Result> {
  call: Call;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

/** Returns the function that runs one call. If a batch fails, each call is repeated alone. Throws only `StoreError`. */
export function createBatches<Call, Result>(
  database: Database,
  { keyOf, run }: BatchOptions<Call, Result>,
): (call: Call) => Promise<Result> {
  let queue: WaitingCall<Call, Result>[] = [];
  let isBusy = false;

  /** The oldest calls with different keys. */
  const takeBatch = (): WaitingCall<Call, Result>[] => {
    const batch = new Map<string, WaitingCall<Call, Result>>();
    const rest: WaitingCall<Call, Result>[] = [];
    for (const one of queue) {
      const key = keyOf(one.call);
      if (batch.size < MAX_BATCH && !batch.has(key)) batch.set(key, one);
      else rest.push(one);
    }
    queue = rest;
    return [...batch.values()];
  };

  const runBatch = async (batch: WaitingCall<Call, Result>[], repeated: number): Promise<void> => {
    const calls = batch.map(({ call }) => call);
    try {
      const results = await database.run((sql, attempt) => run(sql, calls, attempt + repeated));
      for (const [nth, { resolve }] of batch.entries()) resolve(results[nth]!);
    } catch (error) {
      // An outage is no call's fault.
      const isOutage =
        error instanceof StoreError && (error.code === 'unavailable' || error.code === 'closed');
      if (batch.length === 1 || isOutage) for (const { reject } of batch) reject(error);
      else await Promise.all(batch.map((one) => runBatch([one], repeated + 1)));
    }
  };

  const drain = async (): Promise<void> => {
    while (queue.length > 0) await runBatch(takeBatch(), 0);
    isBusy = false;
  };

  return (call) => {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    queue.push({ call, resolve, reject });
    if (!isBusy) {
      isBusy = true;
      // What arrives in the same turn of the event loop comes along.
      setImmediate(() => void drain());
    }
    return promise;
  };
}
