/** Messages that do not become turns: logged, and counted for people who ask why there was no answer. */
import type { DenialDetail, Verdict } from '../protocol/access.ts';
import type { Log } from '../protocol/log.ts';
import { addressOf, type InboundMessage } from '../protocol/message.ts';
import type { Receipt } from '../protocol/receive.ts';
import type { NoteRefusal } from '../protocol/store/traces.ts';
import type { Say } from '../protocol/texts/say.ts';
import { GatewayError, wordError } from '../protocol/errors.ts';
import { type RateVerdict, REFUSALS_REPORTED } from './limits/rate-limiter.ts';
import { PARLEY } from '../protocol/texts/parley.ts';

export type Refusal = Extract<Receipt, { kind: 'refused' }>;

interface RefusalDeps {
  log: Log;
  noteRefusal: NoteRefusal;
}

/**
 * Logs a refusal, and counts it for people who ask why there was no answer; over HTTP the client has already been
 * notified. Never throws.
 */
export function noteRefused(
  { log, noteRefusal }: RefusalDeps,
  message: InboundMessage,
  { code, why }: Refusal,
): void {
  const { channel, chatId, senderId } = message;
  log.info({ channel, chatId, senderId, code, why }, 'message_refused');
  if (channel === 'http') return;
  const silent = why === 'not_mentioned';
  noteRefusal({
    address: addressOf(message),
    senderId,
    code: silent ? why : code,
    detail: why === undefined || silent ? '' : DENIALS[why],
  });
}

const DENIALS: Record<Exclude<DenialDetail, 'not_mentioned'>, string> = {
  group: `the group has no grant (${PARLEY} pair group)`,
  codes: 'a code was given in the last hour, or too many wait',
  bot: 'it was written by a bot in a private chat',
};

/** Refuses a sender who has no access, or asks for pairing. */
export function refuseSender(verdict: Exclude<Verdict, { kind: 'allow' | 'observe' }>, say: Say): Refusal {
  const { kind, reply: text } = verdict;
  const code = kind === 'pairing' ? 'pairing' : 'denied';
  const why = kind === 'deny' && verdict.why !== undefined ? { why: verdict.why } : {};
  return text === undefined
    ? { kind: 'refused', code, ...why }
    : { kind: 'refused', code, reply: say.text(text), ...why };
}

/** Refuses a sender who writes too fast. */
export function refuseRate(rate: Extract<RateVerdict, { allowed: false }>, say: Say): Refusal {
  if (rate.refusals > REFUSALS_REPORTED) return { kind: 'refused', code: 'rate_limited' };
  const seconds = Math.ceil(rate.retryAfterMs / 1_000);
  const key = rate.refusals === REFUSALS_REPORTED ? 'refused.too_fast_last' : 'refused.too_fast';
  return { kind: 'refused', code: 'rate_limited', reply: say(key, { seconds }) };
}

/** Refuses with the text of the rule that a check throws; other errors are passed on. */
export async function refuseByRule(say: Say, check: () => Promise<void>): Promise<Refusal | undefined> {
  try {
    await check();
    return undefined;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { code, retryAfterMs } = error;
    if (code === 'forbidden' || code === 'rate_limited' || code === 'planning_off')
      return { kind: 'refused', code, reply: wordError(error, 'operator', say), retryAfterMs };
    throw error;
  }
}
