/** What may be configured: the environment variables, and the fields of `config.json`, of the gateway itself and of the given channels. */
import path from 'node:path';
import { z } from 'zod';
import { profileSchema } from './protocol/agent/profile.ts';
import { accessRules, ownersRule } from './protocol/access.ts';
import type { ChannelManifest } from './protocol/channel.ts';
import { MODES } from './protocol/agent/plan.ts';
import { backupRule, retentionRule } from './protocol/operator/backup.ts';
import { pricesRule } from './protocol/agent/usage.ts';
import { proxySignInRule } from './protocol/operator/sign-in.ts';
import { SCHEDULE_LIMITS } from './protocol/schedules.ts';
import { SESSION_START } from './protocol/store/records.ts';
import { AUTO, LANGUAGE_CODE } from './protocol/texts/languages.ts';
import { webhooksRule } from './delivery/index.ts';
import { bindingsRule, hooksRule, limitsRule } from './intake/index.ts';
import { mcpRule } from './mcp/settings.ts';
import { mediaRule, speechRule, transcriptionRule } from './media/index.ts';
import { isTimeZone } from './lib/clock.ts';
import { kindsWith } from './plugin-setup.ts';
import { type InstalledPlugin, pluginsRule } from './plugins/index.ts';
import { providerKinds } from './providers/index.ts';
import { providersSchemaFor } from './providers/servers.ts';
import { ownToken } from './security/index.ts';
import { searchRule } from './tools/web/search/services.ts';

const SECONDS = { error: 'must be a number of seconds above 0, at most 86400' };
const seconds = (fallback: number) =>
  z.coerce.number(SECONDS).positive(SECONDS).max(86_400, SECONDS).default(fallback);
const apiKey = z.string().regex(/^[\x21-\x7e]+$/, 'may hold only visible ASCII characters');
const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' });

/** The environment variables that belong to no channel; all others are ignored. */
export const gatewayEnvironment = z.object({
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
    .default('info')
    .describe(
      '`trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`; how much the [log](monitoring.md#log) holds',
    ),
  GATEWAY_HOME: z
    .string()
    .min(1)
    .optional()
    .describe(
      'folder for all data: `config.json`, database, workspaces, profiles; unset = `.parley` in the working folder where that exists, else `~/.parley`',
    ),
  GATEWAY_TOKEN: ownToken
    .optional()
    .describe(
      'an admin token of your own choice instead of the generated one: random, at least 32 characters, 10 of them different (`openssl rand -hex 32`); changing or removing it revokes the previous token at the next start',
    ),
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must begin with postgres://')
    .optional()
    .describe('`postgres://…` (15 or later); unset = the embedded database in `GATEWAY_HOME`'),
  DATABASE_PASSWORD: z
    .string()
    .min(1)
    .max(1_000)
    .optional()
    .describe(
      'password for `DATABASE_URL`, which must then contain none; written as it is, without percent-encoding',
    ),
  NATS_URL: z
    .string()
    .min(1)
    .optional()
    .describe('carries live events between several gateways on one Postgres; unset = Postgres carries them'),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl
    .optional()
    .describe(
      'address of an OpenTelemetry collector (OTLP over HTTP), such as `http://127.0.0.1:4318`: turns are sent to it as traces, without texts; unset = nothing is loaded or sent',
    ),
  OTEL_EXPORTER_OTLP_HEADERS: z
    .string()
    .max(4_000)
    .optional()
    .describe('headers of these requests, such as `authorization=Bearer%20…`; several with commas'),
  OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: z
    .enum(['true', 'false'])
    .default('false')
    .describe(
      '`true` sends prompts with the traces: the newest one of each attempt, shortened and without configured secrets. Anyone who can read the collector can then read conversations',
    ),
  OLLAMA_HOST: z.string().min(1).default('http://127.0.0.1:11434').describe('address of Ollama'),
  OPENAI_BASE_URL: httpUrl
    .optional()
    .describe(
      'any OpenAI-compatible server (llama-server, vLLM, …), instead of Ollama or in addition to it: base address of its API, usually ending in `/v1`',
    ),
  OPENAI_API_KEY: apiKey
    .optional()
    .describe('its key, if it needs one; without an address, the key of OpenAI itself'),
  MODEL: z
    .string()
    .refine((model) => !model.endsWith('/'), 'must name a model')
    .optional()
    .describe(
      'name of the default model, see [Model servers](#model-servers); unset = the first chat model of the server that `OPENAI_BASE_URL` names, else of the default server, which is kept while it exists',
    ),
  BRAVE_API_KEY: z
    .string()
    .min(1)
    .max(200)
    .regex(/^[\x21-\x7e]+$/, 'may hold no spaces or letters beyond ASCII')
    .optional()
    .describe(
      "key of Brave's search API; unless `search` names a service, it also switches [web search](#web-search) on",
    ),
  BRAVE_API_ROOT: httpUrl.default('https://api.search.brave.com').describe('address of that API'),
  TRANSCRIPTION_API_KEY: apiKey.optional().describe('key for the server of `transcription` in `config.json`'),
  LLM_STREAM_FIRST_CHUNK_TIMEOUT: seconds(120).describe(
    'seconds a model may be silent before its first token',
  ),
  LLM_STREAM_CHUNK_TIMEOUT: seconds(60).describe('seconds it may be silent between two tokens'),
});

