/** The configuration: environment and `$GATEWAY_HOME/config.json` in one frozen object; all errors are reported at once. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { z } from 'zod';
import {
  type EnvironmentConfig,
  environmentSchemaFor,
  fileSchemaFor,
  gatewayEnvironment,
  type GatewayFile,
} from './config-schema.ts';
import { variableErrors, variableWarnings } from './environment-problems.ts';
import { withoutEmpty } from './commands/environment.ts';
import { configurePlugins, type ConfiguredPlugin, type InstalledPlugin } from './plugins/index.ts';
import { kindsWith, listsOf } from './plugin-setup.ts';
import { configureChannel, type ConfiguredChannel, manifestErrors } from './protocol/channel-manifest.ts';
import type { ChannelManifest } from './protocol/channel.ts';
import { errorCode } from './protocol/errors.ts';
import { type FieldPath, problemOfField, schemaProblems } from './protocol/settings.ts';
import { type Recipient, textRef } from './protocol/texts/say.ts';
import { withSlash } from './protocol/isomorphic/fill-text.js';
import { configureMcpServers, type McpServerSettings } from './mcp/settings.ts';
import type { Address } from './protocol/message.ts';
import type { ChannelAccess } from './protocol/access.ts';
import type { SecretShape } from './protocol/log.ts';
import { passwordOf } from './lib/connection-url.ts';
import { readHeaders } from './ops/telemetry/index.ts';
import { bindingErrors, configureHooks, type Hook } from './intake/index.ts';
import { configureWebhooks, type Webhook } from './delivery/index.ts';
import type { ProviderKind } from './providers/kind.ts';
import { configureServers, type ModelServer, presentProviders } from './providers/servers.ts';
import { homeOf } from './launch/default-home.js';
import { databaseUrlOf, homePermissions, linkWarnings, natsSecrets } from './security/index.ts';
import {
  byPlace,
  configError,
  type ConfigProblem,
  elsewhere,
  problemOf,
  readJson,
  sentenceRef,
  syntaxProblems,
} from './settings/index.ts';
import { hasMoneyCaps } from './protocol/agent/budgets.ts';
import { configureSpeech, type SpeechSettings } from './media/index.ts';
import { configureSearch, type SearchSettings } from './tools/web/search/services.ts';

export interface Config extends Omit<
  GatewayFile,
  'providers' | 'mcp' | 'search' | 'speech' | 'hooks' | 'webhooks' | 'plugins' | '$schema'
> {
  env: EnvironmentConfig;
  /** The channels of the list and of plug-ins, before their configuration. */
  manifests: readonly ChannelManifest[];
  /** The installed plug-ins. */
  plugins: readonly ConfiguredPlugin[];
  /** All channels of the list, those that are off included. */
  channels: readonly ConfiguredChannel[];
  /** Absolute path of `GATEWAY_HOME`. */
  home: string;
  /** The model servers of the environment and the file. */
  modelServers: readonly ModelServer[];
  /** The MCP servers of the file. */
  mcpServers: readonly McpServerSettings[];
  /** The service of `web_search`, if any. */
  search: SearchSettings | undefined;
  /** The server that speaks answers, if any. */
  speech: SpeechSettings | undefined;
  /** The webhooks that may call, by name. */
  hooks: ReadonlyMap<string, Hook>;
  /** The programs that are notified, by name. */
  webhooks: ReadonlyMap<string, Webhook>;
  /** The environment as it was read; programs get a few of its variables. */
  environment: Readonly<Record<string, string>>;
  /** Things that work but should be changed, for the log. */
  warnings: string[];
  source: ConfigSource;
}

/** The file behind a configuration. */
export interface ConfigSource {
  /** Its absolute path. */
  file: string;
  /** Its fields with their defaults. */
  values: Readonly<Record<string, unknown>>;
  /** Checks another content of it in the same environment. */
  check: (text: string) => ConfigCheck;
}

