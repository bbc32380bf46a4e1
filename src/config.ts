/** The configuration: environment and `$GATEWAY_HOME/config.json` in one frozen object; all errors are reported at once. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { channels as allChannels } from '../channels/index.ts';
import type { ChannelAccess } from './contracts/access.ts';
import { accessRules, ownersRule } from './contracts/access.ts';
import { configureChannel, manifestErrors, manifestFieldErrors } from './contracts/channel.ts';
import type { ChannelManifest, ConfiguredChannel } from './contracts/channel.ts';
import { ConfigError } from './contracts/errors.ts';
import type { SecretShape } from './contracts/log.ts';
import { isTimeZone } from './lib/time-zone.ts';
import type { Address } from './contracts/message.ts';
import { MODES } from './contracts/plan.ts';
import { SESSION_START } from './contracts/records.ts';
import { providerKinds } from './providers/index.ts';
import { configureServers, presentProviders, providersSchemaFor } from './providers/servers.ts';
import type { ModelServer } from './providers/servers.ts';

/** The fields of `config.json` that belong to no channel. */
const gatewayFile = z.strictObject({
  providers: providersSchemaFor(providerKinds),
  tools: z
    .strictObject({
      // Checked against the list of tools once it is made.
      enabled: z.array(z.string().min(1)).default(['list_dir', 'read_file', 'memory', 'cron']),
      exec: z.boolean().default(false),
      ports: z.array(z.int().min(1).max(65_535)).max(100).default([]),
    })
    .prefault({}),
  approvals: z.strictObject({ expireMinutes: z.int().min(1).max(1_440).default(60) }).prefault({}),
  schedules: z
    .strictObject({
      timeZone: z.string().refine(isTimeZone, 'must be a time zone such as Europe/Berlin, or UTC').optional(),
    })
    .prefault({}),
  heartbeat: z
    .strictObject({
      everyMinutes: z.int().min(0).max(10_080).default(0),
      session: z.templateLiteral([z.string().regex(/^[a-z][a-z0-9]*$/), ':', z.string().min(1)]).optional(),
    })
    .prefault({}),
  persona: z.string().max(20_000).optional(),
  turns: z
    .strictObject({
      concurrency: z.int().min(1).max(4_096).default(256),
      mode: z.enum(MODES).default(SESSION_START.mode),
      queueMode: z.enum(['queue', 'steer', 'interrupt', 'collect']).default(SESSION_START.queueMode),
    })
    .prefault({}),
});

const SECONDS = { error: 'must be a number of seconds above 0, at most 86400' };
const seconds = (fallback: number) =>
  z.coerce.number(SECONDS).positive(SECONDS).max(86_400, SECONDS).default(fallback);
const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' });

/** The environment variables that belong to no channel; all others are ignored. */
const gatewayEnvironment = z.object({
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  GATEWAY_HOME: z.string().min(1).default('./.parley'),
  GATEWAY_TOKEN: z
    .string()
    .min(16, 'must have at least 16 characters')
    .max(400)
    .regex(/^[A-Za-z0-9._~+/=-]+$/, 'may hold only letters, digits and . _ ~ + / = -')
    .optional(),
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must begin with postgres://')
    .optional(),
  NATS_URL: z.string().min(1).optional(),
  OLLAMA_HOST: z.string().min(1).default('http://127.0.0.1:11434'),
  OPENAI_BASE_URL: httpUrl.optional(),
  OPENAI_API_KEY: z
    .string()
    .regex(/^[\x21-\x7e]+$/, 'may hold only visible ASCII characters')
    .optional(),
  MODEL: z
    .string()
    .refine((model) => !model.endsWith('/'), 'must name a model')
    .optional(),
  BRAVE_API_KEY: z
    .string()
    .min(1)
    .max(200)
    .regex(/^[\x21-\x7e]+$/, 'may hold no spaces or letters beyond ASCII')
    .optional(),
  BRAVE_API_ROOT: httpUrl.default('https://api.search.brave.com'),
  LLM_STREAM_FIRST_CHUNK_TIMEOUT: seconds(120),
  LLM_STREAM_CHUNK_TIMEOUT: seconds(60),
});

