/** Deletes what is no longer needed, or older than the settings allow. */
import { toGatewayError } from '../protocol/errors.ts';
import type { BudgetStore } from '../protocol/agent/budgets.ts';
import type { Retention, RetentionStore } from '../protocol/operator/backup.ts';
import type { HookCallStore } from '../protocol/operator/webhooks.ts';
import type { LaneStore } from '../protocol/store/lanes.ts';
import type { Log } from '../protocol/log.ts';
import type { RemovedFolders, ResponseStore } from '../protocol/store/ledger.ts';
import type { TraceStore } from '../protocol/store/traces.ts';
import type { SessionFiles } from '../protocol/agent/tool.ts';

/** Platforms repeat messages for at most a day; a week also covers a gateway that was down. */
const KEPT_MS = 7 * 24 * 3_600_000;
/** Messages deleted in one statement, and the pause before the next one while there are more. */
const PURGE_BATCH = 1_000;
const MORE_AFTER_MS = 1_000;
const EVERY_MS = 3_600_000;

/** Folders looked up at a time. */
const FOLDER_PAGE = 500;

/** Sessions and turns deleted in one round; while there are more, the next round follows soon. */
export const OLD_BATCH = 200;
const DAY_MS = 24 * 3_600_000;

export interface RetentionDeps {
  lanes: LaneStore;
  old: RetentionStore;
  /** The current rules. */
  rules: () => Retention;
  traces: TraceStore;
  responses: ResponseStore;
  hookCalls: HookCallStore;
  budgets: Pick<BudgetStore, 'purge'>;
  folders: RemovedFolders;
  files: SessionFiles;
  log: Log;
}

/** Deletes at intervals until the signal aborts. */
export function startRetention(deps: RetentionDeps, signal: AbortSignal): void {
  const { lanes, old, traces, responses, hookCalls, budgets, folders, files, log, rules } = deps;
  let timer: NodeJS.Timeout | undefined;
  const plan = (ms: number): void => {
    if (!signal.aborted) timer = setTimeout(() => void round(), ms).unref();
  };
  /** Deleted since the last complete sweep, plus an hour for running turns. The first sweep covers everything. */
  let withinMs = KEPT_MS;
  const round = async (): Promise<void> => {
    try {
      const purged = await lanes.purge(KEPT_MS, PURGE_BATCH);
      const purgedTraces = await traces.purgeTraces(rules().tracesDays * DAY_MS, PURGE_BATCH);
      if (purged + purgedTraces > 0) log.debug({ purged, traces: purgedTraces }, 'messages_purged');
      const purgedResponses = await responses.purgeResponses(PURGE_BATCH);
      const purgedCalls = await hookCalls.purgeCalls(PURGE_BATCH);
      const purgedBudgets = await budgets.purge(PURGE_BATCH);
      const isMore = await purgeOld(old, rules().messagesDays, log);
      const most = Math.max(purged, purgedTraces, purgedResponses, purgedCalls, purgedBudgets);
      if (most >= PURGE_BATCH || isMore) return plan(MORE_AFTER_MS);
      withinMs = (await sweepFolders(folders, (folder) => files.remove(folder), withinMs, signal))
        ? 2 * EVERY_MS
        : KEPT_MS;
    } catch (error) {
      log.warn({ err: toGatewayError(error) }, 'purge_failed');
    }
    plan(EVERY_MS);
  };
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  plan(MORE_AFTER_MS);
}

/** Deletes a batch of what is older than `messagesDays`; true when there may be more. Throws `StoreError`. */
export async function purgeOld(
  old: RetentionStore,
  messagesDays: number | undefined,
  log: Log,
): Promise<boolean> {
  if (messagesDays === undefined) return false;
  const idle = await old.idleSessions(messagesDays, OLD_BATCH);
  let sessions = 0;
  for (const key of idle) if (await old.deleteIdle(key, messagesDays)) sessions += 1;
  const turns = await old.purgeTurns(messagesDays, OLD_BATCH);
  if (sessions + turns > 0) log.info({ sessions, turns, messagesDays }, 'old_messages_deleted');
  return idle.length === OLD_BATCH || turns === OLD_BATCH;
}

/**
 * Removes what is left here of the folders of deleted sessions, after a crash or a deletion by another node. False if
 * one could not be removed. Throws `StoreError`.
 */
export async function sweepFolders(
  folders: RemovedFolders,
  remove: SessionFiles['remove'],
  withinMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  let complete = true;
  let after = '';
  while (!signal.aborted) {
    const page = await folders.removedFolders({ withinMs, after, limit: FOLDER_PAGE });
    for (const folder of page) complete = (await remove(folder)) && complete;
    if (page.length < FOLDER_PAGE) break;
    after = page.at(-1) ?? '';
  }
  return complete;
}
