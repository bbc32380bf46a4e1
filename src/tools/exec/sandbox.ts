/** Runs the model's programs inside bubblewrap, or not at all. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { ToolError, toGatewayError } from '../../protocol/errors.ts';
import type { SessionKey } from '../../protocol/message.ts';
import {
  MAX_SHARED_MEMORY_BYTES,
  readableFolderOf,
  readableFolders,
  runShutIn,
  type SandboxRun,
  type ShutInRequest,
} from './sandbox-run.ts';
import { groupsFolder, MAX_PROCESSES } from './sandbox-group.ts';
import { isFiltered } from './sandbox-filter.ts';
import { RUN_LIMITS, type RunLimits } from './sandbox-watch.ts';

/**
 * Looks around inside and prints one `name=value` per line. `$1` is a file in the gateway's home, `$2` the known
 * mounts, and the others are folders that must not be visible.
 */
const PROBE = `
canary=$1; known=$2; shift 2
echo "environment=$(cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | sed 's/=.*//' | sort -u | tr '\\n' ' ')"
echo "first=$(tr '\\0' ' ' < /proc/1/environ)"
echo "command=$(tr '\\0' '\\n' < /proc/1/cmdline | sed -n '2,/^--$/p' | grep / )"
echo "networks=$(sed -n '3,$s/:.*//p' /proc/net/dev | tr -d ' \\n')"
echo "capabilities=$(sed -n 's/^Cap\\(Eff\\|Prm\\|Bnd\\):[[:space:]]*0*//p' /proc/self/status | tr -d '\\n')"
echo "filter=$(sed -n 's/^Seccomp:[[:space:]]*//p' /proc/self/status)"
echo "processes=$(sed -n 's/^Max processes *\\([0-9]*\\).*/\\1/p' /proc/self/limits)"
echo "nested=$(unshare -Ur echo yes 2>/dev/null)"
echo "writable=$(for at in / /usr /usr/bin /usr/lib /dev /etc; do touch $at/.probe 2>/dev/null && echo $at; done)"
echo "shared=$(head -c ${MAX_SHARED_MEMORY_BYTES + 4096} /dev/zero > /dev/shm/probe 2>/dev/null; stat -c %s /dev/shm/probe)"
echo "root=$(ls -A / | tr '\\n' ' ')"
echo "homes=$(for at; do [ -e "$at/$canary" ] || [ -e "$at/package.json" ] || [ -e "$at/config.json" ] && echo "$at"; done | tr '\\n' ' ')"
echo "mounts=$(cut -d' ' -f5 /proc/self/mountinfo | while read -r at; do
  case "$known" in *" $at "*) ;; *) find "$at" -name "$canary" 2>/dev/null ;; esac; done | tr '\\n' ' ')"
`;

/** Mounts of every run: what is below them needs no search. A folder of programs may bring a further one. */
const KNOWN_MOUNTS = '/ /proc /dev /dev/shm /dev/pts /tmp /work'.split(' ');

/** What the self-test must print; the shell itself adds `PWD` and `_`. */
const EXPECTED: Readonly<Record<string, RegExp>> = {
  environment: /^((HOME|LANG|OLDPWD|PATH|PWD|SHLVL|_) )*$/,
  first: /^$/,
  command: /^$/,
  networks: /^(lo)?$/,
  capabilities: /^$/,
  filter: /^2$/,
  processes: new RegExp(`^${MAX_PROCESSES}$`),
  nested: /^$/,
  writable: /^$/,
  shared: new RegExp(`^${MAX_SHARED_MEMORY_BYTES}$`),
  root: /^((bin|dev|etc|lib|lib32|lib64|proc|sbin|tmp|usr|work) )+$/,
  homes: /^$/,
  mounts: /^$/,
};

/** Most programs running concurrently across all sessions; each session has one. */
export const MAX_RUNS = 4;
/** Where this gateway's own program is installed, often with a file `.env` that has its passwords. */
const PROGRAM_DIR = path.resolve(fileURLToPath(new URL('../../..', import.meta.url)));
/** How long the self-test may take, in milliseconds. */
const SELF_TEST_MS = 15_000;

export interface Sandbox {
  /** Throws `ToolError`: `unavailable` (it says what to install or to move), `busy`. */
  run(request: ShutInRequest & { session: SessionKey }): Promise<SandboxRun>;
}

export interface SandboxOptions {
  /** `GATEWAY_HOME`, whose secrets no program may read. */
  home: string;
  /** Further folders no program may see; that of the gateway's own program is always one. */
  hidden: readonly string[];
  /** The program bubblewrap. */
  bwrap?: string;
  limits?: RunLimits;
  /** The folder in which the control groups of runs are created. */
  groups?: string | undefined;
}

