/** Where a person is notified: a chat that shares the conversation, or their private chat on the same network. */
import type { CreatorAccess } from '../../protocol/access.ts';
import type { FindChat, FoundChat } from '../../protocol/delivery.ts';
import { type Address, isAddress, parseAddress } from '../../protocol/message.ts';
import type { Ledger } from '../../protocol/store/ledger.ts';
import type { SurfaceStore } from '../../protocol/sessions/surfaces.ts';
import { type LabelOf, networkOf } from './surface-text.ts';

/** Makes `FindChat`. */
export function createFindChat(
  surfaces: SurfaceStore,
  ledger: Ledger,
  creatorAccess: CreatorAccess,
  labelOf: LabelOf,
): FindChat {
  return async ({ to, session, address, userId }) => {
    if (isAddress(to)) {
      const targetSession = await ledger.sessionOf(to);
      if (targetSession === session) return { kind: 'found', address: to, session };
      const privateChat = await privateChatOf(userId, ledger, creatorAccess);
      return privateChat?.address === to
        ? await checked(creatorAccess, userId, privateChat)
        : { kind: 'foreign' };
    }
    const shared = (await surfaces.surfaces(session)).map((surface) => ({
      address: surface.address,
      session,
    }));
    const person = userId === 'system' ? (await surfaces.surface(address))?.userId : userId;
    const privateChat = person === undefined ? undefined : await privateChatOf(person, ledger, creatorAccess);
    const all = [...shared, { address, session }, ...(privateChat === undefined ? [] : [privateChat])];
    const candidates = [...new Map(all.map((chat) => [chat.address, chat])).values()];
    const matches = candidates.filter((chat) => isNamed(labelOf, chat.address, to));
    // The chat of the request need not be named, so another chat of the network takes precedence.
    const others = matches.filter((chat) => chat.address !== address);
    const [only, ...more] = others.length === 0 ? matches : others;
    if (only === undefined) return { kind: 'none', others: candidates.map((chat) => chat.address) };
    if (more.length > 0) return { kind: 'several', addresses: others.map((chat) => chat.address) };
    return only.session === session
      ? { kind: 'found', ...only }
      : await checked(creatorAccess, person ?? '', only);
  };
}

interface Chat {
  address: Address;
  session: Awaited<ReturnType<Ledger['sessionOf']>>;
}

function isNamed(labelOf: LabelOf, address: Address, to: string): boolean {
  const word = to.toLowerCase();
  const { channel } = parseAddress(address);
  return channel === word || networkOf(address, labelOf).toLowerCase() === word;
}

/** The person's private chat, on networks where both have the same id; undefined if they never wrote there. */
async function privateChatOf(
  userId: string,
  ledger: Ledger,
  creatorAccess: CreatorAccess,
): Promise<Chat | undefined> {
  if (!isAddress(userId) || userId.startsWith('token:') || (await creatorAccess.placeOf(userId)) === 'group')
    return undefined;
  const session = await ledger.sessionOf(userId);
  return (await ledger.session(session)) === undefined ? undefined : { address: userId, session };
}

async function checked(creatorAccess: CreatorAccess, userId: string, chat: Chat): Promise<FoundChat> {
  const mayWrite = await creatorAccess.isStillAllowed(userId, chat.address, 'private');
  return mayWrite ? { kind: 'found', ...chat } : { kind: 'foreign' };
}
