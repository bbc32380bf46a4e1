/** What must be true inside the sandbox before anything runs there, and how that is checked. */
import { MAX_PROCESSES, MAX_SHARED_MEMORY_BYTES, readableFolders } from './sandbox-command.ts';

/**
 * Looks around inside and prints what it sees, one `name=value` per line. `$1` is the name of a file in the gateway's
 * home, `$2` the known mounts, and the other arguments are folders that must not be visible.
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

/** The command of the self-test: `canary` is the name of a file in the first of the `hidden` folders. */
export function probeCommand(canary: string, hidden: readonly string[]): string[] {
  const known = ` ${[...KNOWN_MOUNTS, ...readableFolders()].join(' ')} `;
  return ['/bin/sh', '-c', PROBE, 'probe', canary, known, ...hidden];
}

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
