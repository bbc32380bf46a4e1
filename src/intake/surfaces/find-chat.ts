/**
 * Where a person wants to be notified: a chat that shares the conversation, or their own private chat on the same
 * network.
 */
import type { CreatorAccess } from '../../protocol/access.ts';
import type { FindChat, FoundChat } from '../../protocol/delivery.ts';
import { type Address, isAddress, parseAddress } from '../../protocol/message.ts';
import type { Ledger } from '../../protocol/store/ledger.ts';
import type { SurfaceStore } from '../../protocol/sessions/surfaces.ts';
import { type LabelOf, networkOf } from './surface-text.ts';

export interface FindChatDeps {
  surfaces: Pick<SurfaceStore, 'surface' | 'surfaces'>;
  ledger: Pick<Ledger, 'sessionOf' | 'session'>;
  creatorAccess: Pick<CreatorAccess, 'isStillAllowed' | 'placeOf'>;
  labelOf: LabelOf;
}

/** Makes `FindChat`. */
export function createFindChat(deps: FindChatDeps): FindChat {
  const { surfaces, ledger } = deps;
  return async ({ to, session, address, userId }) => {
    if (isAddress(to)) {
      const there = await ledger.sessionOf(to);
      if (there === session) return { kind: 'found', address: to, session };
      const own = await ownChat(deps, userId);
      return own?.address === to ? await checked(deps, userId, own) : { kind: 'foreign' };
    }
    const shared = (await surfaces.surfaces(session)).map((surface) => ({
      address: surface.address,
      session,
    }));
    const person = userId === 'system' ? (await surfaces.surface(address))?.userId : userId;
    const own = person === undefined ? undefined : await ownChat(deps, person);
    const all = [...shared, { address, session }, ...(own === undefined ? [] : [own])];
    const known = [...new Map(all.map((chat) => [chat.address, chat])).values()];
    const named = known.filter((chat) => isNamed(deps, chat.address, to));
    // The chat of the request need not be named, so another chat of the network takes precedence.
    const others = named.filter((chat) => chat.address !== address);
    const [only, ...more] = others.length === 0 ? named : others;
    if (only === undefined) return { kind: 'none', others: known.map((chat) => chat.address) };
    if (more.length > 0) return { kind: 'several', addresses: others.map((chat) => chat.address) };
    return only.session === session ? { kind: 'found', ...only } : await checked(deps, person ?? '', only);
  };
}

interface Chat {
  address: Address;
  session: Awaited<ReturnType<Ledger['sessionOf']>>;
}

function isNamed({ labelOf }: FindChatDeps, address: Address, to: string): boolean {
  const word = to.toLowerCase();
  const { channel } = parseAddress(address);
  return channel === word || networkOf({ address }, labelOf).toLowerCase() === word;
}

/**
 * The person's private chat, on networks where its id is the person's id; undefined if they have never written there.
 */
async function ownChat({ ledger, creatorAccess }: FindChatDeps, userId: string): Promise<Chat | undefined> {
  if (!isAddress(userId) || userId.startsWith('token:') || (await creatorAccess.placeOf(userId)) === 'group')
    return undefined;
  const session = await ledger.sessionOf(userId);
  return (await ledger.session(session)) === undefined ? undefined : { address: userId, session };
}

async function checked({ creatorAccess }: FindChatDeps, userId: string, chat: Chat): Promise<FoundChat> {
  const mayWrite = await creatorAccess.isStillAllowed(userId, chat.address, 'private');
  return mayWrite ? { kind: 'found', ...chat } : { kind: 'foreign' };
}