/** `config.json` with the fields of the given channels. */
export function fileSchemaFor(channels: readonly ChannelManifest[]) {
  const withIds = channels.flatMap(({ name, ids }) => (ids === undefined ? [] : [{ name, ids }]));
  const rules = withIds.map(({ name, ids }) => [name, accessRules(ids).prefault({})] as const);
  const owners = withIds.map(({ name, ids }) => [name, ownersRule(ids)] as const);
  const settings = channels.map(({ name, settings: own }) => [name, own.prefault({})] as const);
  return z.strictObject({
    access: z
      .strictObject({
        ...Object.fromEntries(rules),
        owners: z.strictObject(Object.fromEntries(owners)).prefault({}),
      })
      .prefault({}),
    channels: z.strictObject(Object.fromEntries(settings)).prefault({}),
    ...gatewayFile.shape,
  });
}

/** The environment with the variables of the given channels; all others are ignored. */
export function environmentSchemaFor(channels: readonly ChannelManifest[]) {
  const variables = channels.flatMap(({ env }) => Object.entries(env.shape));
  return z.object({ ...gatewayEnvironment.shape, ...Object.fromEntries(variables) });
}

export type EnvironmentConfig = z.infer<ReturnType<typeof environmentSchemaFor>>;

export interface Config extends Omit<z.infer<typeof gatewayFile>, 'providers'> {
  env: EnvironmentConfig;
  /** All channels of the list, those that are off included. */
  channels: readonly ConfiguredChannel[];
  /** Absolute path of `GATEWAY_HOME`. */
  home: string;
  /** The model servers of the environment and the file. */
  modelServers: readonly ModelServer[];
  /** Things that work but should be changed, for the log. */
  warnings: string[];
}

/**
 * Reads both sources for the given channels. Throws one `ConfigError` that lists every error by the name of its variable,
 * field or channel, and never repeats a value.
 */
export function loadConfig(
  environment: Record<string, string | undefined>,
  manifests: readonly ChannelManifest[] = allChannels,
): Config {
  const malformed = manifestFieldErrors(manifests);
  if (malformed.length > 0) throw refusal(malformed);
  const errors = manifestErrors(manifests, Object.keys(gatewayEnvironment.shape));
  const warnings: string[] = [];
  const set = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  );
  const env = environmentSchemaFor(manifests).safeParse(set);
  if (!env.success) errors.push(...describe(env.error, ''));
  const home = path.resolve(environment['GATEWAY_HOME'] || './.parley');
  const file = path.join(home, 'config.json');
  const content = inPresentShape(readConfigFile(file, errors, warnings), file, errors);
  const parsed = fileSchemaFor(manifests).safeParse(content);
  if (!parsed.success) errors.push(...describe(parsed.error, `${file}: `));
  if (!env.success || !parsed.success || errors.length > 0) throw refusal(errors);
  const { access, channels: settings, providers, ...rest } = parsed.data;
  const models = configureServers(providerKinds, { env: set, file: providers });
  if (models.errors.length > 0) throw refusal(models.errors.map((error) => `${file}: ${error}`));
  const channels = manifests.map((manifest) => configureChannel(manifest, set, { access, settings }));
  if (rest.heartbeat.everyMinutes > 0 && heartbeatAddress(rest, channels) === undefined) {
    const example = channels.find(({ ids }) => ids !== undefined)?.name ?? 'channel';
    const place = `such as "${example}:<chat id>"`;
    throw refusal([`${file}: heartbeat.session: must name the chat of the heartbeat, ${place}`]);
  }
  return Object.freeze({
    ...rest,
    env: env.data,
    channels,
    home,
    modelServers: models.servers,
    warnings,
  });
}

function refusal(errors: readonly string[]): ConfigError {
  const list = errors.map((error) => `  - ${error}`).join('\n');
  return new ConfigError('bad_config', `The configuration cannot be used:\n${list}`);
}

function readConfigFile(file: string, errors: string[], warnings: string[]): unknown {
  if (!existsSync(file)) return {};
  try {
    if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0) {
      warnings.push(`${file} can be read by other users of this machine; run: chmod 600 ${file}`);
    }
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    errors.push(`${file}: ${error instanceof Error ? error.message : String(error)}`);
    return {};
  }
}

/** Fields of earlier versions, and where each is written now. */
const MOVED_FIELDS: Readonly<Record<string, string>> = { http: 'channels.http' };

