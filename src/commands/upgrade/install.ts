/** Gets another version of the program and installs it beside this one: from the checkout, from npm, or from a folder that is there. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import packageFile from '../../../package.json' with { type: 'json' };
import { parseJson, isJsonObject } from '../../lib/json/json.ts';
import { oneLine } from '../../lib/text.ts';
import { GatewayError, toGatewayError } from '../../protocol/errors.ts';
import { PARLEY } from '../../protocol/texts/parley.ts';
import { launcherOf, OWN, type Version } from './versions.ts';

/** Longest run of one program, in milliseconds: npm may have to download everything. */
const PROGRAM_MS = 15 * 60_000;
/** Longest part of a program's complaint that is repeated, in UTF-16 units. */
const MAX_REASON_CHARS = 500;
/** A version, a tag, a branch or a commit; never an option of git. */
const REFERENCE = /^[\w][\w./-]{0,100}$/;
/** Tags of versions. */
const VERSION_TAG = /^v?\d+\.\d+\.\d+$/;

const run = promisify(execFile);

/** What surrounds an installation. */
export interface InstallDeps {
  /** Where versions are installed. */
  folder: string;
  /** Says what is being done. */
  step: (text: string) => void;
  signal: AbortSignal;
}

/**
 * Installs what is asked for: a folder with the program, a version, or the newest one. An installed version is used again. Throws
 * `GatewayError('upgrade_failed' | 'usage' | 'up_to_date')`.
 */
export async function installVersion(target: string | undefined, deps: InstallDeps): Promise<Version> {
  if (target !== undefined && existsSync(path.join(target, 'package.json')))
    return await fromFolder(path.resolve(target), deps);
  if (target !== undefined && !REFERENCE.test(target))
    throw new GatewayError(
      'usage',
      `"${oneLine(target).slice(0, 80)}" is neither a folder with the program nor a version.`,
    );
  await mkdir(deps.folder, { recursive: true, mode: 0o700 });
  return existsSync(path.join(OWN.root, '.git')) ? await fromGit(target, deps) : await fromNpm(target, deps);
}

async function fromFolder(root: string, deps: InstallDeps): Promise<Version> {
  const one = versionIn(root);
  if (existsSync(path.join(root, 'src/bundle.ts'))) await build(root, deps);
  return one;
}

async function fromGit(target: string | undefined, deps: InstallDeps): Promise<Version> {
  const { folder, step, signal } = deps;
  const git = async (...args: string[]): Promise<string> =>
    await program('git', ['-C', OWN.root, ...args], signal);
  const hasOrigin = (await git('remote')).split('\n').includes('origin');
  step('Asking for new versions…');
  if (hasOrigin) await git('fetch', '--quiet', '--tags', 'origin');
  const reference = target ?? newestOf((await git('tag', '--list')).split('\n'));
  if (reference === undefined)
    throw failed(
      'The repository has no tag of a version. Name a branch or a commit',
      `${PARLEY} upgrade main`,
    );
  const commit = await commitOf(reference, git, hasOrigin);
  const root = path.join(folder, commit.slice(0, 12));
  if (existsSync(launcherOf({ root }))) return versionIn(root);
  const draft = await emptyDraft(root);
  step(`Installing ${reference}…`);
  await program('git', ['clone', '--quiet', '--no-checkout', '--local', OWN.root, draft], signal);
  await program('git', ['-C', draft, 'checkout', '--quiet', '--detach', commit], signal);
  await program('npm', ['ci', '--no-audit', '--no-fund'], signal, draft);
  await build(draft, deps);
  await rename(draft, root);
  return versionIn(root);
}

/** The commit that a tag, a branch of the origin, or anything else names. */
async function commitOf(
  reference: string,
  git: (...args: string[]) => Promise<string>,
  hasOrigin: boolean,
): Promise<string> {
  const names = [`v${reference}`, ...(hasOrigin ? [`origin/${reference}`] : []), reference];
  for (const name of names) {
    try {
      return (await git('rev-parse', '--verify', '--quiet', `${name}^{commit}`)).trim();
    } catch (error) {
      // The next form may be one.
      if (!(error instanceof GatewayError)) throw error;
    }
  }
  throw failed(`The repository has no version ${reference}. See what there is`, `git -C ${OWN.root} tag`);
}

