/** `webhooks` of config.json: which programs are notified of what. */
import { z } from 'zod';
import { WEBHOOK_EVENTS, type WebhookEvent } from '../../protocol/operator/webhooks.ts';

/** Maximum number of outbound webhooks of one gateway. */
const MAX_WEBHOOKS = 20;
const NAME = /^[a-z0-9][a-z0-9-]{0,39}$/;
/** Shorter ones can be guessed from one signed request. */
const MIN_SECRET_CHARS = 16;
/** Maximum number of sessions that one webhook names. */
const MAX_SESSIONS = 100;

const webhookRule = z.strictObject({
  url: z
    .url({ protocol: /^https?$/, error: 'must be an http or https address' })
    .max(2_048)
    .refine((url) => {
      const parsed = URL.parse(url);
      return parsed === null || (parsed.username === '' && parsed.password === '');
    }, 'must hold no user name and no password: the receiver checks the signature')
    .describe('where events are posted'),
  events: z
    .array(
      z.enum(
        WEBHOOK_EVENTS.filter((name) => name !== 'webhook_added'),
        {
          error: 'must be "message_received", "turn_ended", "approval_needed" or "approval_decided"',
        },
      ),
    )
    .min(1)
    .describe('which: `message_received`, `turn_ended`, `approval_needed`, `approval_decided`'),
  secretEnv: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable')
    .describe('the environment variable with the secret that posts are signed with, at least 16 characters'),
  sessions: z
    .array(z.string().min(1).max(200))
    .min(1)
    .max(MAX_SESSIONS)
    .optional()
    .describe('only these sessions; `http:team-*` = all that begin so'),
  content: z.boolean().default(false).describe('post the texts of messages and answers, too'),
  private: z
    .boolean()
    .default(false)
    .describe('the address may be on this machine or in a private network, and have any port'),
});

/** `webhooks` in `config.json`. */
export const webhooksRule = z
  .record(z.string().regex(NAME, 'a webhook is named with a-z, 0-9 and "-"'), webhookRule)
  .refine((webhooks) => Object.keys(webhooks).length <= MAX_WEBHOOKS, `at most ${MAX_WEBHOOKS} webhooks`)
  .default({});

/** One webhook with its secret. */
export interface Webhook extends Omit<z.output<typeof webhookRule>, 'secretEnv' | 'events'> {
  events: readonly WebhookEvent[];
  secret: string;
}

/** The webhooks by name. `errors` are sentences that begin with the field; none repeats a value. */
export function configureWebhooks(
  file: z.output<typeof webhooksRule>,
  env: Readonly<Record<string, string | undefined>>,
): { webhooks: ReadonlyMap<string, Webhook>; errors: string[] } {
  const webhooks = new Map<string, Webhook>();
  const errors: string[] = [];
  for (const [name, { secretEnv, ...rest }] of Object.entries(file)) {
    const secret = env[secretEnv];
    if (secret === undefined)
      errors.push(`webhooks.${name}.secretEnv: the environment variable ${secretEnv} is not set`);
    else if (secret.length < MIN_SECRET_CHARS)
      errors.push(`${secretEnv}: must have at least ${MIN_SECRET_CHARS} characters`);
    else webhooks.set(name, { ...rest, secret });
  }
  return { webhooks, errors };
}

/** Whether the webhook is notified of this; always true for `webhook_added`. */
export function wants(
  { events, sessions }: Pick<Webhook, 'events' | 'sessions'>,
  { type, sessionKey = '' }: { type: WebhookEvent; sessionKey?: string | undefined },
): boolean {
  if (type === 'webhook_added') return true;
  if (!events.includes(type)) return false;
  return (
    sessions === undefined ||
    sessions.some((named) =>
      named.endsWith('*') ? sessionKey.startsWith(named.slice(0, -1)) : named === sessionKey,
    )
  );
}
