/** Where a person is notified: a chat of theirs, or, for an owner, any chat in which someone has written to the bot. */
import type { CreatorAccess } from '../../protocol/access.ts';
import type { AskedChat, Contact, ContactStore, FindChat, FoundChat } from '../../protocol/delivery.ts';
import {
  type Address,
  addressOf,
  type InboundMessage,
  isAddress,
  parseAddress,
  type SessionKey,
  userIdOf,
} from '../../protocol/message.ts';
import type { Ledger } from '../../protocol/store/ledger.ts';
import type { SurfaceStore } from '../../protocol/sessions/surfaces.ts';
import { textRef } from '../../protocol/texts/say.ts';
import { TtlCache } from '../../lib/ttl-cache.ts';
import { type LabelOf, networkOf, plainName, whereOf } from './surface-text.ts';

/** What finds chats. */
export interface FindChatDeps {
  surfaces: SurfaceStore;
  ledger: Ledger;
  contacts: ContactStore;
  creatorAccess: CreatorAccess;
  labelOf: LabelOf;
}

/** Makes `FindChat`. */
export function createFindChat(deps: FindChatDeps): FindChat {
  return async (asked) => {
    const own = isAddress(asked.to) ? await ownAt(deps, asked, asked.to) : await ownNamed(deps, asked);
    if (asked.others === undefined || own.kind === 'found' || own.kind === 'several') return own;
    return isAddress(asked.to)
      ? await anyAt(deps, asked, asked.to)
      : await anyNamed(deps, asked, asked.others);
  };
}

/** The chat at an address, if it shares the conversation or is the person's private one. */
async function ownAt(
  { ledger, creatorAccess }: FindChatDeps,
  { session, userId }: AskedChat,
  address: Address,
): Promise<FoundChat> {
  const targetSession = await ledger.sessionOf(address);
  if (targetSession === session) return { kind: 'found', address, session };
  const privateChat = await privateChatOf(userId, ledger, creatorAccess);
  return privateChat?.address === address
    ? await checked(creatorAccess, userId, privateChat)
    : { kind: 'foreign' };
}

/** The person's chat on the network of that name. */
async function ownNamed(
  { surfaces, ledger, creatorAccess, labelOf }: FindChatDeps,
  { to, session, address, userId }: AskedChat,
): Promise<FoundChat> {
  const shared = (await surfaces.surfaces(session)).map((surface) => ({ address: surface.address, session }));
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
}

/** The chat of anyone at an address or a thread of it, or of the person with this user id. */
async function anyAt(deps: FindChatDeps, asked: AskedChat, address: Address): Promise<FoundChat> {
  const { contacts, ledger, creatorAccess } = deps;
  const contact = await contacts.contact(address);
  if (contact !== undefined) {
    const isThere = sameChat(contact.address, address);
    return await reached(deps, asked, isThere ? { ...contact, address } : contact);
  }
  if ((await ledger.session(await ledger.sessionOf(address))) === undefined)
    return { kind: 'unknown', known: await namesFor(deps, asked.others) };
  return await reached(deps, asked, { address, place: await creatorAccess.placeOf(address) });
}

function sameChat(one: Address, other: Address): boolean {
  const [a, b] = [parseAddress(one), parseAddress(other)];
  return a.channel === b.channel && a.chatId === b.chatId;
}

/** The chat of anyone with this name. */
async function anyNamed(
  deps: FindChatDeps,
  asked: AskedChat,
  readers: 'private' | 'group',
): Promise<FoundChat> {
  const [only, ...more] = await deps.contacts.contacts(asked.to.replace(/^[@#]/, ''));
  if (only === undefined) return { kind: 'unknown', known: await namesFor(deps, readers) };
  if (more.length === 0) return await reached(deps, asked, only);
  return { kind: 'ambiguous', known: readers === 'private' ? [only, ...more].map(nameOf) : undefined };
}

async function reached(
  deps: FindChatDeps,
  asked: AskedChat,
  { address, place, name, userId: contactId }: Contact,
): Promise<FoundChat> {
  const { ledger, creatorAccess, labelOf } = deps;
  const session = await ledger.sessionOf(address);
  if (session === asked.session) return { kind: 'found', address, session };
  const isWeb = parseAddress(address).channel === 'http';
  const userId = isWeb ? await readerOnPage(deps, address, session) : contactId;
  if (
    place === 'private' &&
    !isWeb &&
    !(await creatorAccess.isStillAllowed(userId ?? address, address, place))
  )
    return { kind: 'closed' };
  const groupName = place === 'group' ? plainName(name ?? '') : '';
  const label =
    groupName === ''
      ? whereOf({ address, place, name }, labelOf)
      : textRef('surfaces.group_called', { network: networkOf(address, labelOf), name: groupName });
  return { kind: 'found', address, session, other: { label, place, userId, name } };
}

/** Who reads a session on the page: its token, while that may use it. */
async function readerOnPage(
  { ledger, creatorAccess }: FindChatDeps,
  address: Address,
  session: SessionKey,
): Promise<string | undefined> {
  const tokenId = (await ledger.session(session))?.ownerTokenId;
  const userId = `token:${tokenId}`;
  const mayRead = tokenId !== undefined && (await creatorAccess.isStillAllowed(userId, address, 'private'));
  return mayRead ? userId : undefined;
}

/** How long a chat that has been noted is not compared with what is stored, in milliseconds, and how many such chats. */
const NOTED_MS = 3_600_000;
const MAX_NOTED = 10_000;

/** Makes the function that stores, for owners who name it later, in which chat a message was allowed. Throws only `StoreError`. */
export function createNoteContact(
  contacts: ContactStore,
  monotonicNow: () => number,
): (message: InboundMessage) => Promise<void> {
  const contactCache = new TtlCache<string>(NOTED_MS, MAX_NOTED, monotonicNow);
  return async (message) => {
    const { channel, chatId, place, isGuest, senderName, chatName } = message;
    if (channel === 'http' || channel === 'system' || isGuest === true) return;
    const contact: Contact =
      place === 'private'
        ? { address: addressOf(message), place, userId: userIdOf(message), name: senderName }
        : { address: addressOf({ channel, chatId }), place, name: chatName };
    const [key, value] = [addressOf({ channel, chatId }), JSON.stringify(contact)];
    if (contactCache.get(key) === value) return;
    await contacts.noteContact(contact);
    contactCache.set(key, value);
  };
}

/** The names of contacts for whoever reads them; undefined in a group. */
async function namesFor(
  { contacts }: FindChatDeps,
  readers: AskedChat['others'],
): Promise<readonly string[] | undefined> {
  return readers === 'private' ? (await contacts.contacts()).map(nameOf) : undefined;
}

function nameOf({ name = '', address }: Contact): string {
  return `${plainName(name)} (${address})`;
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
