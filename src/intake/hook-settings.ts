/** Which webhooks there are, and what they do. */
import { z } from 'zod';
import { secretProblem, webhookName } from '../protocol/operator/webhooks.ts';
import { variableName } from '../protocol/settings.ts';
import { type Address, parseAddress } from '../protocol/message.ts';

const MAX_HOOKS = 50;

const hookRule = z.strictObject({
  kind: z
    .enum(['signed', 'github', 'stripe', 'grafana'], {
      error: 'must be "signed", "github", "stripe" or "grafana"',
    })
    .default('signed')
    .describe('how the sender signs; `signed` is the form of docs/http-api.md'),
  secretEnv: variableName().describe(
    'the environment variable with the secret that the sender signs with, at least 16 characters',
  ),
  timestampHeader: z
    .string()
    .regex(/^[A-Za-z0-9-]{1,64}$/, 'must be the name of a header')
    .optional()
    .describe('Grafana only: its setting "Timestamp Header", without which a request has no age'),
  to: z.string().describe('the chat it writes to, such as `http:ops`'),
  task: z
    .string()
    .trim()
    .min(1)
    .max(2_000)
    .optional()
    .describe('what the bot does with the text; without it the chat gets the text itself'),
  text: z
    .string()
    .min(1)
    .max(4_000)
    .optional()
    .describe('the text, with fields of the body: `{{repository.full_name}}`; without it, the whole body'),
});

/** `hooks` in `config.json`. */
export const hooksRule = z
  .record(webhookName, hookRule)
  .refine((hooks) => Object.keys(hooks).length <= MAX_HOOKS, `at most ${MAX_HOOKS} webhooks`)
  .default({});

/** One webhook with its secret. */
export interface Hook extends Omit<z.output<typeof hookRule>, 'secretEnv' | 'to'> {
  secret: string;
  address: Address;
}

/** The settings that name a session which the gateway writes to on its own. */
export interface NamedSessions {
  hooks: ReadonlyMap<string, Pick<Hook, 'address'>>;
  heartbeat: { session?: string | undefined };
}

/** True for a session that the settings name: only admins may use it. */
export function isReserved({ hooks, heartbeat }: NamedSessions, key: string): boolean {
  return heartbeat.session === key || [...hooks.values()].some(({ address }) => address === key);
}

/** The webhooks by name. `errors` are sentences that begin with the field; none repeats a value. */
export function configureHooks(
  file: z.output<typeof hooksRule>,
  env: Readonly<Record<string, string | undefined>>,
  channels: readonly string[],
): { hooks: ReadonlyMap<string, Hook>; errors: string[] } {
  const hooks = new Map<string, Hook>();
  const errors: string[] = [];
  for (const [name, { secretEnv, to, ...rest }] of Object.entries(file)) {
    const secret = env[secretEnv];
    const address = addressIn(to, channels);
    const problem = secretProblem(`hooks.${name}.secretEnv`, secretEnv, secret);
    if (problem !== undefined) errors.push(problem);
    if (address === undefined)
      errors.push(`hooks.${name}.to: must name a chat of a channel that is on, such as "http:ops"`);
    if (secret !== undefined && address !== undefined) hooks.set(name, { ...rest, secret, address });
  }
  return { hooks, errors };
}

function addressIn(text: string, channels: readonly string[]): Address | undefined {
  try {
    const { channel } = parseAddress(text);
    const first = text.indexOf(':');
    return channels.includes(channel) ? `${text.slice(0, first)}:${text.slice(first + 1)}` : undefined;
  } catch {
    // The error names the field.
    return undefined;
  }
}