async function fromNpm(target: string | undefined, deps: InstallDeps): Promise<Version> {
  const { folder, step, signal } = deps;
  const { name } = packageFile;
  step('Asking for new versions…');
  const asks = ['view', `${name}@${target ?? 'latest'}`, 'version', '--json'];
  const listed = parseJson(await program('npm', asks, signal));
  const version = Array.isArray(listed) ? listed.at(-1) : listed;
  if (typeof version !== 'string' || !VERSION_TAG.test(version))
    throw failed(
      `npm has no version ${target ?? 'of the program'}. See what there is`,
      `npm view ${name} versions`,
    );
  const place = path.join(folder, version);
  const root = path.join(place, 'node_modules', name);
  if (existsSync(launcherOf({ root }))) return versionIn(root);
  const draft = await emptyDraft(place);
  step(`Installing ${version}…`);
  await mkdir(draft, { recursive: true });
  await program(
    'npm',
    ['install', '--prefix', draft, '--no-audit', '--no-fund', `${name}@${version}`],
    signal,
  );
  await rename(draft, place);
  return versionIn(root);
}

/** Where an installation is made that is complete only once it has its name. */
async function emptyDraft(root: string): Promise<string> {
  const draft = `${root}.new`;
  await rm(draft, { recursive: true, force: true });
  return draft;
}

/** Removes versions that are none of these. Errors of the file system are told by `step`. */
export async function removeOthers(
  folder: string,
  keeps: readonly Version[],
  step: (text: string) => void,
): Promise<void> {
  const names = await readdir(folder, { withFileTypes: true });
  for (const entry of names.filter((one) => one.isDirectory())) {
    const place = path.join(folder, entry.name);
    if (keeps.some(({ root }) => root === place || root.startsWith(`${place}${path.sep}`))) continue;
    await rm(place, { recursive: true, force: true }).catch((error: unknown) =>
      step(`${place} could not be removed: ${toGatewayError(error).message}`),
    );
  }
}

function newestOf(tags: readonly string[]): string | undefined {
  return tags
    .filter((tag) => VERSION_TAG.test(tag))
    .toSorted((one, other) => one.localeCompare(other, 'en', { numeric: true }))
    .at(-1);
}

/** The version in a folder. Throws `GatewayError('usage')` for a folder with another program, or without its packages. */
function versionIn(root: string): Version {
  const file = path.join(root, 'package.json');
  const content = parseJson(readFileSync(file, 'utf8'));
  const { name, version } = isJsonObject(content) ? content : {};
  if (name !== packageFile.name || typeof version !== 'string' || !existsSync(launcherOf({ root })))
    throw new GatewayError('usage', `${root} is not a folder of ${packageFile.name}.`);
  return { root, version };
}

async function build(root: string, { step, signal }: InstallDeps): Promise<void> {
  step('Building it…');
  await program(process.execPath, ['src/launch/build.js'], signal, root);
}

/** Runs a program; gives what it printed. Throws `GatewayError('upgrade_failed')` with what it complained about. */
export async function program(
  file: string,
  args: readonly string[],
  signal: AbortSignal,
  cwd?: string,
): Promise<string> {
  // What npm has told this process about itself is not true for the other installation.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name)));
  try {
    const { stdout } = await run(file, args, {
      cwd,
      env,
      signal,
      timeout: PROGRAM_MS,
      maxBuffer: 16 * 1024 ** 2,
    });
    return stdout;
  } catch (error) {
    signal.throwIfAborted();
    const complaint = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : '';
    const reason = oneLine(complaint === '' ? toGatewayError(error).message : complaint);
    const text = `${path.basename(file)} ${args.slice(0, 3).join(' ')} failed: ${reason.slice(-MAX_REASON_CHARS)}`;
    throw new GatewayError('upgrade_failed', text, { cause: error });
  }
}

function failed(text: string, command: string): GatewayError {
  return new GatewayError('upgrade_failed', `${text}: ${command}`);
}