/** The environment with the variables of the given channels; all others are ignored. */
export function environmentSchemaFor(channels: readonly ChannelManifest[]) {
  const variables = channels.flatMap(({ env }) => Object.entries(env.shape));
  return z.object({ ...gatewayEnvironment.shape, ...Object.fromEntries(variables) });
}

export type EnvironmentConfig = z.infer<ReturnType<typeof environmentSchemaFor>>;

const scheduleLimit = (fallback: number) => z.int().min(1).max(100_000).default(fallback);

/** The fields of `config.json` that belong to no channel. */
export const gatewayFile = z.strictObject({
  $schema: z
    .string()
    .max(2_000)
    .optional()
    .describe(
      '`./config.schema.json`, which the gateway writes next to the file: editors complete and check with it',
    ),
  providers: providersSchemaFor(providerKinds),
  tools: z
    .strictObject({
      // Checked against the list of tools once it is made.
      enabled: z
        .array(z.string().min(1))
        .optional()
        .describe(
          '[tools](tools.md) of the default profile; unset = `list_dir`, `read_file`, `write_file`, `edit_file`, `web_fetch`, `memory`, `cron`, `spawn_agent`, `message`, and `web_search` where search is set up',
        ),
      exec: z
        .boolean()
        .default(false)
        .describe("gives the tool `exec` its sandbox (bubblewrap, no network, the session's folder only)"),
      ports: z
        .array(z.int().min(1).max(65_535))
        .max(100)
        .default([])
        .describe('ports `web_fetch` may reach besides 80 and 443; addresses must be public either way'),
    })
    .prefault({}),
  search: searchRule.optional(),
  approvals: z
    .strictObject({
      expireMinutes: z
        .int()
        .min(1)
        .max(1_440)
        .default(60)
        .describe('how long a dangerous tool call waits for a person; without an answer it is not run'),
      escalateMinutes: z
        .int()
        .min(0)
        .max(1_440)
        .default(5)
        .describe(
          "after how long a request in a group, on the web or of a schedule also goes to an owner's private chat, and then to the next owner's; `0` = never",
        ),
      answerMinutes: z
        .int()
        .min(1)
        .max(10_080)
        .default(240)
        .describe(
          'how long a [question to another person](chatting.md#questions-to-other-people) waits for the answer',
        ),
    })
    .prefault({}),
  schedules: z
    .strictObject({
      timeZone: z
        .string()
        .refine(isTimeZone, 'must be a time zone such as Europe/Berlin, or UTC')
        .optional()
        .describe(
          "IANA name, such as `Europe/Berlin`, in which cron expressions and times are read where they name none; unset = the machine's",
        ),
      perSession: scheduleLimit(SCHEDULE_LIMITS.perSession).describe('schedules that one chat may have'),
      perUser: scheduleLimit(SCHEDULE_LIMITS.perUser).describe(
        'schedules that one person or token may have, across all chats',
      ),
      total: scheduleLimit(SCHEDULE_LIMITS.total).describe(
        'schedules in total; the last tenth is reserved for owners',
      ),
    })
    .prefault({}),
  limits: limitsRule.prefault({}),
  language: z
    .string()
    .refine(
      (code) => code === AUTO || LANGUAGE_CODE.test(code),
      'must be auto, or a code such as de or pt-BR',
    )
    .default(AUTO)
    .describe(
      'language in which the gateway itself speaks to people: `auto` = the language of each person’s app, else `en`, `de`, or one of the files in `languages/`; a person’s `/language` takes precedence',
    ),
  bindings: bindingsRule.describe('which profile and model answer where, see [Bindings](#bindings)'),
  mcp: mcpRule,
  plugins: pluginsRule([]).describe('settings of installed [plug-ins](plugins.md), by name'),
  media: mediaRule.prefault({}),
  heartbeat: z
    .strictObject({
      everyMinutes: z
        .int()
        .min(0)
        .max(10_080)
        .default(0)
        .describe('interval of the [heartbeat](schedules.md#heartbeat); 0 = never'),
      session: z
        .templateLiteral([z.string().regex(/^[a-z][a-z0-9]*$/), ':', z.string().min(1)])
        .optional()
        .describe(
          'the chat where it writes, `<channel>:<chat id>`; unset = the private chat of the first owner',
        ),
    })
    .prefault({}),
  transcription: transcriptionRule.optional(),
  speech: speechRule.optional(),
  hooks: hooksRule.describe('programs that call `POST /v1/hooks/<name>`'),
  webhooks: webhooksRule.describe('programs that are notified of events, by a signed POST'),
  afterTurn: z
    .strictObject({
      compression: z
        .boolean()
        .default(true)
        .describe(
          'summarize a long conversation after a turn; `false` = only before a turn that is too long',
        ),
      facts: z
        .boolean()
        .default(true)
        .describe('when a conversation was summarized, keep lasting facts about its user in the memory'),
      title: z
        .boolean()
        .default(true)
        .describe('give each chat a title after its first answer, with one small call of its model'),
    })
    .prefault({}),
  memory: z
    .strictObject({
      embeddingModel: z
        .string()
        .min(1)
        .max(200)
        .optional()
        .describe(
          'embedding model, such as `nomic-embed-text` or `openai/text-embedding-3-small`: memories are then found by meaning, too; unset = by words',
        ),
    })
    .prefault({}),
  prices: pricesRule.prefault({}).describe('what models cost, for traces and usage'),
  proxySignIn: proxySignInRule
    .optional()
    .describe('signs people in on the page whom an identity proxy has let in; unset = off'),
  retention: retentionRule.prefault({}),
  backup: backupRule.prefault({}),
  persona: z.string().max(20_000).optional().describe('who the bot is: the first part of its system prompt'),
  turns: z
    .strictObject({
      concurrency: z.int().min(1).max(4_096).default(256).describe('concurrent turns of this gateway'),
      mode: z
        .enum(MODES)
        .default(SESSION_START.mode)
        .describe(
          'how plans are followed in new chats: `planner`, `teacher` or `agentic`, see [Modes](profiles-and-planning.md#modes)',
        ),
      queueMode: z
        .enum(['queue', 'steer', 'interrupt', 'collect'])
        .default(SESSION_START.queueMode)
        .describe(
          'how messages that arrive during an answer are handled in new chats: `queue`, `steer`, `interrupt` or `collect`, see [Chatting](chatting.md#commands)',
        ),
    })
    .prefault({}),
});

