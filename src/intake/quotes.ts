/** Whose text a quote contains, as far as the conversation knows. */
import { addressOf, type InboundMessage } from '../contracts/message.ts';
import type { SessionStore } from '../contracts/store/ledger.ts';

/** Author of an answer of the bot that the conversation has forgotten. */
const FORGOTTEN = 'you, before this conversation began';

/**
 * The message as it may be accepted. The bot's own text is trusted like the conversation it comes from, whose sources
 * are kept. An answer from before `/new` may repeat text of others that is no longer on record: it is quoted as theirs.
 * Throws only `StoreError`.
 */
export async function withKnownQuote(
  ledger: Pick<SessionStore, 'session' | 'sessionOf'>,
  message: InboundMessage,
): Promise<InboundMessage> {
  const { quoted } = message;
  if (quoted?.by !== 'bot') return message;
  const record = await ledger.session(message.sessionKey ?? (await ledger.sessionOf(addressOf(message))));
  const isRemembered = record !== undefined && (quoted.sentAt ?? 0) >= record.freshAt.getTime();
  if (isRemembered) return message;
  return { ...message, quoted: { ...quoted, by: 'other', author: FORGOTTEN } };
}
