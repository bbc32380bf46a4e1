/** What to tell a person who asks again when the first answer had side effects. */
import { addressOf, type InboundMessage } from '../../contracts/message.ts';
import type { LaneRunner } from '../../contracts/bus.ts';
import type { Ledger } from '../../contracts/store/ledger.ts';
import type { Languages } from '../../contracts/texts/languages.ts';

/** Returns the sentence; in a chat it is also queued as a separate message, once per turn. Throws `StoreError`. */
export async function tellEffects(
  deps: { ledger: Pick<Ledger, 'enqueue'>; bus: LaneRunner; languages: Pick<Languages, 'say'> },
  message: InboundMessage,
  { turnId, effects }: { turnId: string; effects: readonly string[] },
): Promise<string> {
  const say = deps.languages.say(message);
  const text = say('retry.effects', { effects: effects.join(', ') });
  const { channel, chatId, threadId } = message;
  if (channel === 'http') return text;
  const notice = { channel, chatId, threadId, content: text, media: [], buttons: [] };
  const step = await deps.ledger.enqueue(
    addressOf(message),
    { ref: `again:${turnId}`, message: notice },
    deps.bus.claimingNode('out'),
  );
  deps.bus.runHeads(step);
  return text;
}