/** The content with what it leaves out, and without fields that have moved; each of those is an error that names its new place. */
function inPresentShape(content: unknown, file: string, errors: string[]): unknown {
  if (typeof content !== 'object' || content === null || Array.isArray(content)) return content;
  const moved = Object.keys(content).filter((field) => Object.hasOwn(MOVED_FIELDS, field));
  for (const field of moved)
    errors.push(`${file}: ${field}: has moved: write the same as ${MOVED_FIELDS[field]}`);
  const kept = Object.fromEntries(Object.entries(content).filter(([field]) => !moved.includes(field)));
  if (kept['providers'] === undefined) return kept;
  const { providers, errors: found } = presentProviders(kept['providers'], providerKinds);
  errors.push(...found.map((error) => `${file}: ${error}`));
  return { ...kept, providers };
}

/** One line per error: where, what; never the value, which may be a secret. */
function describe(error: z.ZodError, prefix: string): string[] {
  return error.issues.map((issue) => {
    const [why = issue] = issue.code === 'invalid_key' ? issue.issues : [];
    return `${prefix}${issue.path.join('.') || 'the file'}: ${why.message}`;
  });
}

/** The access rules of a channel; undefined for unknown ones and for channels without people of their own. */
export function accessOf(config: Config, channel: string): ChannelAccess | undefined {
  return config.channels.find(({ name }) => name === channel)?.access;
}

/**
 * The address the heartbeat writes to: the configured one, else the private chat with the first owner on the first channel that
 * is on and whose ids tell that chat.
 */
function heartbeatAddress(
  { heartbeat }: Pick<Config, 'heartbeat'>,
  channels: readonly ConfiguredChannel[],
): Address | undefined {
  if (heartbeat.session !== undefined) return heartbeat.session;
  for (const { name, isOn, ids, access } of channels) {
    const [owner] = access?.owners ?? [];
    const chatId = owner === undefined ? undefined : ids?.privateChatOf?.(owner);
    if (isOn && chatId !== undefined) return `${name}:${chatId}`;
  }
  return undefined;
}

/** The time zone of schedules (undefined = the machine's) and the heartbeat (undefined = none). */
export function clockOf(config: Config): {
  timeZone: string | undefined;
  heartbeat: { everyMs: number; address: Address; file: string } | undefined;
} {
  const { timeZone } = config.schedules;
  const address = heartbeatAddress(config, config.channels);
  const everyMs = config.heartbeat.everyMinutes * 60_000;
  if (everyMs === 0 || address === undefined) return { timeZone, heartbeat: undefined };
  const file = path.join(config.home, 'workspace', 'HEARTBEAT.md');
  return { timeZone, heartbeat: { everyMs, address, file } };
}

/** The waits of the agent that the configuration sets, in milliseconds. */
export function limitsOf({ env, approvals }: Config): {
  firstChunkMs: number;
  chunkMs: number;
  approvalMs: number;
} {
  return {
    firstChunkMs: env.LLM_STREAM_FIRST_CHUNK_TIMEOUT * 1_000,
    chunkMs: env.LLM_STREAM_CHUNK_TIMEOUT * 1_000,
    approvalMs: approvals.expireMinutes * 60_000,
  };
}

/** The password in an address, which may lack its scheme; undefined when there is none. */
function passwordOf(address: string | undefined): string | undefined {
  const password =
    address === undefined
      ? undefined
      : URL.parse(address.includes('://') ? address : `http://${address}`)?.password;
  return password && decodeURIComponent(password);
}

/** Every secret of the configuration, and the shapes of others, for the log's redactor. */
export function secretsOf(config: Config): { secrets: string[]; shapes: SecretShape[] } {
  const { GATEWAY_TOKEN, OPENAI_API_KEY, BRAVE_API_KEY, DATABASE_URL, OLLAMA_HOST } = config.env;
  const keys = config.modelServers.map(({ apiKey }) => apiKey);
  const own = [
    GATEWAY_TOKEN,
    OPENAI_API_KEY,
    BRAVE_API_KEY,
    ...keys,
    passwordOf(DATABASE_URL),
    passwordOf(OLLAMA_HOST),
  ];
  return {
    secrets: [...own.flatMap((secret) => secret || []), ...config.channels.flatMap(({ secrets }) => secrets)],
    shapes: config.channels.flatMap(({ secretShapes }) => secretShapes),
  };
}
