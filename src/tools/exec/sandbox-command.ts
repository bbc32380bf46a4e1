/** How a program is shut in: the bubblewrap command line, and what must be true inside before anything runs there. */
import { lstatSync, readlinkSync } from 'node:fs';

/** Processes and threads of one run. */
export const MAX_PROCESSES = 64;
/** Address space of each process, in bytes. */
const MAX_MEMORY_BYTES = 1024 * 1024 * 1024;
/** Largest file a process writes, and the size of the private /tmp, in bytes. */
export const MAX_SANDBOX_FILE_BYTES = 64 * 1024 * 1024;
/** CPU seconds of each process. */
const MAX_CPU_SECONDS = 60;
/** Open files of each process. */
const MAX_OPEN_FILES = 256;

/** What every run has in common: everything unshared, an environment of three harmless names, its own /proc and /dev. */
const SHUT = [
  '--unshare-all --unshare-user --disable-userns --die-with-parent --new-session --clearenv --cap-drop ALL --hostname sandbox',
  '--setenv PATH /usr/local/bin:/usr/bin:/bin --setenv HOME /tmp --setenv LANG C.UTF-8',
  '--ro-bind /usr /usr --proc /proc --dev /dev',
].flatMap((line) => line.split(' '));

/** Top-level names that are links into /usr on most systems, and folders of their own on others. */
const SYSTEM_FOLDERS = ['/bin', '/sbin', '/lib', '/lib32', '/lib64'];
/** The little of /etc that programs need to find their libraries; read-only. */
const SYSTEM_FILES = ['/etc/alternatives', '/etc/ld.so.cache'];

/**
 * Arguments for bwrap (0.8 or newer) that run `argv` with `workspace` as /work, a read-only /usr, and nothing else of
 * this machine: no network, no other process, no environment, no capabilities, no way to make a new user namespace.
 */
export function sandboxArguments(workspace: string, argv: readonly string[]): string[] {
  return [
    ...SHUT,
    ...SYSTEM_FOLDERS.flatMap(systemFolder),
    ...SYSTEM_FILES.flatMap((file) => ['--ro-bind-try', file, file]),
    '--size',
    String(MAX_SANDBOX_FILE_BYTES),
    '--tmpfs',
    '/tmp',
    '--bind',
    workspace,
    '/work',
    '--chdir',
    '/work',
    '--',
    '/usr/bin/prlimit',
    `--nproc=${MAX_PROCESSES}`,
    `--as=${MAX_MEMORY_BYTES}`,
    `--fsize=${MAX_SANDBOX_FILE_BYTES}`,
    `--cpu=${MAX_CPU_SECONDS}`,
    `--nofile=${MAX_OPEN_FILES}`,
    '--core=0',
    '--',
    ...argv,
  ];
}

function systemFolder(folder: string): string[] {
  const stats = lstatSync(folder, { throwIfNoEntry: false });
  if (stats === undefined) return [];
  return stats.isSymbolicLink() ? ['--symlink', readlinkSync(folder), folder] : ['--ro-bind', folder, folder];
}

/** Looks around inside and says what it sees, one `name=value` a line. */
const PROBE = `
echo "environment=$(cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | sed 's/=.*//' | sort -u | tr '\\n' ' ')"
echo "first=$(tr '\\0' ' ' < /proc/1/environ)"
echo "networks=$(sed -n '3,$s/:.*//p' /proc/net/dev | tr -d ' \\n')"
echo "capabilities=$(sed -n 's/^Cap\\(Eff\\|Prm\\|Bnd\\):[[:space:]]*0*//p' /proc/self/status | tr -d '\\n')"
echo "processes=$(sed -n 's/^Max processes *\\([0-9]*\\).*/\\1/p' /proc/self/limits)"
echo "nested=$(unshare -Ur echo yes 2>/dev/null)"
echo "usr=$(touch /usr/.probe 2>/dev/null && echo writable)"
echo "root=$(ls -A / | tr '\\n' ' ')"
`;

/** The command of the self-test. */
export const PROBE_COMMAND: readonly string[] = ['/bin/sh', '-c', PROBE];

/** What the self-test must print; the shell adds `PWD` and `_` of its own. */
const EXPECTED: Readonly<Record<string, RegExp>> = {
  environment: /^((HOME|LANG|OLDPWD|PATH|PWD|SHLVL|_) )*$/,
  first: /^$/,
  networks: /^(lo)?$/,
  capabilities: /^$/,
  processes: new RegExp(`^${MAX_PROCESSES}$`),
  nested: /^$/,
  usr: /^$/,
  root: /^((bin|dev|etc|lib|lib32|lib64|proc|sbin|tmp|usr|work) )+$/,
};

/** The names of the probes that failed in what the self-test printed; none = the sandbox holds. */
export function failedProbes(printed: string): string[] {
  const seen = new Map(
    printed.split('\n').map((line) => {
      const at = line.indexOf('=');
      return [line.slice(0, at), line.slice(at + 1)] as const;
    }),
  );
  return Object.entries(EXPECTED).flatMap(([name, expected]) => {
    const value = seen.get(name);
    return value !== undefined && expected.test(value) ? [] : [name];
  });
}
