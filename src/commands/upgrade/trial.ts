/**
 * The trial of a version: the one before runs it as its child, watches its first answers, and takes over again if it fails. The
 * child reports in a file, because nothing else survives that it may become another process while it starts.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { parseJson } from '../../lib/json/json.ts';
import { writeWhole } from '../../settings/write-file.ts';
import { acceptMigrations, compareMigrations } from '../../store/index.ts';
import {
  becomeVersion,
  NEXT_VERSION_EXIT,
  OWN,
  readVersions,
  startOf,
  TRIAL_REPORT,
  trialDue,
  type VersionsState,
  versionsFolder,
  writeVersions,
} from './versions.ts';

/** Longest start of a version, in milliseconds; a first one may have tables to change. */
const START_MS = 120_000;
/** How long a version is watched once it is ready, in milliseconds; so many whole answers are enough. */
const WATCH_MS = 30_000;
const ENOUGH_ANSWERS = 3;
/** So many failed answers, and none that is whole, end the trial at once. */
const TOO_MANY_FAILURES = 3;
const LOOK_MS = 50;
/** How often a version reports, in milliseconds. */
const REPORT_MS = 250;
/** Longest stop of a version that failed, in milliseconds, before it is killed. */
const STOP_MS = 30_000;

const reportShape = z.object({
  /** When its channels received for the first time, as Unix time in milliseconds. */
  readyAt: z.number(),
  /** It can take and answer messages now. */
  isReady: z.boolean(),
  /** Turns that ended since then. */
  answered: z.number(),
  failed: z.number(),
});

export type TrialReport = z.infer<typeof reportShape>;

/** What is known of a version that is tried. */
export interface TrialView {
  report: TrialReport | undefined;
  /** How its process ended. */
  end: string | undefined;
  /** Since it was started, and since it was ready, in milliseconds. */
  startedMs: number;
  readyMs: number;
}

/** Whether the version is kept, or why not; undefined = nothing is decided yet. Pure. */
export function judgeTrial({
  report,
  end,
  startedMs,
  readyMs,
}: TrialView): 'kept' | { reason: string } | undefined {
  if (end !== undefined) return { reason: `It ended (${end}).` };
  if (report === undefined)
    return startedMs < START_MS ? undefined : { reason: `It was not ready within ${START_MS / 1_000} s.` };
  const { answered: answers, failed: failures, isReady } = report;
  if (answers === 0 && failures >= TOO_MANY_FAILURES)
    return { reason: `Its first ${failures} answers failed, and none was whole.` };
  if (answers >= ENOUGH_ANSWERS && failures === 0) return 'kept';
  if (readyMs < WATCH_MS) return undefined;
  if (!isReady) return { reason: 'It cannot reach its database or a channel that ran before.' };
  return failures > answers ? { reason: `${failures} answers failed, and ${answers} were whole.` } : 'kept';
}

/**
 * Tries the version that is due. Returns when this version has to run again, because the other one failed; otherwise the process ends
 * as that one does.
 */
export async function tryVersion(versions: VersionsState): Promise<void> {
  const { trial } = versions;
  if (trial === undefined) return;
  const file = path.join(versionsFolder(), 'trial.json');
  rmSync(file, { force: true });
  const [command, args] = startOf(trial);
  const startedAt = Date.now();
  const child = spawn(command, args, { stdio: 'inherit', env: { ...process.env, [TRIAL_REPORT]: file } });
  const life = follow(child);
  let outcome: ReturnType<typeof judgeTrial>;
  while (outcome === undefined && !life.isAskedToEnd) {
    await pause(LOOK_MS);
    const report = readReport(file);
    const now = Date.now();
    const times = { startedMs: now - startedAt, readyMs: now - (report?.readyAt ?? now) };
    outcome = judgeTrial({ report, end: life.end, ...times });
  }
  if (outcome === undefined || outcome === 'kept') {
    // Asked to end before anything is decided: the next start tries it again.
    if (outcome === 'kept') keep(versions, readReport(file)?.readyAt);
    return await endWith(life);
  }
  await stop(child, life);
  goBack(versions, outcome.reason);
}

/** A child, whose signals come from this process. */
interface Life {
  readonly end: string | undefined;
  readonly code: number | undefined;
  readonly isAskedToEnd: boolean;
  readonly over: Promise<unknown>;
}