/** A configuration that can be used, or what is wrong with it. `values` is the file with its defaults, where it has a meaning. */
export interface ConfigCheck {
  config: Config | undefined;
  problems: readonly ConfigProblem[];
  values: Readonly<Record<string, unknown>> | undefined;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Where `config.json` is. */
export function configFile(environment: Environment): string {
  return path.join(homeOf(environment), 'config.json');
}

/**
 * Reads both sources for the given channels. Throws one `ConfigError` that lists every error by the name of its variable,
 * field or channel, those of the file with line and column, and never repeats a value.
 */
export function loadConfig(environment: Environment, manifests?: readonly ChannelManifest[]): Config {
  const { config, problems } = checkConfig(environment, manifests && { manifests });
  if (config === undefined) throw configError(problems);
  return config;
}

/** How a configuration is checked. */
interface CheckOptions {
  /** Instead of those of the list and of installed plug-ins. */
  manifests?: readonly ChannelManifest[];
  /** Replaces the file's content. */
  text?: string;
  /** False ignores who may read the file. */
  permissions?: boolean;
}

/** As `loadConfig`, without throwing. */
export function checkConfig(
  environment: Environment,
  { manifests: listed, text, permissions: withPermissions = true }: CheckOptions = {},
): ConfigCheck {
  const { installed, problems: ofPlugins, ...lists } = listsOf(environment);
  const manifests = listed ?? lists.manifests;
  const problems = manifestErrors(manifests, Object.keys(gatewayEnvironment.shape)).map(elsewhere);
  const set = withoutEmpty(environment);
  const env = environmentSchemaFor(manifests).safeParse(set);
  problems.push(...problemsOfVariables(env.error));
  const { url, errors: ofUrl } = databaseUrlOf(env.data);
  const file = configFile(environment);
  const home = path.dirname(file);
  const permissions = withPermissions ? homePermissions(home) : { errors: [], warnings: [] };
  problems.push(...[...variableErrors(set, manifests), ...ofUrl, ...permissions.errors].map(elsewhere));
  const json = readJson(text ?? textOf(file, problems) ?? '{}');
  problems.push(...syntaxProblems(file, json.errors));
  const inFile = (sentence: string): void =>
    void problems.push(problemOf(file + json.placeOf(fieldOf(sentence)), sentenceRef(sentence)));
  const schema = fileSchemaFor(manifests, installed);
  const content = inPresentShape(json.value, kindsWith(installed), inFile);
  const parsed = schema.safeParse(content);
  const issues = parsed.success ? [] : schemaProblems(parsed.error, schema);
  for (const { path: at, what: problem } of issues)
    problems.push(problemOf(file + json.placeOf(at), problemOfField(at, problem)));
  const values = parsed.data;
  if (!env.success || !parsed.success) {
    // What is wrong with the other fields is reported at the same time.
    const broken = new Set(issues.map(({ path: [field] }) => String(field)));
    const others = env.success ? schema.safeParse(withoutFields(content, broken)).data : undefined;
    if (others !== undefined)
      for (const error of resolve(others, { manifests, installed, set, broken }).errors) inFile(error);
    return { ...unusable(problems.toSorted(byPlace)), values };
  }
  const { errors, ...resolved } = resolve(parsed.data, { manifests, installed, set });
  problems.sort(byPlace);
  for (const error of errors) inFile(error);
  if (problems.length > 0) return { ...unusable(problems), values };
  const config = Object.freeze({
    ...resolved,
    env: { ...env.data, DATABASE_URL: url },
    home,
    manifests,
    environment: set,
    warnings: [
      ...ofPlugins,
      ...permissions.warnings,
      ...linkWarnings(env.data),
      ...variableWarnings(set, manifests, resolved.channels, parsed.data),
    ],
    source: {
      file,
      values: parsed.data,
      check: (other: string) => checkConfig(environment, { ...(listed && { manifests }), text: other }),
    },
  });
  return { config, problems, values };
}

function problemsOfVariables(error: z.ZodError | undefined): ConfigProblem[] {
  if (error === undefined) return [];
  return schemaProblems(error).map(({ path: at, what: problem }) =>
    problemOf('', problemOfField(at, problem)),
  );
}

/** What the fields mean together and with the variables; `broken` are fields that are left out of `values`. */
function resolve(
  values: z.output<ReturnType<typeof fileSchemaFor>>,
  {
    manifests,
    installed,
    set,
    broken = new Set(),
  }: {
    manifests: readonly ChannelManifest[];
    installed: readonly InstalledPlugin[];
    set: Environment;
    broken?: ReadonlySet<string>;
  },
) {
  const {
    access,
    channels: settings,
    providers,
    mcp,
    search: searchFields,
    speech: speechFields,
    hooks: hookFields,
    webhooks: posted,
    plugins: pluginFields,
    ...others
  } = values;
  const { $schema: _, ...rest } = others;
  const sources = { env: set, file: providers };
  const { servers: modelServers, errors: ofModels } = configureServers(kindsWith(installed), sources);
  const { servers: mcpServers, errors: ofMcp } = configureMcpServers(mcp, set);
  const { search, errors: ofSearch } = configureSearch(searchFields, set);
  const { speech, errors: ofSpeech } = configureSpeech(speechFields, set);
  const channels = manifests.map((manifest) => configureChannel(manifest, set, { access, settings }));
  const names = channels.map(({ name }) => name);
  const { hooks, errors: ofHooks } = configureHooks(hookFields, set, names);
  const { webhooks, errors: ofWebhooks } = configureWebhooks(posted, set);
  const { plugins, errors: ofPlugins } = configurePlugins(installed, pluginFields, set);
  const errors = [...ofModels, ...ofMcp, ...ofSearch, ...ofSpeech, ...ofHooks, ...ofWebhooks, ...ofPlugins];
  errors.push(...bindingErrors(rest.bindings, channels));
  if (!broken.has('limits') && !broken.has('prices') && hasMoneyCaps(rest.limits)) {
    const isPriced = Object.keys(rest.prices.models).length > 0;
    if (!isPriced)
      errors.push(
        'prices.models: must name prices, because limits sets a budget in money: {"*": {"input": …, "output": …}} is that of all models',
      );
  }
  // Whose chat it is follows from the owners.
  const hasOwners = !broken.has('access') && !broken.has('channels');
  if (hasOwners && rest.heartbeat.everyMinutes > 0 && heartbeatAddress(rest, channels) === undefined) {
    const example = channels.find(({ ids }) => ids !== undefined)?.name ?? 'channel';
    errors.push(`heartbeat.session: must name the chat of the heartbeat, such as "${example}:<chat id>"`);
  }
  return { ...rest, channels, modelServers, mcpServers, search, speech, hooks, webhooks, plugins, errors };
}

/** The content without these fields. */
function withoutFields(content: unknown, fields: ReadonlySet<string>): unknown {
  if (typeof content !== 'object' || content === null || Array.isArray(content)) return content;
  return Object.fromEntries(Object.entries(content).filter(([field]) => !fields.has(field)));
}

function unusable(problems: readonly ConfigProblem[]): ConfigCheck {
  return { config: undefined, problems, values: undefined };
}

/** The content of the file; undefined when there is none, or it cannot be read, which is an error. */
function textOf(file: string, problems: ConfigProblem[]): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const code = errorCode(error) || 'unreadable';
    // A home below a file is reported when the home is made.
    const isMissing = code === 'ENOENT' || code === 'ENOTDIR';
    if (!isMissing) problems.push(problemOf(file, textRef('problem.unreadable', { code })));
    return undefined;
  }
}

