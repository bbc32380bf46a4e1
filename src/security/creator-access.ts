/** What somebody may do who does not write just now: asked when a schedule is made, and again whenever it is due. */
import type { AccessStore, ChannelAccess, CreatorAccess } from '../contracts/access.ts';
import type { Ledger } from '../contracts/ledger.ts';
import { parseAddress } from '../contracts/message.ts';
import type { Address } from '../contracts/message.ts';

export interface StandingDeps {
  access: Pick<AccessStore, 'hasGrant' | 'tokens'>;
  /** How the channel treats people; undefined = a channel without people (`http`). */
  channelAccess: (channel: string) => ChannelAccess | undefined;
  ledger: Pick<Ledger, 'sessionOf' | 'session'>;
}

/** Makes the checks; nothing is cached, because schedules are rare. */
export function createCreatorAccess(deps: StandingDeps): CreatorAccess {
  return {
    async placeOf(address) {
      const { channel, chatId } = parseAddress(address);
      const known = deps.channelAccess(channel)?.privacyOf?.(chatId);
      if (known !== undefined) return known;
      // Where people may write although the id does not tell the kind, a group is a chat that was let in as one.
      return (await isGroupLetIn(deps, channel, chatId)) ? 'group' : 'private';
    },
    async isStillAllowed(userId, address, place) {
      const [, kind = '', id = ''] = /^([^:]+):(.+)$/s.exec(userId) ?? [];
      if (kind === 'token') return await mayToken(deps, id, address);
      const { channel, chatId } = parseAddress(address);
      const rules = deps.channelAccess(kind);
      if (rules === undefined || kind !== channel) return false;
      if (place === 'group') return await isGroupLetIn(deps, channel, chatId);
      if (rules.dm === 'open' || rules.owners.includes(id) || rules.allow.includes(id)) return true;
      return await deps.access.hasGrant(kind, 'dm', id);
    },
  };
}

async function isGroupLetIn(deps: StandingDeps, channel: string, chatId: string): Promise<boolean> {
  const groups = deps.channelAccess(channel)?.groups;
  if (groups === undefined) return false;
  return Object.hasOwn(groups, chatId) || (await deps.access.hasGrant(channel, 'group', chatId));
}

/** An admin's token may speak everywhere, another one in the sessions it made. */
async function mayToken(deps: StandingDeps, tokenId: string, address: Address): Promise<boolean> {
  const token = (await deps.access.tokens()).find((row) => row.tokenId === tokenId);
  if (token === undefined || !token.scopes.includes('chat')) return false;
  if (token.scopes.includes('admin')) return true;
  const session = await deps.ledger.session(await deps.ledger.sessionOf(address));
  return session?.ownerTokenId === tokenId;
}
