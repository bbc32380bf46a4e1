/** Access: grants, pairing codes, tokens, a channel's rules, and the policy that every ingress asks. */
import { z } from 'zod';
import type { Address, InboundMessage } from './message.ts';

export type Scope = 'chat' | 'admin';

/** An authenticated HTTP caller; scopes come from the token's row only. */
export interface Caller {
  tokenId: string;
  scopes: Scope[];
}

export interface TokenRecord extends Caller {
  name: string;
  createdAt: Date;
}

/** A person's right to write privately, or a group's right to be answered; ids are the platform's immutable ones. */
export interface Grant {
  channel: string;
  kind: 'dm' | 'group';
  id: string;
  grantedAt: Date;
}

/** A stranger's pending request; the code itself is stored only as SHA-256. */
export interface PairingRecord {
  channel: string;
  senderId: string;
  senderName?: string | undefined;
  expiresAt: Date;
}

/** The rows behind access. Throws only `StoreError`; clocks are the database's. */
export interface AccessStore {
  hasGrant(channel: string, kind: Grant['kind'], id: string): Promise<boolean>;
  addGrant(channel: string, kind: Grant['kind'], id: string): Promise<void>;
  /** False when there was none. */
  removeGrant(channel: string, kind: Grant['kind'], id: string): Promise<boolean>;
  grants(): Promise<Grant[]>;
  /**
   * Stores a code for a stranger unless one was made for them within `ttlMs` or the channel holds `maxPending` live
   * ones; true when stored. One statement: two raced calls store one.
   */
  openPairing(request: {
    channel: string;
    senderId: string;
    senderName?: string | undefined;
    codeHash: string;
    ttlMs: number;
    maxPending: number;
  }): Promise<boolean>;
  /** Turns a live code into a grant and uses it up; undefined when it is unknown, used or expired. */
  approvePairing(codeHash: string): Promise<PairingRecord | undefined>;
  pairings(): Promise<PairingRecord[]>;
  tokenByHash(hash: string): Promise<TokenRecord | undefined>;
  /** Stores a token by its SHA-256; the same hash again only updates name and scopes. */
  putToken(token: { hash: string; name: string; scopes: Scope[] }): Promise<TokenRecord>;
  /** False when there was none. */
  revokeToken(tokenId: string): Promise<boolean>;
  tokens(): Promise<TokenRecord[]>;
}

/** Ids of the people and chats of a network, for its access rules in `config.json` and for `parley pair`. */
export interface ChannelIds {
  /** A person's immutable id: the whole text, from `^` to `$`. No id may hold a colon or white space. */
  userId: RegExp;
  chatId: RegExp;
  /** Completes "must be …": `a numeric id such as 123456789`. */
  description: string;
  /** The kind of a chat, if its id determines it. */
  privacyOf?: (chatId: string) => 'private' | 'group';
  /** The private chat with a person, if the person's id determines it. */
  privateChatOf?: (userId: string) => string;
}

/** True when `id` may be part of an address and the pattern matches all of it. */
export function isId(id: string, { source, flags }: Pick<RegExp, 'source' | 'flags'>): boolean {
  return !/[:\s]/.test(id) && new RegExp(`^(?:${source})$`, flags).test(id);
}

/** A channel's rules in `config.json`: `access.<channel>`. The descriptions appear in the documentation. */
export function accessRules(ids: ChannelIds) {
  const mention = z
    .boolean()
    .default(true)
    .describe('answer only when mentioned or replied to; `false` = every message');
  return z.strictObject({
    dm: z
      .enum(['pairing', 'allowlist', 'open'])
      .default('pairing')
      .describe(
        'strangers in private chats: `pairing` (a code to approve), `allowlist` (silence), `open` (everybody)',
      ),
    allow: idsOf(ids, 'userId').describe('user ids that need no pairing'),
    groups: z
      .record(idOf(ids, 'chatId'), z.strictObject({ mention }))
      .default({})
      .describe('`{"<chat id>": {"mention": true}}`: groups where the bot answers, and all their threads'),
  });
}

/** A channel's owners in `config.json`: `access.owners.<channel>`. */
export function ownersRule(ids: ChannelIds) {
  const text =
    "owners' user ids; an owner who mentions the bot in an unknown group is told the command that allows it";
  return idsOf(ids, 'userId').describe(text);
}

/** A list of ids; numbers of JSON become texts. */
function idsOf(ids: ChannelIds, kind: 'userId' | 'chatId') {
  return z.array(z.union([z.string(), z.int().transform(String)]).pipe(idOf(ids, kind))).default([]);
}

function idOf(ids: ChannelIds, kind: 'userId' | 'chatId') {
  return z
    .string()
    .refine((id) => isId(id, ids[kind]), `must be ${ids.description} (names can be taken over by others)`);
}

/** A channel's rules with its owners: who is answered there. */
export interface ChannelAccess extends z.output<ReturnType<typeof accessRules>> {
  /** Ids of people who may pair others, switch models and decide for others. */
  owners: string[];
  /** The kind of a chat, if its id determines it. */
  privacyOf?: ((chatId: string) => 'private' | 'group') | undefined;
}

/** The verdict on one message. `reply` is undefined when the right answer is silence. */
export type Verdict =
  | { kind: 'allow'; owner: boolean }
  | { kind: 'deny'; reply?: string }
  | { kind: 'pairing'; reply: string };

/** Decides for every ingress who is answered. */
export interface AccessPolicy {
  /** May this message's sender write here? Throws only `StoreError`. */
  authorize(message: InboundMessage, caller?: Caller): Promise<Verdict>;
  /** Whether this user id (`telegram:42`, `token:<id>`) is an owner's. Throws only `StoreError`. */
  isOwner(userId: string): Promise<boolean>;
  /** The caller behind an `Authorization` header's value, or undefined. Compares digests only. */
  authenticate(authorization: string | undefined): Promise<Caller | undefined>;
}

/** The rights of a schedule's creator, who does not write at the moment it is due. Throws only `StoreError`. */
export interface CreatorAccess {
  /** The kind of chat at an address where its creator may write. */
  placeOf(address: Address): Promise<InboundMessage['place']>;
  /** May this user (`telegram:42`, `token:<id>`) still have the gateway write to this address? */
  isStillAllowed(userId: string, address: Address, place: InboundMessage['place']): Promise<boolean>;
}
