/** The access policy that every ingress consults: may this sender write here? The default is no. */
import {
  type AccessPolicy,
  type AccessStore,
  type ChannelAccess,
  type Grant,
  hasScope,
  type Verdict,
} from '../protocol/access.ts';
import type { ContactStore } from '../protocol/delivery.ts';
import type { GroupChatStore } from '../protocol/store/group-chats.ts';
import { TtlCache } from '../lib/ttl-cache.ts';
import type { Address, InboundMessage, Membership } from '../protocol/message.ts';
import { createTokenLookup, hashSecret, newPairingCode, privateMessageOf } from './token-lookup.ts';
import { textRef } from '../protocol/texts/say.ts';

/** A pairing code is valid for this long, and a stranger gets at most one within that time. */
const PAIRING_TTL_MS = 3_600_000;
/** Valid codes of one channel; further strangers get none until one is used or old enough to be replaced. */
export const MAX_PAIRINGS = 3;
/** A code this old may be replaced by another stranger's: no one can lock others out for its whole lifetime. */
const PAIRING_YIELDS_MS = 600_000;
/** How long a grant is cached: a revoked one stops working within this time. */
export const GRANT_CACHE_MS = 2_000;
const MAX_CACHED_GRANTS = 10_000;

export interface AccessPolicyDeps {
  access: AccessStore;
  groupChats: GroupChatStore;
  /** The channel's access rules; undefined for a channel without its own users (`http`). */
  channelAccess: (channel: string) => ChannelAccess | undefined;
  /** The name of the token that a user of an identity proxy has now; absent = no one signs in through one. */
  proxyTokenOf?: (user: string) => string | undefined;
  /** Monotonic time in milliseconds. */
  monotonicNow: () => number;
}

/** Makes the policy. */
export function createAccessPolicy(deps: AccessPolicyDeps): AccessPolicy {
  const granted = createGrantLookup(deps.access, deps.monotonicNow);
  const observes: AccessPolicy['observes'] = async (chat) => {
    const { channel, chatId } = chat;
    const groups = deps.channelAccess(channel)?.groups ?? {};
    const configured = Object.hasOwn(groups, chatId) && groups[chatId]?.observe === true;
    return (await deps.groupChats.observes(chat)) ?? configured;
  };

  /** What `authorize` and `mayWrite` say; they differ in what becomes of strangers who may pair. */
  const judge = async (message: InboundMessage, offer: () => Promise<Verdict>): Promise<Verdict> => {
    const rules = deps.channelAccess(message.channel);
    if (rules === undefined) return { kind: 'deny' };
    if (message.onBehalfOf !== undefined)
      return await judgeBehalf(message, message.onBehalfOf, rules, granted);
    const { place, fromBot = false } = message;
    const isGroup = place === 'group' && message.isGuest !== true;
    if (fromBot && !isGroup) return { kind: 'deny', why: 'bot' };
    const grants = await grantsOf(message, { rules, isGroup, granted });
    if (!isGroup) return await judgePerson(message, rules, grants, offer);
    const verdict = authorizeGroup(message, rules, grants.owner, grants.isGranted);
    const isUnseen = verdict.kind === 'observe' && !(await observes(message));
    return isUnseen ? { kind: 'deny', why: 'not_mentioned' } : verdict;
  };

  const mayWrite: AccessPolicy['mayWrite'] = async (message) => {
    if (message.channel === 'http') return undefined;
    const verdict = await judge(message, () => Promise.resolve({ kind: 'deny' }));
    return verdict.kind === 'allow' ? verdict : undefined;
  };
  /** `telegram:42`: the user of a proxy may have any other name. */
  const isPerson = (user: string): boolean => {
    const [, channel] = /^([a-z][a-z0-9]*):[^:]+$/.exec(user) ?? [];
    return channel !== undefined && deps.channelAccess(channel) !== undefined;
  };

  return {
    ...createTokenLookup(deps.access, deps.monotonicNow, async ({ proxyUser, name }) => {
      // A token of this name belongs to the person whom a network's app has signed in.
      if (proxyUser !== name || !isPerson(proxyUser)) return deps.proxyTokenOf?.(proxyUser) === name;
      return (await mayWrite(privateMessageOf(proxyUser))) !== undefined;
    }),
    isOwner: (userId) => isOwner(deps.access, deps.channelAccess, userId),
    observes,
    async groups(channel) {
      const listed = Object.keys(deps.channelAccess(channel)?.groups ?? {});
      const grants = await deps.access.grants();
      const granted = grants.filter((grant) => grant.channel === channel && grant.kind === 'group');
      return [...new Set([...listed, ...granted.map(({ id }) => id)])];
    },
    async authorize(message, caller) {
      if (message.channel === 'http') {
        const isAllowed = caller !== undefined && hasScope(caller, 'chat');
        return isAllowed ? { kind: 'allow', owner: hasScope(caller, 'admin') } : { kind: 'deny' };
      }
      return await judge(message, () => offerPairing(deps.access, message));
    },
    mayWrite,
  };
}

