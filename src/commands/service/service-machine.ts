/** What `parley service` must know of the machine, and the only programs that it runs. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { fileURLToPath } from 'node:url';

/** Longest wait for such a program, in milliseconds. */
const PROGRAM_MS = 45_000;

export interface Machine {
  platform: NodeJS.Platform;
  uid: number;
  userHome: string;
  /** Before every path outside the user's folder; empty but in tests. */
  root: string;
  folder: string;
  node: string;
  hasSystemd: boolean;
  /** Runs a program; undefined when it is not there. Never throws. */
  run: (program: string, ...args: string[]) => { ok: boolean; output: string } | undefined;
}

/** This machine. */
export function thisMachine(): Machine {
  return {
    platform: process.platform,
    uid: process.getuid?.() ?? -1,
    userHome: homedir(),
    root: '',
    folder: fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, ''),
    node: process.execPath,
    hasSystemd: existsSync('/run/systemd/system'),
    run(program, ...args) {
      const { error, status, stdout, stderr } = spawnSync(program, args, {
        encoding: 'utf8',
        timeout: PROGRAM_MS,
      });
      return error === undefined ? { ok: status === 0, output: (stdout || stderr).trim() } : undefined;
    },
  };
}
