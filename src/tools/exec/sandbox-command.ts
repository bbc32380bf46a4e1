/** How a program is confined: the bubblewrap command line. */
import { lstatSync, readlinkSync, realpathSync } from 'node:fs';
import path from 'node:path';

/** Processes and threads of one run. */
export const MAX_PROCESSES = 64;
/** Address space of each process, in bytes. */
const MAX_ADDRESS_SPACE_BYTES = 1024 * 1024 * 1024;
/** Largest file a process writes, and the size of the private /tmp, in bytes. */
export const MAX_SANDBOX_FILE_BYTES = 64 * 1024 * 1024;
/** Size of the private /dev/shm, in bytes; apart from its devices, nothing else below /dev is writable. */
export const MAX_SHARED_MEMORY_BYTES = 16 * 1024 * 1024;
/** CPU seconds of each process. */
const MAX_CPU_SECONDS = 60;
/** Open files of each process. */
const MAX_OPEN_FILES = 256;

/** What every run has in common: everything unshared, an environment of three harmless names, its own /proc and /dev. */
const SHUT = [
  '--unshare-all --unshare-user --disable-userns --die-with-parent --new-session --clearenv --cap-drop ALL --hostname sandbox',
  '--setenv PATH /usr/local/bin:/usr/bin:/bin --setenv HOME /tmp --setenv LANG C.UTF-8',
  `--proc /proc --dev /dev --size ${MAX_SHARED_MEMORY_BYTES} --tmpfs /dev/shm --remount-ro /dev`,
].flatMap((line) => line.split(' '));

/** Where programs and their libraries are; the rest of /usr, such as /usr/src and /usr/local/src, is not shown. */
const PROGRAM_FOLDERS = ['/usr', '/usr/local'].flatMap((above) =>
  ['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libexec', 'include', 'share'].map((name) => `${above}/${name}`),
);
/** Top-level names that are links into /usr on most systems, and separate folders on others. */
const SYSTEM_FOLDERS = ['/bin', '/sbin', '/lib', '/lib32', '/lib64'];
/** The few parts of /etc that programs need to find their libraries; read-only. */
const SYSTEM_FILES = ['/etc/alternatives', '/etc/ld.so.cache'];

/**
 * Options for bwrap (0.8 or newer), without a command: `workspace` as /work, the programs of this machine read-only,
 * and nothing else of it: no network, no other process, no environment, no capabilities, no way to make a new user
 * namespace. Pass them with `--args`, because bwrap's own command line is readable inside as /proc/1/cmdline.
 */
export function sandboxOptions(workspace: string): string[] {
  return [
    ...SHUT,
    ...[...PROGRAM_FOLDERS, ...SYSTEM_FOLDERS].flatMap(programFolder),
    ...SYSTEM_FILES.flatMap((file) => ['--ro-bind-try', file, file]),
    ...`--size ${MAX_SANDBOX_FILE_BYTES} --tmpfs /tmp`.split(' '),
    '--bind',
    workspace,
    ...'/work --chdir /work --remount-ro /'.split(' '),
  ];
}

/** `argv` with the limits of each process. The kernel kills programs of the sandbox first when memory runs short. */
export function limitedCommand(argv: readonly string[]): string[] {
  return [
    ...'/usr/bin/choom --adjust 1000 --'.split(' '),
    '/usr/bin/prlimit',
    `--nproc=${MAX_PROCESSES}`,
    `--as=${MAX_ADDRESS_SPACE_BYTES}`,
    `--fsize=${MAX_SANDBOX_FILE_BYTES}`,
    `--cpu=${MAX_CPU_SECONDS}`,
    `--nofile=${MAX_OPEN_FILES}`,
    '--core=0',
    '--',
    ...argv,
  ];
}

function programFolder(folder: string): string[] {
  const stats = lstatSync(folder, { throwIfNoEntry: false });
  if (stats === undefined) return [];
  return stats.isSymbolicLink() ? ['--symlink', readlinkSync(folder), folder] : ['--ro-bind', folder, folder];
}

/** The folders of this machine that programs in the sandbox can read, without links. */
export function readableFolders(): string[] {
  const there = [...PROGRAM_FOLDERS, ...SYSTEM_FOLDERS, '/etc/alternatives'].filter(
    (folder) => lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() === true,
  );
  return there.map((folder) => realpathSync(folder));
}

/** The folder of `readableFolders` that contains `place`; undefined when none does. Links are followed. */
export function readableFolderOf(place: string, readable = readableFolders()): string | undefined {
  const real = realPathOf(path.resolve(place));
  return readable.find((folder) => real === folder || real.startsWith(`${folder}/`));
}

/** The path without links; for one that does not exist yet, as far as it does. */
function realPathOf(place: string): string {
  const stats = lstatSync(place, { throwIfNoEntry: false });
  if (stats !== undefined || place === '/') return realpathSync(place);
  return path.join(realPathOf(path.dirname(place)), path.basename(place));
}
