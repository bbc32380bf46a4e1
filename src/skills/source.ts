/** Where skills and plug-ins come from: a folder, a Git repository, a .zip or .tgz file, or a package of npm. */
import { execFile } from 'node:child_process';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { unzipSync } from 'fflate';
import { parseTar } from 'nanotar';
import { errorCode, GatewayError, unless } from '../protocol/errors.ts';
import { MAX_SKILL_BYTES, MAX_SKILL_FILES } from './read-folder.ts';

/** How long Git and npm may take, in milliseconds. */
const FETCH_MS = 120_000;
/** Bytes of a .zip file, and of what it holds: it may hold several skills. */
const MAX_ZIP_BYTES = 4 * MAX_SKILL_BYTES;
const MAX_ZIP_FILES = 4 * MAX_SKILL_FILES;

/** An address that Git fetches: `https://…`, `ssh://…`, `git@host:…`, `file://…`. */
const GIT_ADDRESS = /^(https?|ssh|git|file):\/\/|^[\w.-]+@[\w.-]+:/;

/** A package of npm: `npm:@team/parley-irc@1.2.0`. */
const NPM_PACKAGE = /^npm:((?:@[a-z0-9~-][\w.~-]*\/)?[a-z0-9~-][\w.~-]*(?:@[\w.^~<>=*-]+)?)$/i;

/** What is kept of a source: a name and password in an address are not. */
export function sourceName(source: string): string {
  if (NPM_PACKAGE.test(source)) return source;
  if (!GIT_ADDRESS.test(source)) return path.resolve(source);
  return source.replace(/^(\w+:\/\/)[^/@]*@/, '$1');
}

/**
 * Makes a source readable as a folder: itself, or `staging`, into which a repository or archive is unpacked. Throws
 * `GatewayError('no_source' | 'git' | 'bad_zip')` with what to do.
 */
export async function openSource(source: string, staging: string): Promise<string> {
  if (GIT_ADDRESS.test(source)) return await cloneInto(source, staging);
  const [, name] = NPM_PACKAGE.exec(source) ?? [];
  if (name !== undefined) return await unpackInto(await npmPack(name, staging), staging);
  const stats = await unless(['ENOENT', 'ENOTDIR'], stat(source), undefined);
  if (stats?.isDirectory() === true) return path.resolve(source);
  const isTar = /\.(tgz|tar\.gz)$/.test(source);
  if (stats?.isFile() === true) return await (isTar ? unpackInto : unzipInto)(source, staging);
  throw new GatewayError(
    'no_source',
    `There is no folder or file ${source}. Give a folder, a .zip file, a .tgz file, the address of a Git repository (https://…), or npm:NAME.`,
  );
}

/** The newest commit without history; no hooks, no links, no questions on the terminal. */
async function cloneInto(source: string, staging: string): Promise<string> {
  const options = [
    '-c',
    'core.symlinks=false',
    '-c',
    'core.hooksPath=/dev/null',
    '-c',
    'protocol.ext.allow=never',
  ];
  const args = [
    ...options,
    'clone',
    '--quiet',
    '--depth',
    '1',
    '--single-branch',
    '--no-tags',
    '--',
    source,
    staging,
  ];
  const env = { ...process.env, GIT_TERMINAL_PROMPT: '0', GIT_ASKPASS: '', LC_ALL: 'C' };
  await runProgram('git', args, env, `${sourceName(source)} cannot be fetched`);
  return staging;
}

/** Runs a program that fetches. Throws `GatewayError` with the program's name as its code. */
async function runProgram(
  program: 'git' | 'npm',
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  problem: string,
): Promise<string> {
  const name = program === 'git' ? 'Git' : 'npm';
  return await new Promise<string>((resolve, reject) => {
    execFile(program, args, { timeout: FETCH_MS, env, maxBuffer: 1024 * 1024 }, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout);
      const missing = errorCode(error) === 'ENOENT';
      const reason = missing
        ? `${name} is not installed on this machine: install it, or give a folder or a file`
        : `${name} says: ${stderr.trim().split('\n').at(-1)?.slice(0, 300) || 'nothing; it took too long'}`;
      reject(new GatewayError(program, `${problem}. ${reason}.`, { cause: error }));
    });
  });
}

