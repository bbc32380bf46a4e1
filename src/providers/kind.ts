/** A kind of model server: what `config.json` may say about one, and how its provider is made. */
import { z } from 'zod';
import { variableName } from '../protocol/settings.ts';
import type { LLMProvider } from '../protocol/agent/provider.ts';
import type { PlainKey } from '../protocol/texts/say.ts';

/** Concurrent calls to one server when nothing else is set. */
export const DEFAULT_CONCURRENCY = 32;

interface ServerAddress {
  baseUrl: string;
  /** Sent as a bearer token; undefined sends none. */
  apiKey?: string | undefined;
  /** Names the setting that holds the address, for error messages. */
  addressSetting: string;
  /** Names the setting that holds the key, for error messages. */
  keySetting: string;
}

/** What every provider is made from, regardless of its kind. */
export interface ServerOptions extends ServerAddress {
  /** Name of the provider: its models are called `<name>/<model>`. */
  name: string;
  /** Calls that may run at once; further ones wait, fairly across sessions. */
  concurrency?: number;
  /** Monotonic milliseconds, for the age of what was discovered. */
  monotonicNow?: () => number;
  /** Recent event loop delay in milliseconds: while it is high, packets of an answer are joined. Absent: they never are. */
  loopDelayMs?: () => number;
  /** How long a complete answer is waited for that has not ended yet, in milliseconds. */
  usageWaitMs?: number;
  /** How long the server may take to list its models and say what one can do, in milliseconds. */
  answerWithinMs?: number;
}

/** A server as the environment names it. */
export interface EnvironmentServer extends ServerAddress {
  /** False: no variable names the server, the address is only assumed. */
  named: boolean;
}

/** The environment, without variables that are empty. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** How the environment names one server of a kind: the provider that has the kind's own name. */
interface EnvironmentRule {
  /** Completes "set …" for a user who asks for such a model while no server is configured. */
  needs: PlainKey;
  /** The server that the environment names; undefined when it names none. */
  read(env: Environment): EnvironmentServer | undefined;
}

/** One line of the list in `index.ts`. */
export interface ProviderKind {
  readonly kind: string;
  readonly settings: z.ZodObject;
  readonly environment?: EnvironmentRule;
  /**
   * Loads the kind's code and makes a provider, which connects with its first call; the kind's schema read `settings`.
   * Throws `ConfigError` when the address cannot be used.
   */
  create(server: ServerOptions, settings: Record<string, unknown>): Promise<LLMProvider>;
}

/** The fields that every kind has; a kind extends them. */
export function settingsFor<Kind extends string>(kind: Kind) {
  return z.strictObject({
    kind: z.literal(kind).describe('kind of server: `ollama`, or `openai` for any OpenAI-compatible one'),
    baseUrl: z
      .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
      .refine(withoutCredentials, 'must hold no user or password: name the variable of a key in apiKeyEnv')
      .optional()
      .describe('address of the server; for `openai` the one where its API begins, usually ending in `/v1`'),
    apiKeyEnv: variableName()
      .optional()
      .describe('environment variable that holds the key of the server; the key itself is never in the file'),
    concurrency: z
      .int()
      .min(1)
      .max(1_024)
      .default(DEFAULT_CONCURRENCY)
      .describe('concurrent calls to the server; further ones wait, and sessions take turns'),
  });
}

function withoutCredentials(url: string): boolean {
  const parsed = URL.parse(url);
  return parsed === null || (parsed.username === '' && parsed.password === '');
}

/** Makes a kind whose settings keep their types on the way to `create`. */
export function defineKind<Settings extends z.ZodObject>(kind: {
  kind: string;
  settings: Settings;
  environment?: EnvironmentRule;
  create: (server: ServerOptions, settings: z.output<Settings>) => Promise<LLMProvider>;
}): ProviderKind {
  return { ...kind, create: (server, values) => kind.create(server, kind.settings.parse(values)) };
}
