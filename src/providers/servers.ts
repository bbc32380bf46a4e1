/** The model servers that the environment and `providers` in `config.json` name, checked. */
import { z } from 'zod';
import type { Environment, EnvironmentServer, ProviderKind, ServerOptions } from './kind.ts';
import { isJsonObject } from '../lib/json/json.ts';
import { textRef, type TextRef } from '../protocol/texts/say.ts';

/** A configured server; `settings` are the fields of its kind. */
export interface ModelServer extends ServerOptions {
  kind: string;
  settings: Record<string, unknown>;
  /** `nobody` for an assumed address: Ollama's on this machine when nothing names another. */
  namedBy: 'environment' | 'file' | 'nobody';
  apiKey: string | undefined;
}

/** Names of providers; followed by a slash and a model, such a name selects the server. */
const PROVIDER_NAME = /^[a-z][a-z0-9_-]{0,31}$/;
/** What a header can contain. */
const API_KEY = /^[\x21-\x7e]+$/;

/** Fields of other programs and earlier versions, and what to write now. */
const MOVED_FIELDS: Readonly<Record<string, string>> = {
  host: 'write the address as baseUrl',
  url: 'write the address as baseUrl',
  baseURL: 'write the address as baseUrl',
  apiKey: 'put the key into an environment variable and write its name as apiKeyEnv',
  type: 'write it as kind',
};

/** `providers` in `config.json` for the given kinds. */
export function providersSchemaFor(kinds: readonly ProviderKind[]) {
  const [first, ...others] = kinds.map(({ settings }) => settings);
  if (first === undefined) throw new Error('the list of provider kinds is empty');
  const kindNames = kinds.map(({ kind }) => JSON.stringify(kind)).join(' or ');
  const entry = z.discriminatedUnion('kind', [first, ...others], { error: `must be ${kindNames}` });
  const name = z
    .string()
    .regex(PROVIDER_NAME, 'a name has 1 to 32 of the characters a-z, 0-9, "-" and "_", a letter first');
  return z
    .record(name, entry)
    .prefault({})
    .describe(
      'model servers by name; their models are called `<name>/<model>`, see [Model servers](#model-servers)',
    );
}

/**
 * `providers` of the file for the schema: with the kinds that names imply, without renamed fields, each of which is an
 * error, a sentence that begins with the field.
 */
export function presentProviders(
  value: unknown,
  kinds: readonly ProviderKind[],
): { providers: unknown; errors: string[] } {
  if (!isJsonObject(value)) return { providers: value, errors: [] };
  const errors: string[] = [];
  const present = ([name, entry]: [string, unknown]): [string, unknown] => {
    if (!isJsonObject(entry)) return [name, entry];
    const renamedFields = Object.keys(entry).filter((field) => Object.hasOwn(MOVED_FIELDS, field));
    errors.push(...renamedFields.map((field) => `providers.${name}.${field}: ${MOVED_FIELDS[field]}`));
    const otherFields = Object.entries(entry).filter(([field]) => !renamedFields.includes(field));
    const implied = kinds.some(({ kind }) => kind === name) ? { kind: name } : {};
    return [name, { ...implied, ...Object.fromEntries(otherFields) }];
  };
  return { providers: Object.fromEntries(Object.entries(value).map(present)), errors };
}

/** An entry of the file, as the schema of its kind returns it. */
const entryOf = z.looseObject({
  kind: z.string(),
  baseUrl: z.string().optional(),
  apiKeyEnv: z.string().optional(),
});

/**
 * Joins the servers of the environment, first, and the file. `errors` are sentences that begin with the field or
 * variable, without values.
 */
export function configureServers(
  kinds: readonly ProviderKind[],
  { env, file }: { env: Environment; file: Readonly<Record<string, unknown>> },
): { servers: ModelServer[]; errors: string[] } {
  const errors: string[] = [];
  const servers: ModelServer[] = [];
  const fromEnvironment = new Map<string, EnvironmentServer>();
  for (const { kind, environment } of kinds) {
    const server = environment?.read(env);
    if (server !== undefined) fromEnvironment.set(kind, server);
  }
  for (const name of new Set([...fromEnvironment.keys(), ...Object.keys(file)])) {
    if (isOnlyAssumed(name, fromEnvironment, file)) continue;
    const { server, error } = joinServer(kinds, name, fromEnvironment.get(name), file[name], env);
    if (server !== undefined) servers.push(server);
    if (error !== undefined) errors.push(error);
  }
  return { servers, errors };
}

/** An address that no one configured is assumed only while no other server is named, by its address or in the file. */
function isOnlyAssumed(
  name: string,
  fromEnvironment: ReadonlyMap<string, EnvironmentServer>,
  file: Readonly<Record<string, unknown>>,
): boolean {
  const server = fromEnvironment.get(name);
  if (server === undefined || server.named || server.apiKey !== undefined || Object.hasOwn(file, name))
    return false;
  const hasOther = [...fromEnvironment].some(([other, server]) => other !== name && server.named);
  return hasOther || Object.values(file).some((entry) => entryOf.parse(entry).baseUrl !== undefined);
}