/** Fields of earlier versions, and where each is written now. */
const MOVED_FIELDS: Readonly<Record<string, string>> = { http: 'channels.http' };

/** The content with what it leaves out, and without fields that have moved; each of those is an error that names its new place. */
function inPresentShape(
  content: unknown,
  kinds: readonly ProviderKind[],
  report: (text: string) => void,
): unknown {
  if (typeof content !== 'object' || content === null || Array.isArray(content)) return content;
  const movedFields = Object.keys(content).filter((field) => Object.hasOwn(MOVED_FIELDS, field));
  for (const field of movedFields) report(`${field}: has moved: write the same as ${MOVED_FIELDS[field]}`);
  const rest = Object.fromEntries(Object.entries(content).filter(([field]) => !movedFields.includes(field)));
  if (rest['providers'] === undefined) return rest;
  const { providers, errors } = presentProviders(rest['providers'], kinds);
  for (const error of errors) report(error);
  return { ...rest, providers };
}

/** The field with which a text begins. */
function fieldOf(text: string): FieldPath {
  return text.slice(0, Math.max(0, text.indexOf(': '))).split('.');
}

/**
 * The address the heartbeat writes to: the configured one, else the private chat with the first owner on the first
 * channel that is on and whose ids identify that chat; undefined = there is none.
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

/** The access rules of a channel; undefined for unknown ones and for channels that have no people of their own. */
export function accessOf(config: Config, channel: string): ChannelAccess | undefined {
  return config.channels.find(({ name }) => name === channel)?.access;
}

