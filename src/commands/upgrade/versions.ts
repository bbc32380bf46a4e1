/**
 * Which version of the program runs with a home: the installation that a person starts, or another one that took its place.
 * `versions/state.json` in the home says so, and stays valid while that installation is as it was.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import packageFile from '../../../package.json' with { type: 'json' };
import { parseJson } from '../../lib/json/json.ts';
import { homeOf } from '../../launch/default-home.js';
import { writeWhole } from '../../settings/write-file.ts';

/** Where upgrades install versions, below the home. */
const VERSIONS_FOLDER = 'versions';
/** The exit code with which a version that is tried asks for the next one. */
export const NEXT_VERSION_EXIT = 86;
/** The variable that names the file in which a version that is tried reports. */
export const TRIAL_REPORT = 'PARLEY_TRIAL_REPORT';

const version = z.object({
  /** The folder with `src/launch.js`. */
  root: z.string(),
  version: z.string(),
});

const state = z.object({
  /** What the person starts; `stamp`: as it was when another version took its place. */
  origin: version.extend({ stamp: z.string() }),
  /** What runs instead of it; absent: itself. */
  current: version.optional(),
  /** What the next start tries. */
  trial: version.extend({ id: z.string() }).optional(),
  /** When the version before began to stop, as Unix time in milliseconds. */
  stoppedAt: z.number().optional(),
  /** How the last trial ended. */
  last: version
    .extend({
      id: z.string(),
      from: version,
      outcome: z.enum(['kept', 'went_back']),
      reason: z.string().optional(),
      pauseMs: z.number().optional(),
    })
    .optional(),
});

export type Version = z.infer<typeof version>;
export type VersionsState = z.infer<typeof state>;

/** The installation that this process runs. */
export const OWN: Version = {
  root: path.resolve(fileURLToPath(new URL('../../..', import.meta.url))),
  version: packageFile.version,
};

/** Where versions of this home are. */
export function versionsFolder(home = homeOf(process.env)): string {
  return path.join(home, VERSIONS_FOLDER);
}

/**
 * The state of a home, as far as it concerns this process: undefined before the first upgrade, and for an installation that has
 * changed since, or that is not part of it. Never throws.
 */
export function readVersions(home = homeOf(process.env)): VersionsState | undefined {
  let text: string;
  try {
    text = readFileSync(path.join(versionsFolder(home), 'state.json'), 'utf8');
  } catch {
    // The usual case: nothing was ever upgraded. What cannot be read cannot be followed, either.
    return undefined;
  }
  const parsed = state.safeParse(parseJson(text)).data;
  if (parsed === undefined) return undefined;
  if (parsed.origin.root === OWN.root) return parsed.origin.stamp === stampOf(OWN.root) ? parsed : undefined;
  const { current, trial, last } = parsed;
  return [current, trial, last, last?.from].some((one) => one?.root === OWN.root) ? parsed : undefined;
}

/** Replaces the state. Throws `GatewayError('unwritable')`. */
export function writeVersions(next: VersionsState, home = homeOf(process.env)): void {
  writeWhole(path.join(versionsFolder(home), 'state.json'), `${JSON.stringify(next, null, 2)}\n`);
}

/** The state of a home in which this installation is the first. */
export function firstState(): VersionsState {
  return { origin: { ...OWN, stamp: stampOf(OWN.root) } };
}

/** The version that runs, or would. */
export function currentOf({ origin, current }: VersionsState): Version {
  return current ?? { root: origin.root, version: origin.version };
}

/** The version that this process has to try, because it is the one that runs. */
export function trialDue(versions = readVersions()): VersionsState | undefined {
  return versions?.trial !== undefined && currentOf(versions).root === OWN.root ? versions : undefined;
}

/**
 * Goes on as the version that took this one's place, with the same arguments; returns if there is none. The process stays the same,
 * so whatever supervises it notices nothing.
 */
export async function followCurrent(): Promise<void> {
  // Whoever is tried is not the current one yet.
  if (process.env[TRIAL_REPORT] !== undefined) return;
  const versions = readVersions();
  if (versions?.current === undefined || versions.origin.root !== OWN.root) return;
  const launcher = launcherOf(versions.current);
  if (!existsSync(launcher)) return;
  await becomeVersion(versions.current);
}

export function launcherOf({ root }: Pick<Version, 'root'>): string {
  return path.join(root, 'src/launch.js');
}

/** How this process starts a version: the command, and its arguments. */
export function startOf(one: Version, args: readonly string[] = process.argv.slice(2)): [string, string[]] {
  return [process.execPath, [...process.execArgv, launcherOf(one), ...args]];
}

/** Turns this process into that version; where the system cannot, runs it and ends with it. Never returns. */
export async function becomeVersion(one: Version): Promise<never> {
  const [file, args] = startOf(one);
  process.execve?.(file, [file, ...args], process.env);
  const child = spawn(file, args, { stdio: 'inherit' });
  const code = await new Promise<number>((resolve) => {
    child.once('error', () => resolve(1));
    child.once('exit', (exitCode) => resolve(exitCode ?? 1));
  });
  process.exit(code);
}

/** Changes when another version is checked out or installed in a folder. Never throws. */
function stampOf(root: string): string {
  const parts = [textOf(root, 'package.json'), textOf(root, 'package-lock.json'), headOf(root)];
  return createHash('sha256').update(parts.join('\0')).digest('hex');
}

/** The commit that is checked out; '' for an installed package. */
function headOf(root: string): string {
  const head = textOf(root, '.git/HEAD').trim();
  const [, ref] = /^ref: (\S+)$/.exec(head) ?? [];
  if (ref === undefined) return head;
  const loose = textOf(root, `.git/${ref}`).trim();
  if (loose !== '') return loose;
  const line = textOf(root, '.git/packed-refs')
    .split('\n')
    .find((one) => one.endsWith(` ${ref}`));
  return line?.split(' ', 1)[0] ?? '';
}

function textOf(root: string, name: string): string {
  try {
    return readFileSync(path.join(root, name), 'utf8');
  } catch {
    // An installed package has no checkout, and a packed reference no file.
    return '';
  }
}