/** One provider, from what the environment says about it and its entry in the file. */
function joinServer(
  kinds: readonly ProviderKind[],
  name: string,
  server: EnvironmentServer | undefined,
  entry: unknown,
  env: Environment,
): { server?: ModelServer; error?: string } {
  const field = (last: string): string => `providers.${name}.${last}`;
  const { kind, baseUrl, apiKeyEnv, ...settings } = entryOf.parse(entry ?? { kind: name });
  const ownKind = kinds.find((candidate) => candidate.kind === name);
  if (ownKind !== undefined && kind !== name) {
    return { error: `${field('kind')}: a server of this name is of kind "${name}": choose another name` };
  }
  if (server?.named === true && baseUrl !== undefined) {
    return { error: `${field('baseUrl')}: ${server.addressSetting} names this server already: remove one` };
  }
  const address = baseUrl ?? server?.baseUrl;
  // Settings of a server that the environment may name at another time are not an error.
  if (address === undefined && ownKind?.environment !== undefined) return {};
  if (address === undefined) {
    return { error: `${field('baseUrl')}: is missing: write the address, such as http://127.0.0.1:8080/v1` };
  }
  const apiKey = apiKeyEnv === undefined ? server?.apiKey : env[apiKeyEnv];
  if (apiKeyEnv !== undefined && apiKey === undefined) {
    return { error: `${field('apiKeyEnv')}: the environment variable ${apiKeyEnv} is not set` };
  }
  if (apiKey !== undefined && !API_KEY.test(apiKey)) {
    const variable = apiKeyEnv ?? server?.keySetting ?? field('apiKeyEnv');
    return { error: `${variable}: may hold only visible ASCII characters` };
  }
  const inFile = baseUrl !== undefined;
  const full: ModelServer = {
    name,
    kind,
    settings: { kind, ...settings },
    baseUrl: address,
    apiKey,
    addressSetting: inFile ? field('baseUrl') : (server?.addressSetting ?? field('baseUrl')),
    keySetting: apiKeyEnv ?? server?.keySetting ?? field('apiKeyEnv'),
    namedBy: inFile ? 'file' : server?.named === true ? 'environment' : 'nobody',
  };
  return { server: full };
}

/** The provider whose models are named without its name, if it is configured. */
export const BARE_PROVIDER = 'ollama';

/** The provider of a model, and the model's name there. */
interface ModelPlace {
  provider: string;
  model: string;
}

export interface ModelNames {
  /** The model that a name means, or why it means none. */
  find(name: string): ModelPlace | { problem: TextRef };
  /** The public name of a provider's model. */
  nameOf(place: ModelPlace): string;
}

/** The default server: Ollama if something names it or nothing names another, else the first one named. */
export function defaultServer(servers: readonly ModelServer[]): string {
  const configured = servers.filter(({ namedBy }) => namedBy !== 'nobody');
  return configured.some(({ name }) => name === BARE_PROVIDER)
    ? BARE_PROVIDER
    : (configured[0]?.name ?? BARE_PROVIDER);
}

/** What a provider's name looks like; beyond that, Ollama's own ids contain slashes (`hf.co/user/model:tag`). */
const PREFIX = /^([a-z][a-z0-9_-]*)\/(.*)$/s;

/** Names longer than this are cut in messages. */
const MAX_NAME_SHOWN = 100;

/**
 * Only a configured provider's name is a prefix; other names are models of Ollama, or of the default server without it.
 * If `config.json` has names of its own next to another server, an unknown prefix of a name without a tag is a mistake.
 */
export function createModelNames(
  servers: readonly ModelServer[],
  kinds: readonly ProviderKind[],
): ModelNames {
  const names = new Set(servers.map(({ name }) => name));
  const ownNames = names.size > 1 && [...names].some((name) => kinds.every(({ kind }) => kind !== name));
  const bareProvider = names.has(BARE_PROVIDER) ? BARE_PROVIDER : defaultServer(servers);

  const problemOf = (name: string, prefix: string, model: string): TextRef | undefined => {
    const about = { name: name.slice(0, MAX_NAME_SHOWN), provider: prefix };
    const environment = kinds.find(({ kind }) => kind === prefix)?.environment;
    if (environment !== undefined) {
      return textRef('provider.needs_setting', { ...about, needs: textRef(environment.needs) });
    }
    if (!ownNames || model.includes(':')) return undefined;
    const providers = [...names].join(', ');
    return textRef('provider.not_configured', { ...about, known: providers, usual: bareProvider });
  };

  return {
    find(name) {
      const [, prefix, model] = PREFIX.exec(name) ?? [];
      if (prefix === undefined || model === undefined) return { provider: bareProvider, model: name };
      if (names.has(prefix)) return { provider: prefix, model };
      const problem = problemOf(name, prefix, model);
      return problem === undefined ? { provider: bareProvider, model: name } : { problem };
    },
    nameOf({ provider, model }) {
      const [, prefix] = PREFIX.exec(model) ?? [];
      const isBare = provider === BARE_PROVIDER && (prefix === undefined || !names.has(prefix));
      return isBare ? model : `${provider}/${model}`;
    },
  };
}
