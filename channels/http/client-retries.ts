/**
 * Repeated requests of OpenAI's clients. After a timeout or a lost connection they resend a request on their own and
 * count the repeats in a header. The message of such a request is already stored: it joins the turn that answers it.
 */
import type { IncomingMessage } from 'node:http';
import type { Caller } from '../../src/protocol/access.ts';
import type { GatewayApi } from '../../src/protocol/gateway-api.ts';
import type { InboundMessage } from '../../src/protocol/message.ts';
import type { Receipt } from '../../src/protocol/receive.ts';
import { Recent } from '../../src/lib/recent.ts';

/** Longest time between a message and its repeat: the clients' own limit for an answer is 10 minutes. */
export const MAX_RETRY_AGE_MS = 15 * 60_000;
/** Turns remembered as answered; past it the oldest is forgotten. */
const MAX_ANSWERED = 10_000;

/** The turns whose answer was written to a client in full: a later request with the same text is a new message. */
export class AnsweredTurns {
  readonly #turns = new Recent<true>(MAX_RETRY_AGE_MS, MAX_ANSWERED, () => performance.now());

  add(turnId: string): void {
    this.#turns.set(turnId, true);
  }

  has(turnId: string): boolean {
    return this.#turns.get(turnId) === true;
  }
}

/**
 * The turn of a resent request: that of the caller's newest message in the session, when it has the same text and its
 * answer has not reached anyone. Undefined for every other request. Throws `StoreError`.
 */
export async function turnOfRetry(
  incoming: IncomingMessage,
  caller: Caller,
  message: InboundMessage,
  { gateway, answered }: { gateway: Pick<GatewayApi, 'newestOwnMessage'>; answered: AnsweredTurns },
): Promise<Receipt | undefined> {
  // With an Idempotency-Key the store itself recognises the message.
  if (!isRetry(incoming) || incoming.headers['idempotency-key'] !== undefined) return undefined;
  const newest = await gateway.newestOwnMessage(caller, `http:${message.chatId}`);
  if (newest === undefined || newest.content !== message.content) return undefined;
  const { turnId, seq, sentAt } = newest;
  if (message.timestamp - sentAt > MAX_RETRY_AGE_MS || answered.has(turnId)) return undefined;
  return { kind: 'duplicate', turnId, seq };
}

function isRetry({ headers }: IncomingMessage): boolean {
  return /^[1-9]\d{0,2}$/.test(String(headers['x-stainless-retry-count'] ?? ''));
}