/** Whether there is a grant; one that was found is remembered for a while. */
type Granted = (channel: string, kind: Grant['kind'], id: string) => Promise<boolean>;

function createGrantLookup(access: AccessStore, monotonicNow: () => number): Granted {
  const cache = new TtlCache<true>(GRANT_CACHE_MS, MAX_CACHED_GRANTS, monotonicNow);
  return async (channel, kind, id) => {
    const key = `${channel}:${kind}:${id}`;
    if (cache.get(key) !== undefined) return true;
    const hasGrant = await access.hasGrant(channel, kind, id);
    if (hasGrant) cache.set(key, true);
    return hasGrant;
  };
}

/** Whether an owner writes, and whether there is a grant for the person or the group. */
interface Grants {
  owner: boolean;
  isGranted: boolean;
}

async function grantsOf(
  message: InboundMessage,
  { rules, isGroup, granted }: { rules: ChannelAccess; isGroup: boolean; granted: Granted },
): Promise<Grants> {
  const { channel, senderId, fromBot = false } = message;
  const [owner, isGranted] = await Promise.all([
    !fromBot && (rules.owners.includes(senderId) || granted(channel, 'owner', senderId)),
    isGroup ? grantedGroup(message, rules, granted) : granted(channel, 'dm', senderId),
  ]);
  return { owner, isGranted };
}

/** The chat may have a grant, as may its thread, and the guild or a role of the sender. */
async function grantedGroup(
  message: InboundMessage,
  rules: ChannelAccess,
  granted: Granted,
): Promise<boolean> {
  const { channel, memberships = [] } = message;
  if (memberships.some(({ kind, id }) => membershipRule(rules, kind).includes(id))) return true;
  const chats = chatsOf(message, rules).map((id) => ({ kind: 'group' as const, id }));
  for (const { kind, id } of [...chats, ...memberships]) if (await granted(channel, kind, id)) return true;
  return false;
}

/** Only owners have others answered in their name; what they write there themselves is context for the next answer. */
async function judgeBehalf(
  { channel, senderId, fromBot }: InboundMessage,
  person: string,
  rules: ChannelAccess,
  granted: Granted,
): Promise<Verdict> {
  const isOwners = rules.owners.includes(person) || (await granted(channel, 'owner', person));
  if (!isOwners || fromBot === true) return { kind: 'deny' };
  return senderId === person ? { kind: 'observe' } : { kind: 'allow', owner: false };
}

/** `offer` makes the offer of a pairing code to a stranger. */
async function judgePerson(
  { senderId }: InboundMessage,
  rules: ChannelAccess,
  { owner, isGranted }: Grants,
  offer: () => Promise<Verdict>,
): Promise<Verdict> {
  if (owner || isGranted || rules.dm === 'open' || rules.allow.includes(senderId))
    return { kind: 'allow', owner };
  return rules.dm === 'pairing' ? await offer() : { kind: 'deny' };
}

