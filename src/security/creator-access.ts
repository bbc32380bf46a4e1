/** The rights of a schedule's creator: checked when it is created, and again whenever it is due. */
import { type AccessStore, type ChannelAccess, type CreatorAccess, hasScope } from '../protocol/access.ts';
import type { SessionStore } from '../protocol/store/ledger.ts';
import type { SurfaceStore } from '../protocol/sessions/surfaces.ts';
import { type Address, parseAddress } from '../protocol/message.ts';
import { chatsOf, isOwner } from './access-policy.ts';

export interface CreatorAccessDeps {
  access: AccessStore;
  /** The channel's access rules; undefined for a channel without its own users (`http`). */
  channelAccess: (channel: string) => ChannelAccess | undefined;
  ledger: SessionStore;
  surfaces: SurfaceStore;
}

/** Makes the checks. Nothing is cached: schedules are rare. */
export function createCreatorAccess(deps: CreatorAccessDeps): CreatorAccess {
  return {
    async placeOf(address) {
      const { channel, chatId } = parseAddress(address);
      const privacy = deps.channelAccess(channel)?.privacyOf?.(chatId);
      if (privacy !== undefined) return privacy;
      // If the id does not reveal the kind, a group is a chat that was allowed as one.
      return (await isGroupAllowed(deps, address)) ? 'group' : 'private';
    },
    isOwner: (userId) => isOwner(deps.access, deps.channelAccess, userId),
    async isStillAllowed(userId, address, place) {
      if (await isAllowedThere(deps, userId, address, place)) return true;
      return place === 'private' && (await isAllowedByLink(deps, userId, address));
    },
    async isTaken(address) {
      if (parseAddress(address).channel !== 'http') return false;
      const owner = (await deps.ledger.session(await deps.ledger.sessionOf(address)))?.ownerTokenId;
      const token = owner === undefined ? undefined : await deps.access.token(owner);
      return token !== undefined && !hasScope(token, 'admin');
    },
  };
}

async function isAllowedThere(
  deps: CreatorAccessDeps,
  userId: string,
  address: Address,
  place: 'private' | 'group',
): Promise<boolean> {
  const [, kind = '', id = ''] = /^([^:]+):(.+)$/s.exec(userId) ?? [];
  if (kind === 'token') return await isTokenAllowed(deps, id, address);
  const { channel } = parseAddress(address);
  const rules = deps.channelAccess(kind);
  if (rules === undefined || kind !== channel) return false;
  if (place === 'group')
    return (await isOwner(deps.access, deps.channelAccess, userId)) && (await isGroupAllowed(deps, address));
  if (
    rules.dm === 'open' ||
    rules.allow.includes(id) ||
    (await isOwner(deps.access, deps.channelAccess, userId))
  )
    return true;
  return await deps.access.hasGrant(kind, 'dm', id);
}

/** Linked private chats belong to one person: each side needs the right, so the weakest decides. */
async function isAllowedByLink(deps: CreatorAccessDeps, userId: string, address: Address): Promise<boolean> {
  const linked = await deps.surfaces.surface(address);
  if (linked === undefined || linked.place === 'group') return false;
  const all = await deps.surfaces.surfaces(await deps.ledger.sessionOf(address));
  const ownSurface = all.find((surface) => surface.userId === userId && surface.place === 'private');
  return (
    ownSurface !== undefined &&
    (await isAllowedThere(deps, userId, ownSurface.address, 'private')) &&
    (await isAllowedThere(deps, linked.userId, address, 'private'))
  );
}

async function isGroupAllowed(deps: CreatorAccessDeps, address: Address): Promise<boolean> {
  const place = parseAddress(address);
  const rules = deps.channelAccess(place.channel);
  if (rules === undefined) return false;
  for (const id of chatsOf(place, rules)) {
    if (Object.hasOwn(rules.groups, id) || (await deps.access.hasGrant(place.channel, 'group', id)))
      return true;
  }
  return false;
}

/** An admin token may write everywhere, any other token only in the sessions it created. */
async function isTokenAllowed(deps: CreatorAccessDeps, tokenId: string, address: Address): Promise<boolean> {
  const token = await deps.access.token(tokenId);
  if (token === undefined || !hasScope(token, 'chat')) return false;
  if (hasScope(token, 'admin')) return true;
  const session = await deps.ledger.session(await deps.ledger.sessionOf(address));
  return session?.ownerTokenId === tokenId;
}
