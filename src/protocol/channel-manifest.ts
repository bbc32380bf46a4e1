/** Checks a list of manifests and says what to write instead: types are not checked at run time. */
import { z } from 'zod';
import { accessRules, type ChannelAccess, isId } from './access.ts';
import type { Channel, ChannelDeps, ChannelManifest, CheckContext, Finding } from './channel.ts';
import { ConfigError, errorCode } from './errors.ts';
import { withItems } from '../lib/text.ts';

/** Names with a different meaning in addresses, in user ids, or next to the channels in `access`. */
const RESERVED_NAMES = ['system', 'token', 'owners'];

const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';
const isTexts = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.values(value).every(isText);
const isFunction = (value: unknown): boolean => typeof value === 'function';
const isPattern = (value: unknown): boolean => value instanceof RegExp;

/** Checks of a manifest's fields, each with what to write. */
const FIELDS: Record<keyof ChannelManifest, [isRight: (value: unknown) => boolean, write: string]> = {
  name: [isText, "a text such as 'irc', the first part of the channel's addresses"],
  label: [isText, "the network's name for people, such as 'IRC'"],
  writeCommand: [
    isFunction,
    'a function that gives a command as people write it there: (name) => `/${name}`',
  ],
  needs: [isText, "the variable that switches the channel on, such as 'IRC_TOKEN', or 'nothing'"],
  tokenPage: [
    (value) => value === undefined || isText(value),
    "the address where its token is made, such as 'https://irc.example/bots', or no field",
  ],
  alsoNeeds: [
    (value) => value === undefined || isTexts(value),
    "{ IRC_SERVER: 'Address of the IRC server' } with a question for each variable that is needed, too, or no field",
  ],
  env: [(value) => value instanceof z.ZodObject, 'z.object({ … }) of its environment variables'],
  settings: [isStrictObject, 'z.strictObject({ … }) of its settings: other fields must be refused'],
  ids: [
    (value) => value === undefined || hasIds(value),
    '{ userId: /^…$/, chatId: /^…$/, description: "an id such as …" }, or no field',
  ],
  secretShapes: [
    (value) => Array.isArray(value) && value.every(isSecretShape),
    'a list of { pattern: /…/, replacement: "…" }, or [] for none',
  ],
  isOn: [isFunction, 'a function of `env` that is true when the channel is switched on'],
  secrets: [isFunction, 'a function of `env` that gives the secret values'],
  check: [
    (value) => value === undefined || isFunction(value),
    'a function that gives what the command doctor finds, or no field',
  ],
  create: [isFunction, 'a function that loads index.ts and makes the channel'],
};

/** In the address of a file that does not exist. */
const MANIFEST_FILE = /channels\/[^/]+\/manifest\.ts$/;

/**
 * The manifests of the channels. Rejects with a `ConfigError` that says what to write for each missing or wrong field,
 * and for a missing manifest; otherwise with what kept a folder from loading.
 */
export async function loadManifests(
  folders: readonly Promise<{ manifest: ChannelManifest }>[],
): Promise<readonly ChannelManifest[]> {
  const loaded = await Promise.all(folders).catch((error: unknown) => {
    const [file] = MANIFEST_FILE.exec(missingFile(error)) ?? [];
    if (file === undefined) throw error;
    const write = 'write it as docs/extending.md shows, or remove its line from channels/index.ts';
    throw unusableList([`${file} does not exist: ${write}`], error);
  });
  const manifests = loaded.map(({ manifest }) => manifest);
  const errors = manifestFieldErrors(manifests);
  if (errors.length > 0) throw unusableList(errors);
  return manifests;
}

function unusableList(errors: readonly string[], cause?: unknown): ConfigError {
  return new ConfigError('bad_channels', withItems('The list of channels cannot be used:', errors), {
    cause,
  });
}

/** The address of the file that an import did not find; '' for any other error. */
function missingFile(error: unknown): string {
  const isMissing = errorCode(error) === 'ERR_MODULE_NOT_FOUND' && error instanceof Error && 'url' in error;
  return isMissing ? String(error.url) : '';
}

/** Fields of manifests that are missing or of a wrong type, one sentence each. */
function manifestFieldErrors(manifests: readonly unknown[]): string[] {
  return manifests.flatMap((manifest, index) => {
    const fields: Record<string, unknown> = { ...(typeof manifest === 'object' ? manifest : {}) };
    const channel = typeof fields.name === 'string' ? fields.name : `number ${index + 1} of the list`;
    return Object.entries(FIELDS)
      .filter(([field, [isRight]]) => !isRight(fields[field]))
      .map(([field, [, write]]) => {
        const problem = fields[field] === undefined ? 'is missing' : 'has the wrong type';
        return `channel ${channel}: ${field} ${problem}: write ${write}`;
      });
  });
}

