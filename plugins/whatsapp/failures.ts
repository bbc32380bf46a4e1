/** What the Graph API refuses, as the gateway understands it. [Cloud API: "Error codes"] */
import * as z from 'zod';
import type { PluginFailure } from '../../src/protocol/plugin.ts';

type Code = PluginFailure['code'];
type Details = Pick<PluginFailure, 'retryAfterMs'> & { cause?: unknown; graphCode?: number };

/** A failure in the gateway's words; `graphCode` is the number of the Graph API. */
export class GraphFailure extends Error implements PluginFailure {
  readonly code: Code;
  readonly retryAfterMs: number | undefined;
  readonly graphCode: number | undefined;

  constructor(code: Code, message: string, { retryAfterMs, graphCode, cause }: Details = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.retryAfterMs = retryAfterMs;
    this.graphCode = graphCode;
  }
}

/** More than 24 hours have passed since the person wrote ("Re-engagement message"). */
export const WINDOW_CLOSED = 131_047;
/** Too many messages to one person ("pair rate limit"), and too many of the number ("throughput"). */
const PAIR_LIMIT = 131_056;
const THROUGHPUT_LIMIT = 130_429;

export const WINDOW_HINT =
  'More than 24 hours have passed since this person last wrote, and then WhatsApp accepts only approved templates. Set WHATSAPP_TEMPLATE to the name of one: the person gets it, and the answer as soon as they reply.';

const TOKEN =
  'WhatsApp refuses the access token: make a permanent one for a system user, and set WHATSAPP_TOKEN.';
const PERMISSION =
  'The access token may not use this phone number: give its system user the WhatsApp account and the permission whatsapp_business_messaging.';
const LIMIT = 'WhatsApp asks for a pause.';

/** Waits in milliseconds after a limit for which the API names no time. */
const APP_LIMIT_MS = 60_000;
const SPAM_LIMIT_MS = 600_000;
/** "Retry after 4^X seconds": X is the number of refusals in a row. */
const BACKOFF = 4;
const MAX_DOUBLINGS = 4;

const MEANINGS: Readonly<Record<number, [Code, string, waitMs?: number]>> = {
  0: ['unauthorized', TOKEN],
  190: ['unauthorized', TOKEN],
  3: ['unauthorized', PERMISSION],
  10: ['unauthorized', PERMISSION],
  131005: ['unauthorized', PERMISSION],
  1: ['unavailable', 'WhatsApp has an error of its own.'],
  2: ['unavailable', 'WhatsApp is not available right now.'],
  131000: ['unavailable', 'WhatsApp has an error of its own.'],
  131016: ['unavailable', 'WhatsApp is not available right now.'],
  131057: ['unavailable', 'WhatsApp is maintaining the account of the bot.'],
  133004: ['unavailable', 'WhatsApp is not available right now.'],
  4: ['rate_limited', LIMIT, APP_LIMIT_MS],
  80007: ['rate_limited', LIMIT, APP_LIMIT_MS],
  131048: [
    'rate_limited',
    'WhatsApp limits this number because people blocked or reported it: look at its quality in the WhatsApp Manager.',
    SPAM_LIMIT_MS,
  ],
  368: ['rejected', 'Meta has blocked the account of the bot: the WhatsApp Manager says why.'],
  131031: ['rejected', 'Meta has locked the account of the bot: the WhatsApp Manager says why.'],
  131042: ['rejected', 'The account of the bot has a problem with its payment: see the WhatsApp Manager.'],
  131037: ['rejected', 'The display name of the number is not approved yet: see the WhatsApp Manager.'],
  131045: ['rejected', 'The phone number is not registered for the Cloud API.'],
  133010: ['rejected', 'The phone number is not registered for the Cloud API.'],
  131030: [
    'rejected',
    'A test number of Meta writes only to the people on its list: add this one under API Setup.',
  ],
  131026: [
    'blocked',
    'WhatsApp cannot deliver to this person: they may not be on WhatsApp, or have blocked the bot.',
  ],
  131050: ['blocked', 'This person does not want messages of this business.'],
  130497: ['blocked', 'WhatsApp does not let this business write to people in that country.'],
  131047: ['rejected', WINDOW_HINT],
  131053: ['rejected', 'WhatsApp does not accept this file.'],
};

