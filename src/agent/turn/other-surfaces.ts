/** The chats besides the one in which a turn was asked: what others can read decides what the turn may reveal. */
import type { LiveTurn } from '../../protocol/delivery.ts';
import type { InboundMessage } from '../../protocol/message.ts';
import type { OtherSurface, TurnFinish } from '../../protocol/store/records.ts';
import { recipientOf } from '../../protocol/texts/languages.ts';
import type { AgentShared } from '../deps.ts';

type Elsewhere = NonNullable<TurnFinish['elsewhere']>;

/** `group` where the answer is read in any group, wherever it was asked: private memories stay out of it. */
export function strictestPlace(
  asked: OtherSurface['place'],
  surfaces: readonly OtherSurface[],
): OtherSurface['place'] {
  return surfaces.some(({ place }) => place === 'group') ? 'group' : asked;
}

/**
 * What the other chats get when a turn ends: its answer, but not in groups that joined after its beginning, which do
 * not read it; and in a chat that has left in the meantime, a text that says so, in the language of the person who
 * brought it in. Throws only `StoreError`.
 */
export async function endElsewhere(
  { languages }: Pick<AgentShared, 'languages'>,
  surfaces: readonly OtherSurface[],
  message: Elsewhere['message'],
  shownOn: ReturnType<LiveTurn['shownOn']>,
): Promise<Elsewhere> {
  const texts = shownOn.map(async ({ address, userId }) => {
    const say = languages.say(recipientOf(address, await languages.languageOf(userId)));
    return { address, separated: `*(${say('unlink.in_the_middle')})*` };
  });
  const groups = surfaces.filter(({ place }) => place === 'group').map(({ address }) => address);
  return { message, groups, shownOn: await Promise.all(texts) };
}

/** The network on which a message was written; undefined in a conversation of one chat, where it goes without saying. */
export function networkOf(
  { environmentNote }: Pick<AgentShared, 'environmentNote'>,
  { channel }: InboundMessage,
  surfaces: readonly OtherSurface[],
): string | undefined {
  return surfaces.length === 0 ? undefined : (environmentNote.channelLabel(channel) ?? channel);
}
