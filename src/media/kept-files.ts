/** Removes the files of messages from the sessions' folders when they expire. */
import { toGatewayError } from '../protocol/errors.ts';
import type { Log } from '../protocol/log.ts';
import type { KeptFiles } from '../protocol/media.ts';
import type { SessionFiles } from '../protocol/agent/tool.ts';
import { picturePath } from './places.ts';

/** A node that was down for this long still removes its copies, in days. */
const LATE_DAYS = 7;
const EVERY_MS = 3_600_000;
const PAGE = 500;

export interface SweepDeps {
  keptFiles: KeptFiles;
  files: Pick<SessionFiles, 'discard' | 'share'>;
  keepDays: number;
  log: Log;
}

/** Sweeps now and every hour until the signal aborts. Every node removes its own copies. */
export function startSweep(deps: SweepDeps, signal: AbortSignal): void {
  const round = (): void => {
    sweepKeptFiles(deps, signal).catch((error: unknown) => {
      deps.log.warn({ err: toGatewayError(error) }, 'kept_files_not_swept');
    });
  };
  const timer = setInterval(round, EVERY_MS).unref();
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  round();
}

/** Removes what is older than `keepDays`. Returns the number of files. Throws `StoreError`. */
export async function sweepKeptFiles(deps: SweepDeps, signal: AbortSignal): Promise<number> {
  const { keptFiles, keepDays } = deps;
  let after = { folder: '', path: '' };
  let removed = 0;
  while (!signal.aborted) {
    const page = await keptFiles.keptBetween({
      fromDays: keepDays,
      toDays: keepDays + LATE_DAYS,
      after,
      limit: PAGE,
    });
    for (const kept of page) await discard(deps, kept);
    removed += page.length;
    for (const folder of new Set(page.map((kept) => kept.folder))) await deps.files.share(folder);
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) break;
    after = last;
  }
  await keptFiles.forgetOlderFiles(keepDays + LATE_DAYS, PAGE);
  return removed;
}

async function discard({ files, log }: SweepDeps, kept: { folder: string; path: string }): Promise<void> {
  try {
    await files.discard(kept.folder, kept.path);
    await files.discard(kept.folder, picturePath(kept.path));
  } catch (error) {
    log.warn({ err: toGatewayError(error), folder: kept.folder }, 'file_not_removed');
  }
}
