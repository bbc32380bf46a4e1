/** What is left of dead processes: their children, and lanes that no one works on anymore. */
import { readdir, readFile, readlink } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { abandonedLanes } from './rows.ts';
import type { Scenario } from './scenario.ts';

/** How long a child may outlive its parent, in milliseconds. */
const GRACE_MS = 2_000;

/** Processes that name the run's folder but are not its gateways, and lanes with messages whose owner is dead. */
export async function orphansOf(scenario: Scenario): Promise<string[]> {
  const end = performance.now() + GRACE_MS;
  let processes = await strayProcesses(scenario);
  while (processes.length > 0 && performance.now() < end) {
    await pause(100);
    processes = await strayProcesses(scenario);
  }
  const lanes = await scenario.read(abandonedLanes);
  return [...processes, ...lanes.map((key) => `lane ${key} belongs to a dead node`)];
}

/** The processes that work in this folder, or name it in their command line or environment. */
export async function processesOf(folder: string): Promise<{ pid: number; command: string }[]> {
  const found = await describeAll(folder);
  return found.filter(({ isOurs }) => isOurs).map(({ pid, command }) => ({ pid: Number(pid), command }));
}

/** Processes below a live gateway, or below this process, have an owner. */
async function strayProcesses({ folder, gateways }: Scenario): Promise<string[]> {
  const owners = new Set([String(process.pid), ...gateways.map(({ pid }) => String(pid))]);
  const found = await describeAll(folder);
  const parents = new Map(found.map(({ pid, parent }) => [pid, parent]));
  const isOwned = (pid: string): boolean => {
    let at: string | undefined = pid;
    while (at !== undefined && !owners.has(at)) at = parents.get(at);
    return at !== undefined;
  };
  return found
    .filter(({ pid, isOurs }) => isOurs && !isOwned(pid))
    .map(({ pid, command }) => `process ${pid}: ${command}`);
}

interface Described {
  pid: string;
  parent: string | undefined;
  command: string;
  /** It works in the folder, or names it. */
  isOurs: boolean;
}

async function describeAll(folder: string): Promise<Described[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  return await Promise.all(pids.map((pid) => describe(pid, folder)));
}

async function describe(pid: string, folder: string): Promise<Described> {
  const files = ['cmdline', 'environ', 'status'].map((file) => read(`/proc/${pid}/${file}`));
  const [command = '', environment = '', status = ''] = await Promise.all(files);
  const place = await readlink(`/proc/${pid}/cwd`).catch(() => '');
  return {
    pid,
    parent: /^PPid:\s+(\d+)$/m.exec(status)?.[1],
    command: command.replaceAll('\0', ' ').trim(),
    isOurs: command.includes(folder) || environment.includes(folder) || place.startsWith(folder),
  };
}

/** Empty for a process that has ended in the meantime, or whose memory we cannot read. */
async function read(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch {
    return '';
  }
}
