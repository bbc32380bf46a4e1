/** Runs a program of Node.js shut in as closely as the machine allows: without network, and with a few files only. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';

/**
 * How a program is shut in besides Node's own permissions, which leave the network open: `bubblewrap` hides every other
 * file, too, `unshare` (util-linux) takes just the network away and works in services that may not mount, and `open`
 * leaves it.
 */
export type Confinement = 'bubblewrap' | 'unshare' | 'open';

const WAYS: readonly Confinement[] = ['bubblewrap', 'unshare', 'open'];

const BUBBLEWRAP = '/usr/bin/bwrap';
const UNSHARE = '/usr/bin/unshare';
/** Where programs find their libraries. */
const LIBRARIES = ['/lib', '/lib64', '/usr/lib', '/usr/lib64', '/etc/ld.so.cache'];
/** How long a probe may take, in milliseconds. */
const PROBE_MS = 30_000;

/** A program of Node.js, and all that it sees. */
export interface ConfinedProgram {
  /** The file of the program and its arguments. */
  program: readonly string[];
  /** Options of Node.js. */
  flags: readonly string[];
  /** Absolute paths of files and folders. */
  reads: readonly string[];
  /** Absolute paths of existing folders; it may read them, too. */
  writes?: readonly string[];
  /** Its working folder. */
  folder: string;
}

/** The command that runs it with nothing but these places. */
export function confinedCommand(confined: ConfinedProgram, way: Confinement): string[] {
  const { program, flags, folder, writes = [] } = confined;
  const reads = confined.reads.filter((place) => existsSync(place));
  const rights = [
    ...[...reads, ...writes].map((place) => ['read', place]),
    ...writes.map((place) => ['write', place]),
  ].flatMap(([right, place = '']) => [
    `--allow-fs-${right}=${place}`,
    `--allow-fs-${right}=${path.join(place, '*')}`,
  ]);
  const command = [process.execPath, '--permission', ...flags, ...rights, ...program];
  if (way === 'open') return command;
  if (way === 'unshare') return [UNSHARE, '--user', '--net', '--ipc', '--', ...command];
  return [
    BUBBLEWRAP,
    ...'--unshare-all --die-with-parent --new-session --cap-drop ALL --proc /proc --dev /dev --tmpfs /tmp'.split(
      ' ',
    ),
    ...LIBRARIES.flatMap((place) => ['--ro-bind-try', place, place]),
    ...[process.execPath, ...reads].flatMap((place) => ['--ro-bind', place, place]),
    ...writes.flatMap((place) => ['--bind', place, place]),
    '--chdir',
    folder,
    '--',
    ...command,
  ];
}

/**
 * The first of these ways that works here: many containers and some kernels allow none but the last. `probe` must end with
 * 0. Never rejects.
 */
export async function findConfinement(
  probe: ConfinedProgram,
  ways: readonly Confinement[] = WAYS,
): Promise<Confinement> {
  for (const way of ways) if (way !== 'open' && (await works(confinedCommand(probe, way)))) return way;
  return 'open';
}

async function works([file = '', ...args]: readonly string[]): Promise<boolean> {
  const child = spawn(file, args, { env: {}, stdio: 'ignore', timeout: PROBE_MS });
  return await new Promise((resolve) => {
    child.once('error', () => resolve(false));
    child.once('close', (code) => resolve(code === 0));
  });
}