/** Whether a user id (`telegram:42`, `token:<id>`) is an owner's: in `access.owners`, by pairing, or with scope `admin`. */
export async function isOwner(
  access: AccessStore,
  channelAccess: (channel: string) => ChannelAccess | undefined,
  userId: string,
): Promise<boolean> {
  const [, channel = '', id = ''] = /^([^:]+):(.+)$/s.exec(userId) ?? [];
  if (channel !== 'token') {
    const rules = channelAccess(channel);
    if (rules === undefined) return false;
    return rules.owners.includes(id) || (await access.hasGrant(channel, 'owner', id));
  }
  const token = await access.token(id);
  return token !== undefined && hasScope(token, 'admin');
}

/** Ids of a channel's owners, from `access.owners` and from pairing. Throws `StoreError`. */
export async function ownersOf(
  access: AccessStore,
  channelAccess: (channel: string) => ChannelAccess | undefined,
  channel: string,
): Promise<string[]> {
  const grants = await access.grants();
  const paired = grants.filter((grant) => grant.channel === channel && grant.kind === 'owner');
  return [...new Set([...(channelAccess(channel)?.owners ?? []), ...paired.map(({ id }) => id)])];
}

/** Makes the function that lists the private chats of owners who have written to the bot. It throws only `StoreError`. */
export function createOwnerChats({
  store: { access, contacts },
  channelAccess,
  channels,
}: {
  store: { access: AccessStore; contacts: ContactStore };
  channelAccess: (channel: string) => ChannelAccess | undefined;
  channels: ReadonlyMap<string, unknown>;
}): () => Promise<Address[]> {
  return async () => {
    const chats: Address[] = [];
    for (const channel of channels.keys()) {
      for (const id of await ownersOf(access, channelAccess, channel)) {
        const contact = await contacts.contact(`${channel}:${id}`);
        if (contact?.place === 'private') chats.push(contact.address);
      }
    }
    return chats;
  };
}

/**
 * A group needs its own grant, whoever writes there, and by default the message must mention the bot; that of another bot
 * always must. A message that does not may be observed.
 */
function authorizeGroup(
  message: InboundMessage,
  rules: ChannelAccess,
  owner: boolean,
  granted: boolean,
): Verdict {
  const listed = chatsOf(message, rules)
    .map((id) => (Object.hasOwn(rules.groups, id) ? rules.groups[id] : undefined))
    .find(Boolean);
  if (listed === undefined && !granted) {
    if (!owner || !message.mentioned) return { kind: 'deny', why: 'group' };
    return {
      kind: 'deny',
      why: 'group',
      reply: textRef('group.not_allowed', { channel: message.channel, chat: message.chatId }),
    };
  }
  const mustMention = (listed?.mention ?? true) || message.fromBot === true;
  if (mustMention && !message.mentioned) return { kind: 'observe' };
  return { kind: 'allow', owner };
}

/** The guilds or roles that the configuration allows. */
function membershipRule(
  { guilds = [], roles = [] }: ChannelAccess,
  kind: Membership['kind'],
): readonly string[] {
  return kind === 'guild' ? guilds : roles;
}

/** What can be allowed for a message: its thread, if that has its own id, and its chat. */
export function chatsOf(
  { chatId, threadId }: { chatId: string; threadId?: string | undefined },
  { threadsAreChats }: ChannelAccess,
): string[] {
  return threadId === undefined || threadsAreChats !== true ? [chatId] : [threadId, chatId];
}

/** One code per hour for each stranger; no reply in between. */
async function offerPairing(access: AccessStore, message: InboundMessage): Promise<Verdict> {
  const code = newPairingCode();
  const isStored = await access.openPairing({
    channel: message.channel,
    senderId: message.senderId,
    senderName: message.senderName,
    codeHash: hashSecret(code),
    ttlMs: PAIRING_TTL_MS,
    maxPending: MAX_PAIRINGS,
    yieldAfterMs: PAIRING_YIELDS_MS,
  });
  if (!isStored) return { kind: 'deny', why: 'codes' };
  return { kind: 'pairing', reply: textRef('pairing.code', { code }) };
}