/** `config.json` with the fields of the given channels and plug-ins. */
export function fileSchemaFor(
  channels: readonly ChannelManifest[],
  plugins: readonly InstalledPlugin[] = [],
) {
  const withIds = channels.flatMap(({ name, ids }) => (ids === undefined ? [] : [{ name, ids }]));
  const rules = withIds.map(({ name, ids }) => [name, accessRules(ids).prefault({})] as const);
  const owners = withIds.map(({ name, ids }) => [name, ownersRule(ids)] as const);
  const settings = channels.map(({ name, settings: schema }) => [name, schema.prefault({})] as const);
  return z.strictObject({
    access: z
      .strictObject({
        ...Object.fromEntries(rules),
        owners: z.strictObject(Object.fromEntries(owners)).prefault({}),
      })
      .prefault({}),
    channels: z.strictObject(Object.fromEntries(settings)).prefault({}),
    ...gatewayFile.shape,
    ...(plugins.length > 0 && {
      plugins: pluginsRule(plugins).describe(gatewayFile.shape.plugins.description ?? ''),
      providers: providersSchemaFor(kindsWith(plugins)),
    }),
  });
}

export type GatewayFile = z.infer<typeof gatewayFile>;

/** The files in a home that tell editors what people may write, by path. */
export function schemaFiles(
  home: string,
  channels: readonly ChannelManifest[],
  plugins: readonly InstalledPlugin[],
) {
  return {
    [path.join(home, 'config.schema.json')]: () => fileSchemaFor(channels, plugins),
    [path.join(home, 'profile.schema.json')]: () => profileSchema,
  };
}