function isStrictObject(schema: unknown): boolean {
  if (!(schema instanceof z.ZodObject)) return false;
  const issues = schema.safeParse({ 'no such field': 1 }).error?.issues ?? [];
  return issues.some(({ code }) => code === 'unrecognized_keys');
}

function hasIds(value: unknown): boolean {
  const { userId, chatId, description }: Record<string, unknown> = { ...Object(value) };
  return isPattern(userId) && isPattern(chatId) && isText(description);
}

function isSecretShape(value: unknown): boolean {
  const { pattern, replacement }: Record<string, unknown> = { ...Object(value) };
  return isPattern(pattern) && typeof replacement === 'string';
}

/** Everything else that is wrong with manifests, in sentences. `reserved` are the gateway's environment variables. */
export function manifestErrors(manifests: readonly ChannelManifest[], reserved: readonly string[]): string[] {
  const owners = new Map(reserved.map((variable) => [variable, 'the gateway itself']));
  return manifests.flatMap((manifest, index) => {
    const errors = ownErrors(manifest);
    if (manifests.slice(0, index).some(({ name }) => name === manifest.name))
      errors.push('its name is taken by another channel of the list: choose a different name');
    for (const variable of Object.keys(manifest.env.shape)) {
      const owner = owners.get(variable);
      if (owner !== undefined) errors.push(`env: ${variable} already belongs to ${owner}: rename it`);
      else owners.set(variable, `the channel ${manifest.name}`);
    }
    return errors.map((error) => `channel ${manifest.name}: ${error}`);
  });
}

function ownErrors({ name, env, settings, ids }: ChannelManifest): string[] {
  const errors: string[] = [];
  if (!/^[a-z][a-z0-9]{0,31}$/.test(name) || RESERVED_NAMES.includes(name))
    errors.push(
      `its name must be a lower-case letter, then letters and digits, and none of ${RESERVED_NAMES.join(', ')}`,
    );
  for (const variable of requiredFields(env))
    errors.push(`env: ${variable} must be optional or have a default, because the channel may be off`);
  for (const field of requiredFields(settings)) errors.push(`settings: ${field} must have a default`);
  for (const field of ['userId', 'chatId'] as const) {
    const problem = ids === undefined ? undefined : patternProblem(ids[field]);
    if (problem !== undefined) errors.push(`ids.${field} ${problem}`);
  }
  return errors;
}

function requiredFields(schema: z.ZodObject): string[] {
  return schema.safeParse({}).error?.issues.map(({ path }) => path.join('.')) ?? [];
}

/** Reason why a pattern cannot be used to recognize ids; undefined when it can. */
function patternProblem({ source, flags }: RegExp): string | undefined {
  if (!source.startsWith('^') || !source.endsWith('$'))
    return 'must match the whole id: begin it with ^ and end it with $';
  if (/[gym]/.test(flags)) return 'must not have the flags g, m or y';
  if (isId('', { source, flags })) return 'must not match an empty text';
  return undefined;
}

/** A channel of the list with its configuration from the environment and the file. */
export interface ConfiguredChannel extends Pick<
  ChannelManifest,
  'name' | 'label' | 'writeCommand' | 'needs' | 'ids' | 'secretShapes'
> {
  isOn: boolean;
  /** Undefined for a channel without its own user ids. */
  access: ChannelAccess | undefined;
  secrets: readonly string[];
  /** Loads the channel's code and makes it. Throws `GatewayError`. */
  create: (deps: ChannelDeps) => Promise<Channel>;
  /** As `check` of the manifest; finds nothing if that is absent. */
  check: (context: CheckContext) => Promise<Finding[]>;
}

/** Joins a manifest with the checked environment (throws `ZodError` otherwise) and the file as it was read. */
export function configureChannel(
  manifest: ChannelManifest,
  variables: Record<string, unknown>,
  file: {
    access: Record<string, unknown> & { owners: Record<string, string[]> };
    settings: Record<string, Record<string, unknown>>;
  },
): ConfiguredChannel {
  const { name, label, writeCommand, needs, ids, secretShapes } = manifest;
  const env = manifest.env.parse(variables);
  const settings = file.settings[name] ?? {};
  const access: ChannelAccess | undefined = ids && {
    ...accessRules(ids).parse(file.access[name]),
    owners: file.access.owners[name] ?? [],
    privacyOf: ids.privacyOf,
    threadsAreChats: ids.threadsAreChats,
  };
  return {
    name,
    label,
    writeCommand,
    needs,
    ids,
    secretShapes,
    isOn: manifest.isOn(env),
    access,
    secrets: manifest.secrets(env).flatMap((secret) => secret || []),
    create: (deps) => manifest.create({ env, settings }, deps),
    check: async (context) => (await manifest.check?.({ env, settings, access }, context)) ?? [],
  };
}