/** The time zone of schedules and the heartbeat (undefined = none). */
export function clockOf(config: Config): {
  timeZone: string;
  heartbeat: { everyMs: number; address: Address; file: string } | undefined;
} {
  const timeZone = zoneOf(config);
  const address = heartbeatAddress(config, config.channels);
  const everyMs = config.heartbeat.everyMinutes * 60_000;
  if (everyMs === 0 || address === undefined) return { timeZone, heartbeat: undefined };
  const file = path.join(config.home, 'workspace', 'HEARTBEAT.md');
  return { timeZone, heartbeat: { everyMs, address, file } };
}

/** The time zone in which people see times: the configured one, else the machine's. */
export function zoneOf({ schedules }: Pick<Config, 'schedules'>): string {
  // Node knows none while TZ names none.
  return schedules.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone ?? 'UTC';
}

/** The waits of the agent that the configuration sets, in milliseconds. */
export function limitsOf({ env, approvals }: Config): {
  firstChunkMs: number;
  chunkMs: number;
  approvalMs: number;
  escalateMs: number;
  answerMs: number;
} {
  return {
    firstChunkMs: env.LLM_STREAM_FIRST_CHUNK_TIMEOUT * 1_000,
    chunkMs: env.LLM_STREAM_CHUNK_TIMEOUT * 1_000,
    approvalMs: approvals.expireMinutes * 60_000,
    escalateMs: approvals.escalateMinutes * 60_000,
    answerMs: approvals.answerMinutes * 60_000,
  };
}

/** Every secret of the configuration, and the shapes of others, for the log's redactor. */
export function secretsOf(config: Config): { secrets: string[]; shapes: SecretShape[] } {
  const { GATEWAY_TOKEN, OPENAI_API_KEY, BRAVE_API_KEY, TRANSCRIPTION_API_KEY } = config.env;
  const { DATABASE_URL, DATABASE_PASSWORD, NATS_URL, OLLAMA_HOST } = config.env;
  const secrets = [
    GATEWAY_TOKEN,
    OPENAI_API_KEY,
    BRAVE_API_KEY,
    config.search?.apiKey,
    config.speech?.apiKey,
    ...[...config.hooks.values(), ...config.webhooks.values()].map(({ secret }) => secret),
    TRANSCRIPTION_API_KEY,
    ...Object.values(readHeaders(config.env.OTEL_EXPORTER_OTLP_HEADERS)),
    ...config.modelServers.map(({ apiKey }) => apiKey),
    ...config.mcpServers.flatMap(({ secrets }) => secrets),
    ...config.plugins.flatMap(({ secrets }) => secrets),
    passwordOf(DATABASE_URL),
    DATABASE_PASSWORD,
    passwordOf(OLLAMA_HOST),
    ...natsSecrets(NATS_URL),
  ];
  return {
    secrets: [
      ...secrets.flatMap((secret) => secret || []),
      ...config.channels.flatMap(({ secrets }) => secrets),
    ],
    shapes: config.channels.flatMap(({ secretShapes }) => secretShapes),
  };
}

/** What the networks are called, and how a command is written in each. */
export function networksOf({ channels }: Config) {
  const writeCommand = (name: string, { channel, threadId }: Recipient): string =>
    (channels.find((one) => one.name === channel)?.writeCommand ?? withSlash)(name, { threadId });
  return {
    labelOf: (name: string) => channels.find((channel) => channel.name === name)?.label,
    writeCommand,
    /** Those that are on. */
    networks: channels
      .filter(({ isOn }) => isOn)
      .map(({ name, label }) => ({
        name,
        label,
        writeCommand: (command: string) => writeCommand(command, { channel: name }),
      })),
  };
}