function follow(child: ChildProcess): Life {
  let end: string | undefined;
  let code: number | undefined;
  let isAskedToEnd = false;
  const over = once(child, 'exit').then(
    ([exitCode, signal]: (number | string | null)[]) => {
      code = typeof exitCode === 'number' ? exitCode : 1;
      end = typeof exitCode === 'number' ? `code ${exitCode}` : String(signal);
    },
    (error: unknown) => {
      code = 1;
      end = error instanceof Error ? error.message : String(error);
    },
  );
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'] as const) {
    // Ctrl-C reaches the child from the terminal already, and a second one would end it at once.
    const isFromTerminal = signal === 'SIGINT' && process.stdin.isTTY;
    process.on(signal, () => {
      if (signal !== 'SIGUSR2') isAskedToEnd = true;
      if (!isFromTerminal) child.kill(signal);
    });
  }
  return {
    get end() {
      return end;
    },
    get code() {
      return code;
    },
    get isAskedToEnd() {
      return isAskedToEnd;
    },
    over,
  };
}

/** Ends as the child does, or goes on with the next version when it asks for that. */
async function endWith(life: Life): Promise<never> {
  await life.over;
  if (life.code === NEXT_VERSION_EXIT) await becomeVersion(OWN);
  process.exit(life.code);
}

async function stop(child: ChildProcess, { end, over }: Life): Promise<void> {
  if (end !== undefined) return;
  child.kill('SIGTERM');
  const late = new AbortController();
  const kill = pause(STOP_MS, undefined, { signal: late.signal }).then(
    () => child.kill('SIGKILL'),
    () => undefined,
  );
  await over;
  late.abort();
  await kill;
}

function keep({ trial, stoppedAt, ...versions }: VersionsState, readyAt: number | undefined): void {
  if (trial === undefined) return;
  const { root, version } = trial;
  const pauseMs =
    readyAt !== undefined && stoppedAt !== undefined ? Math.max(0, readyAt - stoppedAt) : undefined;
  const last = { ...trial, from: OWN, outcome: 'kept' as const, pauseMs };
  const current = root === versions.origin.root ? undefined : { root, version };
  writeVersions({ ...versions, current, last });
  process.stderr.write(`Version ${version} is kept.\n`);
}

/** The tables that it may have added stay: this version is told to accept them. */
function goBack({ trial, origin, current }: VersionsState, reason: string): void {
  if (trial === undefined) return;
  const { theirs } = compareMigrations(path.join(trial.root, 'drizzle'));
  acceptMigrations(path.dirname(versionsFolder()), theirs, writeWhole);
  writeVersions({ origin, current, last: { ...trial, from: OWN, outcome: 'went_back', reason } });
  process.stderr.write(
    `Version ${trial.version} was tried and did not work: ${reason} Version ${OWN.version} runs again.\n`,
  );
}

function readReport(file: string): TrialReport | undefined {
  try {
    return reportShape.safeParse(parseJson(readFileSync(file, 'utf8'))).data;
  } catch {
    // It has not been written yet.
    return undefined;
  }
}

/**
 * Reports about this gateway while it is tried, for as long as anyone reads it; and ends it, as SIGTERM does, when the process that
 * tries it was killed: whatever starts the gateway again needs its home.
 */
export function reportTrial(
  look: () => Promise<Omit<TrialReport, 'readyAt'>>,
  file = process.env[TRIAL_REPORT],
): void {
  if (file === undefined) return;
  const readyAt = Date.now();
  const parent = process.ppid;
  const write = async (): Promise<void> => {
    const report: TrialReport = { readyAt, ...(await look()) };
    writeWhole(file, JSON.stringify(report));
  };
  const tick = (): void => {
    if (process.ppid !== parent) process.kill(process.pid, 'SIGTERM');
    // A disk that is full: the report is as old as it is, and the trial ends by its time.
    if (Date.now() - readyAt < 2 * WATCH_MS) write().catch(() => undefined);
  };
  setInterval(tick, REPORT_MS).unref();
  tick();
}

/** Notes when this gateway begins to stop for the version that is due; false when none is. */
export function beginHandOver(): boolean {
  const versions = readVersions();
  if (versions?.trial === undefined) return false;
  writeVersions({ ...versions, stoppedAt: Date.now() });
  return true;
}

/**
 * What a gateway does that was asked for its next version and has stopped: it goes on as the one that is due, or tells the version
 * that tries it.
 */
export async function handOver(): Promise<void> {
  if (process.env[TRIAL_REPORT] !== undefined) process.exit(NEXT_VERSION_EXIT);
  if (trialDue() !== undefined) await becomeVersion(OWN);
}
