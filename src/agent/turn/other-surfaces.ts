/** The chats beside the one in which a turn was asked: what others can read decides what the turn may tell. */
import type { Address, InboundMessage } from '../../contracts/message.ts';
import type { OtherSurface } from '../../contracts/store/records.ts';
import type { AgentShared } from '../deps.ts';

/** `group` where the answer is read in any group, wherever it was asked: private memories stay out of it. */
export function strictestPlace(
  asked: OtherSurface['place'],
  surfaces: readonly OtherSurface[],
): OtherSurface['place'] {
  return surfaces.some(({ place }) => place === 'group') ? 'group' : asked;
}

/** The groups that the turn knew of from its beginning; one that joins later does not read its answer. */
export function groupsAmong(surfaces: readonly OtherSurface[]): Address[] {
  return surfaces.filter(({ place }) => place === 'group').map(({ address }) => address);
}

/** The network on which a message was written; undefined in a conversation of one chat, where it goes without saying. */
export function networkOf(
  { deps }: Pick<AgentShared, 'deps'>,
  { channel }: InboundMessage,
  surfaces: readonly OtherSurface[],
): string | undefined {
  return surfaces.length === 0 ? undefined : (deps.surroundings.channelLabel(channel) ?? channel);
}
