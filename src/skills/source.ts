/** Where skills come from: a folder, a Git repository or a .zip file. */
import { execFile } from 'node:child_process';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { unzipSync } from 'fflate';
import { errorCode, GatewayError, unless } from '../protocol/errors.ts';
import { MAX_SKILL_BYTES, MAX_SKILL_FILES } from './read-folder.ts';

/** How long Git may take to fetch a repository, in milliseconds. */
const GIT_MS = 120_000;
/** Bytes of a .zip file, and of what it holds: it may hold several skills. */
const MAX_ZIP_BYTES = 4 * MAX_SKILL_BYTES;
const MAX_ZIP_FILES = 4 * MAX_SKILL_FILES;

/** An address that Git fetches: `https://…`, `ssh://…`, `git@host:…`, `file://…`. */
const GIT_ADDRESS = /^(https?|ssh|git|file):\/\/|^[\w.-]+@[\w.-]+:/;

/** What is kept of a source: a name and password in an address are not. */
export function sourceName(source: string): string {
  if (!GIT_ADDRESS.test(source)) return path.resolve(source);
  return source.replace(/^(\w+:\/\/)[^/@]*@/, '$1');
}

/**
 * Makes a source readable as a folder: itself, or `staging`, into which a repository or archive is unpacked. Throws
 * `GatewayError('no_source' | 'git' | 'bad_zip')` with what to do.
 */
export async function openSource(source: string, staging: string): Promise<string> {
  if (GIT_ADDRESS.test(source)) return await cloneInto(source, staging);
  const stats = await unless(['ENOENT', 'ENOTDIR'], stat(source), undefined);
  if (stats?.isDirectory() === true) return path.resolve(source);
  if (stats?.isFile() === true) return await unzipInto(source, staging);
  throw new GatewayError(
    'no_source',
    `There is no folder or file ${source}. Give a folder, a .zip file, or the address of a Git repository (https://…).`,
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
  await new Promise<void>((resolve, reject) => {
    execFile('git', args, { timeout: GIT_MS, env, maxBuffer: 1024 * 1024 }, (error, _stdout, stderr) => {
      if (error === null) return resolve();
      const missing = errorCode(error) === 'ENOENT';
      const reason = missing
        ? 'Git is not installed on this machine: install it, or give a folder or a .zip file'
        : `Git says: ${stderr.trim().split('\n').at(-1)?.slice(0, 300) || 'nothing; it took too long'}`;
      reject(
        new GatewayError('git', `${sourceName(source)} cannot be fetched. ${reason}.`, { cause: error }),
      );
    });
  });
  return staging;
}

async function unzipInto(file: string, staging: string): Promise<string> {
  const { size } = await stat(file);
  if (size > MAX_ZIP_BYTES) throw badZip(file, `is larger than ${MAX_ZIP_BYTES / 1024 / 1024} MiB`);
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
    const parts = name.split('/');
    if (files > MAX_ZIP_FILES) throw badZip(file, `holds more than ${MAX_ZIP_FILES} files`);
    if (bytes > MAX_ZIP_BYTES) throw badZip(file, `holds more than ${MAX_ZIP_BYTES / 1024 / 1024} MiB`);
    if (/[\\\0]|^\/|^[A-Za-z]:/.test(name) || parts.includes('..'))
      throw badZip(file, 'holds a file that leads out of its folder');
    return parts[0] !== '__MACOSX';
  };
  try {
    return unzipSync(archive, { filter });
  } catch (cause) {
    if (cause instanceof GatewayError) throw cause;
    throw badZip(file, 'is no .zip file, or a damaged one', cause);
  }
}

function badZip(file: string, reason: string, cause?: unknown): GatewayError {
  return new GatewayError('bad_zip', `${path.basename(file)} ${reason}.`, { cause });
}
