/** A compose file as an engine reads it, and what is wrong with it. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { channels } from '../../channels/index.ts';
import { environmentSchemaFor } from '../../src/config-schema.ts';
import { ROOT } from '../architecture/imports.ts';
import { environmentOf, only } from './image.ts';

const service = z.looseObject({
  image: z.string().optional(),
  build: z.looseObject({ context: z.string() }).optional(),
  user: z.union([z.string(), z.number()]).optional(),
  environment: z.record(z.string(), z.union([z.string(), z.number()])).default({}),
  ports: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
  depends_on: z.record(z.string(), z.looseObject({ condition: z.string() })).default({}),
  healthcheck: z.looseObject({ test: z.array(z.string()) }).optional(),
});
const compose = z.strictObject({
  services: z.record(z.string(), service),
  volumes: z.record(z.string(), z.null()).default({}),
});
type Compose = z.output<typeof compose>;
type Service = z.output<typeof service>;

/** Variables that exist, with those of Node.js and of the name of the command. */
export const VARIABLES = [
  ...Object.keys(environmentSchemaFor(channels).shape),
  'NODE_ENV',
  'PARLEY_COMMAND',
] as const;

/**
 * What is wrong with a compose file in `folder`, one sentence each. `main` is the text of the file that it is used with, if it
 * is not whole.
 */
export function composeProblems(folder: string, text: string, main?: string): string[] {
  const read = compose.safeParse(parse(text));
  if (!read.success) return [z.prettifyError(read.error)];
  const own = read.data;
  const all = main === undefined ? own : compose.parse(parse(main));
  const used = Object.values(own.services).flatMap(({ volumes }) => volumes.map(nameOfVolume));
  return [
    ...Object.entries(own.services).flatMap(([name, one]) => serviceProblems({ folder, all }, name, one)),
    ...Object.keys(own.volumes).flatMap((name) =>
      when(!used.includes(name), `no service uses volume ${name}`),
    ),
    ...(own.services['gateway'] === undefined
      ? []
      : gatewayProblems(own.services['gateway'], main === undefined)),
  ];
}

function serviceProblems(
  { folder, all }: { folder: string; all: Compose },
  name: string,
  { image, build, user, volumes, depends_on: needs }: Service,
): string[] {
  const context = build === undefined ? undefined : path.join(ROOT, folder, build.context);
  const isIn = all.services[name];
  return [
    ...when(isIn === undefined, `${name} is not in the main file`),
    ...when(
      build === undefined && image === undefined && isIn?.image === undefined && isIn?.build === undefined,
      `${name} has no image`,
    ),
    ...when(
      context !== undefined && !existsSync(path.join(context, 'Dockerfile')),
      `${name} has no Dockerfile`,
    ),
    ...when(/^(root|0)\b/.test(String(user)), `${name} runs as root`),
    ...postgresProblems(image, volumes),
    ...volumes
      .map(nameOfVolume)
      .flatMap((volume) =>
        when(!volume.startsWith('.') && !(volume in all.volumes), `volume ${volume} is not declared`),
      ),
    ...Object.entries(needs).flatMap(([other, { condition }]) => [
      ...when(!(other in all.services), `${name} needs ${other}, which does not exist`),
      ...when(
        condition === 'service_healthy' && !isChecked(all.services[other]),
        `${other} has no health check`,
      ),
    ]),
  ];
}

/** Where the image of Postgres keeps its data; what is mounted elsewhere stays empty. */
function postgresProblems(image: string | undefined, volumes: readonly string[]): string[] {
  const [, major] = /\bpostgres:(\d+)/.exec(image ?? '') ?? [];
  if (major === undefined) return [];
  const data = Number(major) < 18 ? '/var/lib/postgresql/data' : '/var/lib/postgresql';
  return volumes.flatMap((mount) => when(mount.split(':')[1] !== data, `${mount} is not mounted at ${data}`));
}

/** The check of Postgres, which the image has, as the account and for the database that the image makes. */
function isChecked({ healthcheck, environment = {} }: Partial<Service> = {}): boolean {
  const [kind, command] = healthcheck?.test ?? [];
  const { POSTGRES_USER: user, POSTGRES_DB: database } = environment;
  return kind === 'CMD-SHELL' && command === `pg_isready -U ${user} -d ${database}`;
}

function gatewayProblems({ environment, ports, volumes }: Service, isWhole: boolean): string[] {
  const image = environmentOf();
  const port = only('EXPOSE');
  const chosen = `\${PORT:-${port}}`;
  const { PORT = isWhole ? '' : chosen, GATEWAY_HOME = image['GATEWAY_HOME'] } = environment;
  return [
    ...Object.keys(environment).flatMap((name) =>
      when(!VARIABLES.some((one) => one === name), `there is no variable ${name}`),
    ),
    ...when(String(PORT) !== chosen, `PORT is ${PORT}, and not ${chosen}`),
    // On loopback: whoever wants more puts a proxy before it.
    ...when(
      isWhole && ports.join(' ') !== `127.0.0.1:${chosen}:${chosen}`,
      `the ports are ${ports.join(' ')}`,
    ),
    ...volumes.flatMap((mount) =>
      when(mount.split(':')[1] !== GATEWAY_HOME, `${mount} is not mounted at ${GATEWAY_HOME}`),
    ),
  ];
}

function nameOfVolume(mount: string): string {
  return mount.split(':')[0] ?? '';
}

function when(isWrong: boolean, problem: string): string[] {
  return isWrong ? [problem] : [];
}
