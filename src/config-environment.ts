/** The environment variables of the gateway, with their rules and what they mean. */
import { z } from 'zod';
import type { ChannelManifest } from './protocol/channel.ts';
import { ownToken } from './security/index.ts';

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
      '`trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`; how much the [log](operating.md#log) holds',
    ),
  GATEWAY_HOME: z
    .string()
    .min(1)
    .default('./.parley')
    .describe('folder for all data: `config.json`, database, workspaces, profiles'),
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