/** The archive of a package from the registry that npm is set up for; nothing of the package is run. */
async function npmPack(name: string, staging: string): Promise<string> {
  const args = ['pack', name, '--ignore-scripts', '--silent', '--pack-destination', staging];
  const printed = await runProgram('npm', args, process.env, `npm:${name} cannot be fetched`);
  return path.join(staging, path.basename(printed.trim().split('\n').at(-1) ?? ''));
}

/** An archive as npm makes it; it stays packed until its size is certain. */
async function unpackInto(file: string, staging: string): Promise<string> {
  const { size } = await stat(file);
  if (size > MAX_ZIP_BYTES) throw badArchive(file, `is larger than ${MAX_ZIP_BYTES / 1024 / 1024} MiB`);
  const unpacked = path.join(staging, 'unpacked');
  const entries = untar(file, await readFile(file));
  if (entries.length > MAX_ZIP_FILES) throw badArchive(file, `holds more than ${MAX_ZIP_FILES} files`);
  for (const { name, type, data = new Uint8Array(), attrs } of entries) {
    if (type === 'directory') continue;
    if (type !== 'file') throw badArchive(file, 'holds a link or a device');
    if (leadsOut(name)) throw badArchive(file, LEADS_OUT);
    const target = path.join(unpacked, name);
    await mkdir(path.dirname(target), { recursive: true, mode: 0o700 });
    const runs = (Number.parseInt(attrs?.mode ?? '', 8) & 0o100) !== 0;
    await writeFile(target, data, { mode: runs ? 0o700 : 0o600, flag: 'wx' });
  }
  return unpacked;
}

function untar(file: string, archive: Buffer) {
  try {
    // A copy: nanotar reads the whole buffer behind an array, of which small ones share one.
    return parseTar(new Uint8Array(gunzipSync(archive, { maxOutputLength: MAX_ZIP_BYTES })));
  } catch (cause) {
    if (errorCode(cause) === 'ERR_BUFFER_TOO_LARGE')
      throw badArchive(file, `holds more than ${MAX_ZIP_BYTES / 1024 / 1024} MiB`, cause);
    throw badArchive(file, 'is no .tgz file, or a damaged one', cause);
  }
}

const LEADS_OUT = 'holds a file that leads out of its folder';

function leadsOut(name: string): boolean {
  return /[\\\0]|^\/|^[A-Za-z]:/.test(name) || name.split('/').includes('..');
}

async function unzipInto(file: string, staging: string): Promise<string> {
  const { size } = await stat(file);
  if (size > MAX_ZIP_BYTES) throw badArchive(file, `is larger than ${MAX_ZIP_BYTES / 1024 / 1024} MiB`);
  for (const [name, bytes] of Object.entries(unzip(file, await readFile(file)))) {
    if (name.endsWith('/')) continue;
    const target = path.join(staging, name);
    await mkdir(path.dirname(target), { recursive: true, mode: 0o700 });
    // As an archive keeps no rights that every system writes, scripts are started by their interpreter.
    await writeFile(target, bytes, { mode: 0o600, flag: 'wx' });
  }
  return staging;
}

function unzip(file: string, archive: Buffer): Record<string, Uint8Array> {
  let files = 0;
  let bytes = 0;
  const filter = ({ name, originalSize }: { name: string; originalSize: number }): boolean => {
    files += 1;
    bytes += originalSize;
    if (files > MAX_ZIP_FILES) throw badArchive(file, `holds more than ${MAX_ZIP_FILES} files`);
    if (bytes > MAX_ZIP_BYTES) throw badArchive(file, `holds more than ${MAX_ZIP_BYTES / 1024 / 1024} MiB`);
    if (leadsOut(name)) throw badArchive(file, LEADS_OUT);
    return name.split('/')[0] !== '__MACOSX';
  };
  try {
    return unzipSync(archive, { filter });
  } catch (cause) {
    if (cause instanceof GatewayError) throw cause;
    throw badArchive(file, 'is no .zip file, or a damaged one', cause);
  }
}

function badArchive(file: string, reason: string, cause?: unknown): GatewayError {
  return new GatewayError('bad_zip', `${path.basename(file)} ${reason}.`, { cause });
}
