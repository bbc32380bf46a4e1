/** Administrators of groups, by the platform's own rights. */
import type { Channel } from '../../contracts/channel.ts';
import { parseAddress } from '../../contracts/message.ts';
import type { LinkDeps } from './links.ts';

/** Asks the channel of a group. A channel that knows no administrators has none, nor has one that cannot be asked now. */
export function groupAdminIn(channels: ReadonlyMap<string, Channel>): LinkDeps['isGroupAdmin'] {
  return async (address, senderId) => {
    const place = parseAddress(address);
    return (await channels.get(place.channel)?.isAdmin?.(place, senderId)) === true;
  };
}
