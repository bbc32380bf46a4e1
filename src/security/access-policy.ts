/** The one question every ingress asks: may this sender speak here? Default is no. */
import type { AccessStore, Caller, ChannelAccess, AccessPolicy, Verdict } from '../contracts/access.ts';
import { Recent } from '../lib/recent.ts';
import type { InboundMessage } from '../contracts/message.ts';
import { hashSecret, newPairingCode } from './secrets.ts';
import { createAuthenticator } from './tokens.ts';

/** A pairing code lives this long, and a stranger gets at most one in that time. */
const PAIRING_TTL_MS = 3_600_000;
/** Live codes a channel may hold; further strangers hear nothing until one is used or expires. */
export const MAX_PAIRINGS = 100;
/** How long a grant is cached without asking the store: a revoked grant dies within this time. */
export const GRANT_CACHE_MS = 2_000;
const MAX_CACHED = 10_000;

export interface AccessPolicyDeps {
  access: AccessStore;
  /** How the channel treats people; undefined = a channel without people (`http`). */
  channelAccess: (channel: string) => ChannelAccess | undefined;
  /** Milliseconds of a steady clock. */
  now: () => number;
}

/** Makes the access policy. */
export function createAccessPolicy(deps: AccessPolicyDeps): AccessPolicy {
  const grants = new Recent<true>(GRANT_CACHE_MS, MAX_CACHED, deps.now);

  async function granted(channel: string, kind: 'dm' | 'group', id: string): Promise<boolean> {
    const key = `${channel}:${kind}:${id}`;
    if (grants.get(key) !== undefined) return true;
    const found = await deps.access.hasGrant(channel, kind, id);
    if (found) grants.set(key, true);
    return found;
  }

  return {
    authenticate: createAuthenticator(deps.access, deps.now),
    async isOwner(userId) {
      const [, channel = '', id = ''] = /^([^:]+):(.+)$/s.exec(userId) ?? [];
      if (channel !== 'token') return deps.channelAccess(channel)?.owners.includes(id) ?? false;
      const tokens = await deps.access.tokens();
      return tokens.some(({ tokenId, scopes }) => tokenId === id && scopes.includes('admin'));
    },
    async authorize(message, caller) {
      if (message.channel === 'http') return authorizeCaller(caller);
      const rules = deps.channelAccess(message.channel);
      if (rules === undefined) return { kind: 'deny' };
      const owner = rules.owners.includes(message.senderId);
      if (message.place === 'group') {
        return authorizeGroup(message, rules, owner, await granted(message.channel, 'group', message.chatId));
      }
      if (owner || rules.dm === 'open' || rules.allow.includes(message.senderId))
        return { kind: 'allow', owner };
      if (await granted(message.channel, 'dm', message.senderId)) return { kind: 'allow', owner };
      return rules.dm === 'pairing' ? await offerPairing(deps.access, message) : { kind: 'deny' };
    },
  };
}

function authorizeCaller(caller: Caller | undefined): Verdict {
  if (caller === undefined || !caller.scopes.includes('chat')) return { kind: 'deny' };
  return { kind: 'allow', owner: caller.scopes.includes('admin') };
}

/** A group needs its own grant, whoever speaks there, and by default the bot's name in the message. */
function authorizeGroup(
  message: InboundMessage,
  rules: ChannelAccess,
  owner: boolean,
  granted: boolean,
): Verdict {
  const listed = Object.hasOwn(rules.groups, message.chatId) ? rules.groups[message.chatId] : undefined;
  if (listed === undefined && !granted) {
    if (!owner || !message.mentioned) return { kind: 'deny' };
    return {
      kind: 'deny',
      reply: `This group is not allowed yet. On the gateway's machine run: npx parley pair group ${message.channel} ${message.chatId}`,
    };
  }
  if ((listed?.mention ?? true) && !message.mentioned) return { kind: 'deny' };
  return { kind: 'allow', owner };
}

/** One code an hour for each stranger; silence in between. */
async function offerPairing(access: AccessStore, message: InboundMessage): Promise<Verdict> {
  const code = newPairingCode();
  const stored = await access.openPairing({
    channel: message.channel,
    senderId: message.senderId,
    senderName: message.senderName,
    codeHash: hashSecret(code),
    ttlMs: PAIRING_TTL_MS,
    maxPending: MAX_PAIRINGS,
  });
  if (!stored) return { kind: 'deny' };
  return {
    kind: 'pairing',
    reply: `Hello! I do not know you yet. Ask the person who runs me to approve this code within an hour:\n\nnpx parley pair approve ${code}`,
  };
}
