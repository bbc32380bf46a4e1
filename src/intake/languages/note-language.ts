/** Stores the sender's language. */
import { addressOf, type InboundMessage, userIdOf } from '../../contracts/message.ts';
import type { PersonLanguages } from '../../contracts/texts/languages.ts';

/**
 * Stores what the platform reports about the sender, and the language they read for their private chat, where schedules
 * and other agents write, too. Throws only `StoreError`.
 */
export async function noteLanguage(
  languages: Pick<PersonLanguages, 'notePlatform'>,
  message: InboundMessage,
  language: string,
): Promise<void> {
  const [userId, address] = [userIdOf(message), addressOf(message)];
  await languages.notePlatform(userId, message.language);
  if (message.place === 'private' && message.channel !== 'http' && address !== userId)
    await languages.notePlatform(address, language);
}