const Refusal = z.object({
  error: z.object({
    code: z.number(),
    message: z.string().catch(''),
    error_data: z
      .object({ details: z.string().optional().catch(undefined) })
      .optional()
      .catch(undefined),
  }),
});

/** Usage of an account, in a header: how many minutes until it may call again ("Business use case rate limits"). */
const Usage = z.record(
  z.string(),
  z.array(z.object({ estimated_time_to_regain_access: z.number().catch(0) })),
);

/** How often in a row each person, or the whole number, was refused. */
export class RefusalCounts {
  readonly #counts = new Map<string, number>();

  next(key: string): number {
    const count = this.#counts.get(key) ?? 0;
    if (this.#counts.size > 1_000) this.#counts.clear();
    this.#counts.set(key, count + 1);
    return 1_000 * BACKOFF ** Math.min(count, MAX_DOUBLINGS);
  }

  clear(key: string): void {
    this.#counts.delete(key);
  }
}

/** Turns an answer that is no success into a failure. `chatId` is whom the call was for. */
export function toFailure(
  status: number,
  headers: Headers,
  body: string,
  { counts, chatId = '' }: { counts: RefusalCounts; chatId?: string | undefined },
): GraphFailure {
  const { data } = Refusal.safeParse(parse(body));
  if (data === undefined)
    return status === 404
      ? new GraphFailure('rejected', 'WhatsApp does not have this.', { graphCode: 404 })
      : new GraphFailure('unavailable', `WhatsApp answered with status ${status}.`);
  const { code: graphCode, message, error_data: more } = data.error;
  if (graphCode === PAIR_LIMIT || graphCode === THROUGHPUT_LIMIT) {
    const retryAfterMs = counts.next(graphCode === PAIR_LIMIT ? chatId : '');
    return new GraphFailure('rate_limited', LIMIT, { retryAfterMs, graphCode });
  }
  const [code, text, waitMs] = MEANINGS[graphCode] ?? unlisted(graphCode, status, more?.details ?? message);
  const retryAfterMs = waitMs && Math.max(waitMs, announcedWaitMs(headers));
  return new GraphFailure(code, text, { retryAfterMs, graphCode });
}

function unlisted(code: number, status: number, details: string): [Code, string] {
  if (code >= 200 && code < 300) return ['unauthorized', PERMISSION];
  if (status >= 500) return ['unavailable', 'WhatsApp has an error of its own.'];
  // Invalid parameters: what is replied to may be gone, or too old.
  if ((code === 100 || code === 131009) && /context|replied|reply/i.test(details))
    return ['place_gone', 'WhatsApp no longer has the message that this replies to.'];
  return ['rejected', `WhatsApp refuses this (error ${code}): ${withoutNumbers(details).slice(0, 300)}`];
}

function announcedWaitMs(headers: Headers): number {
  const { data = {} } = Usage.safeParse(parse(headers.get('x-business-use-case-usage') ?? ''));
  const minutes = Object.values(data)
    .flat()
    .map((usage) => usage.estimated_time_to_regain_access);
  return 60_000 * Math.max(0, ...minutes);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Pages of proxies are no JSON: whoever asked checks what they get.
    return undefined;
  }
}

/** A text of the API for people and the log: no phone number in it is whole. */
export function withoutNumbers(text: string): string {
  return text.replaceAll(/\d{5,}(?=\d{2})/g, '…');
}

/** A person for the log: the last two digits. */
export function maskedId(id: string): string {
  return `…${id.slice(-2)}`;
}
