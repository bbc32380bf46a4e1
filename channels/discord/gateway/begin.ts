/** Where a new session with the gateway starts, once the session budget allows one. */
import type { Log } from '../../../src/protocol/log.ts';
import type { DiscordRest } from '../rest/rest.ts';
import { textRef, type TextRef } from '../../../src/protocol/texts/say.ts';
import { readGateway } from './address.ts';
import type { BudgetKeys, IdentifyBudget } from './identify-budget.ts';

export interface BeginParts {
  budget: IdentifyBudget;
  rest: DiscordRest;
  log: Log;
  epochNow: () => number;
  /** Waits this many milliseconds, or until the signal aborts. Never rejects. */
  pause: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Called with the reason why the connection is waiting, for its health. */
  say: (detail: TextRef) => void;
}

/**
 * Waits until a new session may start, and returns its address. Undefined if the day's sessions were used up, after
 * waiting for the end of that day. Throws `ChannelError` and `StoreError`.
 */
export async function whereToBegin(
  keysFor: (maxConcurrency: number) => BudgetKeys,
  { budget, rest, log, epochNow, pause, say }: BeginParts,
  signal: AbortSignal,
): Promise<{ url: string; keys: BudgetKeys } | undefined> {
  const wait = await budget.waitMs(keysFor(1).session);
  if (wait > 0) {
    say(textRef('health.sessions_short', { network: 'Discord', seconds: Math.ceil(wait / 1_000) }));
    await pause(wait, signal);
  }
  const { url, limit } = await readGateway(rest, signal);
  const keys = keysFor(limit.max_concurrency);
  // The bot's other connections also start one after another.
  const spacing = await budget.spacingMs(keys);
  if (spacing > 0) await pause(spacing, signal);
  const exhausted = await budget.exhaustedMs(keys, limit);
  if (exhausted === undefined) return { url, keys };
  const { remaining, total } = limit;
  const until = new Date(epochNow() + exhausted).toISOString();
  log.error({ remaining, total, until }, 'discord_session_starts_exhausted');
  say(textRef('health.sessions_used_up', { network: 'Discord', total, until }));
  await pause(exhausted, signal);
  return undefined;
}
