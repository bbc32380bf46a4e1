/** The configuration: environment and `$GATEWAY_HOME/config.json` in one frozen object; every fault is reported at once. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import type { ChannelAccess } from './contracts/access.ts';
import { ConfigError } from './contracts/errors.ts';
import { isTimeZone } from './lib/time-zone.ts';
import type { Address } from './contracts/message.ts';
import { MODES } from './contracts/plan.ts';
import { SESSION_START } from './contracts/records.ts';

const platformId = z
  .union([z.string(), z.int().transform(String)])
  .refine((id) => /^-?\d{1,20}$/.test(id), 'must be a numeric id (names can be taken over by others)');

const channelAccess = z.strictObject({
  dm: z.enum(['pairing', 'allowlist', 'open']).default('pairing'),
  allow: z.array(platformId).default([]),
  groups: z
    .record(z.string().regex(/^-?\d{1,20}$/), z.strictObject({ mention: z.boolean().default(true) }))
    .default({}),
});

const providerSettings = z.strictObject({ concurrency: z.int().min(1).max(1_024).default(32) });

/** `config.json`. */
export const fileSchema = z.strictObject({
  access: z
    .strictObject({
      telegram: channelAccess.prefault({}),
      discord: channelAccess.prefault({}),
      owners: z
        .strictObject({ telegram: z.array(platformId).default([]), discord: z.array(platformId).default([]) })
        .prefault({}),
    })
    .prefault({}),
  http: z
    .strictObject({
      allowedOrigins: z.array(z.url()).default([]),
      allowedHosts: z.array(z.string().min(1)).default([]),
    })
    .prefault({}),
  providers: z
    .strictObject({
      ollama: providerSettings.prefault({}),
      openai: providerSettings.extend({ stream: z.boolean().default(true) }).prefault({}),
    })
    .prefault({}),
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
      session: z.templateLiteral([z.string().regex(/^[a-z]+$/), ':', z.string().min(1)]).optional(),
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
const PORT = { error: 'must be a port, 0 to 65535; 0 = any free one' };
const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' });
const botToken = z.string().regex(/^\d+:.+$/s, 'must look like <digits>:<secret>, as @BotFather gives it');

/** The environment; anything else in it is not ours. */
export const environmentSchema = z.object({
  PORT: z.coerce.number(PORT).int(PORT).min(0, PORT).max(65_535, PORT).default(8_080),
  HOST: z.string().min(1).default('127.0.0.1'),
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
    .refine((model) => model !== '' && model !== 'openai/', 'must name a model')
    .optional(),
  TELEGRAM_BOT_TOKEN: botToken.optional(),
  TELEGRAM_API_ROOT: httpUrl.optional(),
  DISCORD_BOT_TOKEN: z.string().min(1).optional(),
  DISCORD_API_ROOT: httpUrl.optional(),
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

export type FileConfig = z.infer<typeof fileSchema>;
export type EnvironmentConfig = z.infer<typeof environmentSchema>;

export interface Config extends FileConfig {
  env: EnvironmentConfig;
  /** Absolute path of `GATEWAY_HOME`. */
  home: string;
  /** `OLLAMA_HOST` is set, not only assumed. */
  namesOllama: boolean;
  /** Things that work but should be mended, for the log. */
  warnings: string[];
}

/** Reads both sources. Throws one `ConfigError` that lists every fault by the name of its variable or field. */
export function loadConfig(environment: Record<string, string | undefined>): Config {
  const faults: string[] = [];
  const warnings: string[] = [];
  const set = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  );
  const env = environmentSchema.safeParse(set);
  if (!env.success) faults.push(...describe(env.error, ''));
  const home = path.resolve(environment['GATEWAY_HOME'] || './.parley');
  const file = path.join(home, 'config.json');
  const content = readConfigFile(file, faults, warnings);
  const parsed = fileSchema.safeParse(content);
  if (!parsed.success) faults.push(...describe(parsed.error, `${file}: `));
  else if (
    env.success &&
    parsed.data.heartbeat.everyMinutes > 0 &&
    !heartbeatAddress(parsed.data, env.data)
  ) {
    faults.push(
      `${file}: heartbeat.session: must say where the heartbeat speaks, such as "discord:<channel id>"`,
    );
  }
  if (!env.success || !parsed.success || faults.length > 0) {
    throw new ConfigError(
      'bad_config',
      `The configuration cannot be used:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`,
    );
  }
  return Object.freeze({
    ...parsed.data,
    env: { ...env.data, OLLAMA_HOST: withScheme(env.data.OLLAMA_HOST) },
    home,
    namesOllama: set['OLLAMA_HOST'] !== undefined,
    warnings,
  });
}

function readConfigFile(file: string, faults: string[], warnings: string[]): unknown {
  if (!existsSync(file)) return {};
  try {
    if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0) {
      warnings.push(`${file} can be read by other users of this machine; run: chmod 600 ${file}`);
    }
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    faults.push(`${file}: ${error instanceof Error ? error.message : String(error)}`);
    return {};
  }
}

/** One line per fault: where, what; never the value, which may be a secret. */
function describe(error: z.ZodError, prefix: string): string[] {
  return error.issues.map((issue) => `${prefix}${issue.path.join('.') || 'the file'}: ${issue.message}`);
}

/** Ollama's own variable often has no scheme: `127.0.0.1:11434`. */
function withScheme(host: string): string {
  return /^https?:\/\//.test(host) ? host : `http://${host}`;
}

/** The access rules of a channel; undefined for channels without people of their own. */
export function accessOf(config: Config, channel: string): ChannelAccess | undefined {
  if (channel !== 'telegram' && channel !== 'discord') return undefined;
  return { ...config.access[channel], owners: config.access.owners[channel] };
}

/** Where the heartbeat speaks: the configured place, else the first Telegram owner's private chat, whose id is the owner's. */
function heartbeatAddress(
  { heartbeat, access }: Pick<FileConfig, 'heartbeat' | 'access'>,
  env: Pick<EnvironmentConfig, 'TELEGRAM_BOT_TOKEN'>,
): Address | undefined {
  const [owner] = access.owners.telegram;
  if (heartbeat.session !== undefined) return heartbeat.session;
  return owner === undefined || env.TELEGRAM_BOT_TOKEN === undefined ? undefined : `telegram:${owner}`;
}

/** What runs by the clock: the time zone (undefined = the machine's) and the heartbeat (undefined = none). */
export function clockOf(config: Config): {
  timeZone: string | undefined;
  heartbeat: { everyMs: number; address: Address; file: string } | undefined;
} {
  const { timeZone } = config.schedules;
  const address = heartbeatAddress(config, config.env);
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

/** Every secret of the configuration, for the log's redactor. */
export function secretsOf(config: Config): string[] {
  const {
    GATEWAY_TOKEN,
    TELEGRAM_BOT_TOKEN,
    DISCORD_BOT_TOKEN,
    OPENAI_API_KEY,
    BRAVE_API_KEY,
    DATABASE_URL,
  } = config.env;
  const password = DATABASE_URL === undefined ? undefined : URL.parse(DATABASE_URL)?.password;
  return [
    GATEWAY_TOKEN,
    TELEGRAM_BOT_TOKEN,
    DISCORD_BOT_TOKEN,
    OPENAI_API_KEY,
    BRAVE_API_KEY,
    password && decodeURIComponent(password),
  ].filter((secret): secret is string => secret !== undefined && secret !== '');
}
