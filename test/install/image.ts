/** The image of the Dockerfile without an engine: its instructions, and a sandbox with the files that it copies and no others. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import lockfile from '../../package-lock.json' with { type: 'json' };
import { ROOT } from '../architecture/imports.ts';
import { readText } from '../docs/pages.ts';
import { programPath } from '../runs/needs.ts';

export interface Instruction {
  /** In capitals, such as `COPY`. */
  name: string;
  /** What follows it, on one line. */
  text: string;
}

/** The instructions of a Dockerfile, in order, without comments. */
function instructionsOf(text: string): Instruction[] {
  const lines = text
    .replaceAll(/^\s*#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n');
  return lines.flatMap((line) => {
    const [, name, text] = /^([A-Z]+) +(.*)$/.exec(line.trim()) ?? [];
    return name === undefined || text === undefined ? [] : [{ name, text }];
  });
}

const ALL = instructionsOf(readText('Dockerfile'));
const LAST_STAGE = ALL.findLastIndex(({ name }) => name === 'FROM');
/** What makes the image itself, and what builds the program before. */
const DOCKERFILE = ALL.slice(LAST_STAGE);
const BUILD = ALL.slice(0, LAST_STAGE);

/** What follows the only instruction of this name. Throws when there are several, or none. */
export function only(name: string): string {
  const [found, ...more] = DOCKERFILE.filter((one) => one.name === name);
  if (found === undefined || more.length > 0) throw new Error(`the Dockerfile has not one ${name}`);
  return found.text;
}

/** The variables that the image sets. */
export function environmentOf(): Record<string, string> {
  const pairs = only('ENV').matchAll(/([A-Z_]+)=(?:"([^"]*)"|(\S+))/g);
  return Object.fromEntries([...pairs].map(([, name = '', quoted, plain]) => [name, quoted ?? plain ?? '']));
}

/** The arguments of an instruction in its JSON form. */
export function argvOf(json: string): string[] {
  const argv: unknown = JSON.parse(json);
  if (!Array.isArray(argv) || !argv.every((argument) => typeof argument === 'string'))
    throw new Error(`not in the JSON form: ${json}`);
  return argv;
}

/** What a stage copies: each path of the repository, with its place below the work folder. What the stage before built is there as well. */
function copiedBy(instructions: readonly Instruction[]): { from: string; to: string }[] {
  return instructions
    .filter(({ name }) => name === 'COPY')
    .flatMap(({ text }) => {
      const paths = text
        .replace(/^--from=build /, '')
        .replaceAll('/app/', '')
        .split(/\s+/);
      const target = paths.pop() ?? '';
      return paths.map((from) => ({
        from,
        to: path.posix.normalize(target.endsWith('/') ? `${target}${path.posix.basename(from)}` : target),
      }));
    });
}

/** What is in the image, without the packages. */
export function copied(): { from: string; to: string }[] {
  return copiedBy(DOCKERFILE).filter(({ from }) => from !== 'node_modules');
}

/** What the program and the page are built from. */
export function sourcesOfBuild(): string[] {
  return copiedBy(BUILD).map(({ from }) => from);
}

/** The packages that `npm ci --omit=dev` installs on this machine and the image keeps, by their place in the repository. */
function keptPackages(): string[] {
  const packages: Readonly<Record<string, { dev?: boolean; version?: string }>> = lockfile.packages;
  return Object.entries(packages)
    .filter(([place, { dev }]) => place !== '' && dev !== true)
    .map(([place]) => place)
    .filter((place) => !place.includes('/node_modules/') && !place.startsWith('node_modules/node-linux-'))
    .filter((place) => existsSync(path.join(ROOT, place)));
}

/** Makes the sandbox. */
const BWRAP = programPath('bwrap') ?? 'bwrap';

/** Where the sandbox has what the image has: its root cannot be written, as `read_only: true` of the compose file has it. */
const APP = only('WORKDIR');

/**
 * The command line that runs `command` as in a container of the image: its files and packages, this machine's programs,
 * an account without rights, and one folder that can be written. `home` is that folder.
 */
export function inImage(home: string, environment: Record<string, string>, command: string[]): string[] {
  const image = environmentOf();
  const system = ['/usr', '/bin', '/sbin', '/lib', '/lib64', '/etc'].filter((place) => existsSync(place));
  const files = [
    ...copied().map(({ from, to }) => [from, path.posix.join(APP, to)] as const),
    ...keptPackages().map((place) => [place, path.posix.join(APP, place)] as const),
  ];
  const variables = { ...image, PATH: '/node:/usr/bin:/bin', HOME: '/tmp', ...environment };
  const flags =
    '--unshare-user --unshare-ipc --unshare-uts --uid 1000 --gid 1000 --die-with-parent --clearenv';
  const readable = [
    ...system.map((place) => [place, place] as const),
    [process.execPath, '/node/node'] as const,
  ];
  const bind = ([from, to]: readonly [string, string]) => ['--ro-bind', path.resolve(ROOT, from), to];
  return [
    BWRAP,
    // No process numbers of its own: bwrap itself would be the first, and passes no signals on.
    ...flags.split(' '),
    ...readable.flatMap(bind),
    ...'--proc /proc --dev /dev --tmpfs /tmp'.split(' '),
    ...files.flatMap(bind),
    '--bind',
    home,
    image['GATEWAY_HOME'] ?? '',
    ...`--remount-ro / --chdir ${APP}`.split(' '),
    ...Object.entries(variables).flatMap(([name, value]) => ['--setenv', name, value]),
    '--',
    ...command,
  ];
}
