/** `parley upgrade`: another version beside this one, a backup, and the running gateway goes on as the other one, or as before. */
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Config } from '../../config.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { Log } from '../../protocol/log.ts';
import { BACKUPS_FOLDER } from '../../protocol/operator/backup.ts';
import { PARLEY } from '../../protocol/texts/parley.ts';
import { writeWhole } from '../../settings/write-file.ts';
import { acceptMigrations, holderOf, compareMigrations } from '../../store/index.ts';
import { readArguments } from '../arguments.ts';
import { backupCommand } from '../backup.ts';
import { installVersion, program, removeOthers } from './install.ts';
import {
  currentOf,
  firstState,
  OWN,
  readVersions,
  startOf,
  type Version,
  type VersionsState,
  versionsFolder,
  writeVersions,
} from './versions.ts';

const USAGE = `Expected: upgrade [VERSION|FOLDER] [--back]. See: ${PARLEY} upgrade --help`;

/** Longest wait for the end of a trial, in milliseconds: the start, the watch and a stop. */
const TRIAL_MS = 240_000;
const LOOK_MS = 100;

/** What surrounds the command. */
export interface UpgradeTerminal {
  /** Says what is being done. */
  step: (text: string) => void;
  signal: AbortSignal;
  log: Log;
}

/** What is asked for. */
export interface UpgradeOptions {
  target: string | undefined;
  back: boolean;
}

/** Reads the arguments. Throws `GatewayError('usage')`. */
export function readUpgradeOptions(args: readonly string[]): UpgradeOptions {
  const options = { back: { type: 'boolean' } } as const;
  const { positionals, values } = readArguments(args, USAGE, { options, allowPositionals: true });
  const { back = false } = values;
  const [target, ...more] = positionals;
  if (more.length > 0 || (back && target !== undefined)) throw new GatewayError('usage', USAGE);
  return { target, back };
}

/**
 * Installs and checks the version, makes a backup, has the running gateway go on as it, and waits for how that ends; returns what to
 * print. Throws `GatewayError`: `upgrade_failed` with the reason; nothing has changed then, or the version before runs again.
 */
export async function upgradeCommand(
  { target, back }: UpgradeOptions,
  config: Config,
  terminal: UpgradeTerminal,
): Promise<string> {
  if (process.platform === 'win32')
    throw new GatewayError('usage', 'On Windows, stop the gateway, install the new version, and start it.');
  const { home } = config;
  const folder = versionsFolder(home);
  const versions = readVersions(home) ?? firstState();
  const current = currentOf(versions);
  const next = back ? previousOf(versions) : await installVersion(target, { folder, ...terminal });
  if (next.root === current.root) return `Version ${current.version} runs already.`;
  await check(next, home, terminal);
  const file = path.join(home, BACKUPS_FOLDER, `before-${next.version}-${Date.now()}.backup`);
  terminal.step('Making a backup…');
  await backupCommand(config, terminal, { file, passphraseFile: undefined, replace: false });
  const id = randomUUID();
  writeVersions({ ...versions, trial: { ...next, id } }, home);
  const pid = await holderOf(home);
  if (pid === undefined)
    return `No gateway runs with ${home}. The next start tries version ${next.version}, and goes back to ${current.version} if it fails. Backup: ${file}`;
  terminal.step(`Changing from version ${current.version} to ${next.version}…`);
  process.kill(pid, 'SIGUSR2');
  const { outcome, reason, pauseMs } = await endOfTrial(id, home, terminal.signal);
  if (outcome === 'went_back')
    throw new GatewayError(
      'upgrade_failed',
      `Version ${next.version} was tried and did not work: ${reason} Version ${current.version} runs again, and nothing is lost. Backup: ${file}`,
    );
  await removeOthers(folder, [next, current], terminal.step);
  const paused = pauseMs === undefined ? '' : ` Messages waited ${(pauseMs / 1_000).toFixed(1)} s.`;
  return `Version ${next.version} runs.${paused} Version ${current.version} is still there: ${PARLEY} upgrade --back. Backup: ${file}`;
}

function previousOf({ last, origin, current }: VersionsState): Version {
  const previous = last?.outcome === 'kept' ? last.from : undefined;
  if (previous !== undefined && previous.root !== (current ?? origin).root) return previous;
  throw new GatewayError('usage', 'There is no version to go back to.');
}

/** That it can run here, before anything is touched. Throws `GatewayError('upgrade_failed')`. */
async function check(next: Version, home: string, { step, signal }: UpgradeTerminal): Promise<void> {
  step(`Checking version ${next.version}…`);
  const [file, args] = startOf(next, ['config', 'validate']);
  await program(file, args, signal);
  const { own: migrations, isAdditive } = compareMigrations(path.join(next.root, 'drizzle'));
  if (!isAdditive)
    throw new GatewayError(
      'upgrade_failed',
      `Version ${next.version} changes tables that version ${OWN.version} needs, so it could not go back by itself: upgrade by hand, as docs/operating.md says.`,
    );
  // An older version meets tables that it does not know.
  acceptMigrations(home, migrations, writeWhole);
}

async function endOfTrial(
  id: string,
  home: string,
  signal: AbortSignal,
): Promise<NonNullable<VersionsState['last']>> {
  const until = Date.now() + TRIAL_MS;
  while (Date.now() < until) {
    const last = readVersions(home)?.last;
    if (last?.id === id) return last;
    await pause(LOOK_MS, undefined, { signal });
  }
  throw new GatewayError(
    'upgrade_failed',
    `The gateway has not said within ${TRIAL_MS / 60_000} minutes how it went: see ${PARLEY} logs`,
  );
}
