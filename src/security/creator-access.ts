/** The rights of a schedule's creator: checked when it is made, and again whenever it is due. */
import { hasScope } from '../contracts/access.ts';
import type { AccessStore, ChannelAccess, CreatorAccess } from '../contracts/access.ts';
import type { SessionStore } from '../contracts/store/ledger.ts';
import { parseAddress } from '../contracts/message.ts';
import type { Address } from '../contracts/message.ts';
import { isOwner } from './access-policy.ts';

export interface CreatorAccessDeps {
  access: Pick<AccessStore, 'hasGrant' | 'token'>;
  /** The channel's access rules; undefined for a channel without people of its own (`http`). */
  channelAccess: (channel: string) => ChannelAccess | undefined;
  ledger: Pick<SessionStore, 'sessionOf' | 'session'>;
}

/** Makes the checks. Nothing is cached: schedules are rare. */
export function createCreatorAccess(deps: CreatorAccessDeps): CreatorAccess {
  return {
    async placeOf(address) {
      const { channel, chatId } = parseAddress(address);
      const known = deps.channelAccess(channel)?.privacyOf?.(chatId);
      if (known !== undefined) return known;
      // Where the id does not tell the kind, a group is a chat that was allowed as one.
      return (await isGroupAllowed(deps, channel, chatId)) ? 'group' : 'private';
    },
    isOwner: (userId) => isOwner(deps, userId),
    async isStillAllowed(userId, address, place) {
      const [, kind = '', id = ''] = /^([^:]+):(.+)$/s.exec(userId) ?? [];
      if (kind === 'token') return await isTokenAllowed(deps, id, address);
      const { channel, chatId } = parseAddress(address);
      const rules = deps.channelAccess(kind);
      if (rules === undefined || kind !== channel) return false;
      if (place === 'group')
        return (await isOwner(deps, userId)) && (await isGroupAllowed(deps, channel, chatId));
      if (rules.dm === 'open' || rules.allow.includes(id) || (await isOwner(deps, userId))) return true;
      return await deps.access.hasGrant(kind, 'dm', id);
    },
  };
}

async function isGroupAllowed(deps: CreatorAccessDeps, channel: string, chatId: string): Promise<boolean> {
  const groups = deps.channelAccess(channel)?.groups;
  if (groups === undefined) return false;
  return Object.hasOwn(groups, chatId) || (await deps.access.hasGrant(channel, 'group', chatId));
}

/** An admin token may write everywhere, another one only in the sessions it made. */
async function isTokenAllowed(deps: CreatorAccessDeps, tokenId: string, address: Address): Promise<boolean> {
  const token = await deps.access.token(tokenId);
  if (token === undefined || !hasScope(token, 'chat')) return false;
  if (hasScope(token, 'admin')) return true;
  const session = await deps.ledger.session(await deps.ledger.sessionOf(address));
  return session?.ownerTokenId === tokenId;
}
