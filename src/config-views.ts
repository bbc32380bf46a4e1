/** What follows from a configuration: access, clock, limits and secrets. */
import path from 'node:path';
import { type Config, heartbeatAddress } from './config.ts';
import type { ChannelAccess } from './protocol/access.ts';
import type { SecretShape } from './protocol/log.ts';
import type { Address } from './protocol/message.ts';
import { passwordOf } from './lib/connection-url.ts';
import { readHeaders } from './ops/telemetry/index.ts';
import { natsSecrets } from './security/index.ts';

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
  return schedules.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
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