/** Makes the sandbox; nothing is tried before the first run. A self-test that fails stays failed until a restart. */
export function createSandbox(options: SandboxOptions): Sandbox {
  const { bwrap = findBubblewrap(), limits = RUN_LIMITS, groups = groupsFolder() } = options;
  const running = new Set<SessionKey>();
  let tested: Promise<void> | undefined;
  return {
    async run(request) {
      await (tested ??= selfTest(options, bwrap, groups, limits));
      if (running.has(request.session))
        throw new ToolError('busy', 'Another program of this session is still running.');
      if (running.size >= MAX_RUNS)
        throw new ToolError('busy', `${MAX_RUNS} programs are already running: try again later.`);
      running.add(request.session);
      try {
        return await runShutIn(bwrap, groups, request, limits);
      } finally {
        running.delete(request.session);
      }
    },
  };
}

/** Why programs cannot run in the sandbox here, in a sentence; undefined when they can. Never throws. */
export async function sandboxProblem(options: SandboxOptions): Promise<string | undefined> {
  const { bwrap = findBubblewrap(), limits = RUN_LIMITS, groups = groupsFolder() } = options;
  try {
    await selfTest(options, bwrap, groups, limits);
    return undefined;
  } catch (error) {
    return toGatewayError(error).message;
  }
}

/** The program bubblewrap in PATH, in a folder that only an absolute path names; a name that no file has if there is none. */
function findBubblewrap(): string {
  const folders = (process.env['PATH'] ?? '')
    .split(path.delimiter)
    .filter((folder) => path.isAbsolute(folder));
  const places = folders.map((folder) => path.join(folder, 'bwrap'));
  return places.find((place) => existsSync(place)) ?? '/usr/bin/bwrap';
}

/** Fails closed: what cannot be proven to hold counts as broken. */
async function selfTest(
  { home, hidden: hiddenPaths }: SandboxOptions,
  bwrap: string,
  groups: string | undefined,
  limits: RunLimits,
): Promise<void> {
  const places = [home, PROGRAM_DIR, ...hiddenPaths];
  // Before the program is looked for: installing it would not help a home in the wrong place.
  refuseReadable(places);
  refuseMachine(bwrap);
  const workspace = await mkdtemp(path.join(os.tmpdir(), 'parley-sandbox-'));
  const canary = `.canary-${randomUUID()}`;
  try {
    await writeFile(path.join(home, canary), '', { mode: 0o600 });
    const signal = AbortSignal.timeout(SELF_TEST_MS);
    const request = { workspace, argv: probeCommand(canary, places), timeoutMs: SELF_TEST_MS, signal };
    // A disk that is full now may have space again later, while a failed self-test stays failed.
    const testLimits = { ...limits, freeDiskBytes: 0 };
    const { output, ok, ending } = await runShutIn(bwrap, groups, request, testLimits);
    if (!ok)
      throw unavailable(
        `bubblewrap 0.8 or newer, prlimit and choom must work here; the self-test says: ${ending} ${output.slice(0, 300)}`,
      );
    const probes = failedProbes(output);
    if (probes.length > 0)
      throw unavailable(`the sandbox does not hold on this machine (${probes.join(', ')})`);
  } catch (error) {
    if (error instanceof ToolError) throw error;
    throw unavailable('its self-test cannot write to GATEWAY_HOME and the temporary folder', error);
  } finally {
    await rm(workspace, { recursive: true, force: true });
    await rm(path.join(home, canary), { force: true });
  }
}

function refuseMachine(bwrap: string): void {
  if (process.platform !== 'linux') throw unavailable('this needs Linux');
  if (!isFiltered(process.arch)) throw unavailable('this needs an x64 or arm64 CPU');
  if (process.getuid?.() === 0) {
    throw unavailable(
      'the gateway runs as root, to whom process limits do not apply: run it as another user',
    );
  }
  if (!existsSync(bwrap)) throw unavailable('install bubblewrap 0.8 or newer (apt-get install bubblewrap)');
  if (!existsSync(`/proc/self/task/${process.pid}/children`)) {
    throw unavailable('the kernel does not list the children of a process (CONFIG_PROC_CHILDREN)');
  }
}

function refuseReadable(places: readonly string[]): void {
  for (const place of places) {
    const folder = readableFolderOf(place);
    if (folder === undefined) continue;
    throw unavailable(
      `${place} lies in ${folder}, which programs in the sandbox can read: ` +
        'move it, and GATEWAY_HOME, to a folder such as /srv/parley or one below /home',
    );
  }
}

function unavailable(reason: string, cause?: unknown): ToolError {
  return new ToolError('unavailable', `Running programs is unavailable: ${reason}.`, { cause });
}

/** The command of the self-test: `canary` is the name of a file in the first of the `hidden` folders. */
function probeCommand(canary: string, folders: readonly string[]): string[] {
  const mounts = ` ${[...KNOWN_MOUNTS, ...readableFolders()].join(' ')} `;
  return ['/bin/sh', '-c', PROBE, 'probe', canary, mounts, ...folders];
}

/** The names of the probes that failed in what the self-test printed; none = the sandbox holds. */
export function failedProbes(printed: string): string[] {
  const values = new Map(
    printed.split('\n').map((line) => {
      const at = line.indexOf('=');
      return [line.slice(0, at), line.slice(at + 1)] as const;
    }),
  );
  return Object.entries(EXPECTED).flatMap(([name, pattern]) => {
    const value = values.get(name);
    return value !== undefined && pattern.test(value) ? [] : [name];
  });
}
