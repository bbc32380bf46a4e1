/** Access: grants, pairing codes, tokens, a channel's rules, and the policy that every ingress consults. */
import { z } from 'zod';
import type { Address, InboundMessage } from './message.ts';
import type { GroupChat } from './store/group-chats.ts';
import type { TextRef } from './texts/say.ts';

/**
 * What a token may do: `chat` = use its own sessions, `approve` = decide what those ask, `commands` = run texts that
 * start with a command as one, `admin` = everything, in every session.
 */
export const SCOPES = ['chat', 'approve', 'commands', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

/** An authenticated HTTP caller; scopes come from the token's row only. */
export interface Caller {
  tokenId: string;
  scopes: Scope[];
  name?: string | undefined;
  /** The user that an identity proxy named, for a browser that signed in that way. */
  proxyUser?: string | undefined;
}

/** Whether the caller has the scope; `admin` implies the others. */
export function hasScope({ scopes }: Pick<Caller, 'scopes'>, scope: Scope): boolean {
  return scopes.includes(scope) || scopes.includes('admin');
}

/** Where a token comes from: the variable GATEWAY_TOKEN, the file `token` in the home, or `parley token`. */
export type TokenOrigin = 'env' | 'file' | 'cli';

export interface TokenRecord extends Caller {
  name: string;
  origin: TokenOrigin;
  createdAt: Date;
  /** Undefined = never. */
  expiresAt?: Date | undefined;
  expired: boolean;
  /** To within a few minutes; undefined = never. */
  lastUsedAt?: Date | undefined;
}

/** A token to store; only its SHA-256 is known. */
export interface NewToken {
  hash: string;
  name: string;
  scopes: Scope[];
}

/**
 * A person's right to write privately (`dm`) or as an owner, or the right to be answered: of a group, of everyone in a
 * guild, or of a role there. Ids are the platform's immutable ones.
 */
export const GRANT_KINDS = ['dm', 'group', 'owner', 'guild', 'role'] as const;

/** A granted right. */
export interface Grant {
  channel: string;
  kind: (typeof GRANT_KINDS)[number];
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
export interface AccessStore extends TokenStore {
  hasGrant(channel: string, kind: Grant['kind'], id: string): Promise<boolean>;
  addGrant(channel: string, kind: Grant['kind'], id: string): Promise<void>;
  /** False when there was none. */
  removeGrant(channel: string, kind: Grant['kind'], id: string): Promise<boolean>;
  grants(): Promise<Grant[]>;
  /**
   * Stores a code for a stranger unless one was made within `ttlMs`; true when stored. At `maxPending` live ones, the
   * oldest is replaced if it is older than `yieldAfterMs` (default: never). Of two concurrent calls, one stores.
   */
  openPairing(request: {
    channel: string;
    senderId: string;
    senderName?: string | undefined;
    codeHash: string;
    ttlMs: number;
    maxPending: number;
    yieldAfterMs?: number | undefined;
  }): Promise<boolean>;
  /**
   * Turns a live code into a grant; undefined when it is unknown, used or expired. With `firstOwns` the first person
   * also becomes an owner; of two concurrent calls, one does.
   */
  approvePairing(
    codeHash: string,
    options?: { firstOwns: boolean },
  ): Promise<(PairingRecord & { isOwner: boolean }) | undefined>;
  pairings(): Promise<PairingRecord[]>;
}

/** The rows of tokens. Throws only `StoreError`; clocks are the database's. */
export interface TokenStore {
  /** The valid tokens of these hashes, also of browsers' sessions, with the user that a proxy named, in one read. */
  tokensByHash(hashes: readonly string[]): Promise<(TokenRecord & { hash: string })[]>;
  token(tokenId: string): Promise<TokenRecord | undefined>;
  /** All tokens that were not revoked, expired ones included, oldest first. */
  tokens(): Promise<TokenRecord[]>;
  /** Stores a token of origin `cli`; the same hash again only updates name and scopes. `expiresInMs` undefined = never. */
  putToken(token: NewToken & { expiresInMs?: number | undefined }): Promise<TokenRecord>;
  /**
   * Makes this the only token of its origin: the previous one is revoked, and its id and everything of it now belong to
   * this one. Undefined if this very token was revoked before: it stays revoked.
   */
  replaceToken(origin: 'env' | 'file', token: NewToken): Promise<TokenRecord | undefined>;
  removeTokens(origin: 'env' | 'file'): Promise<void>;
  /** Stores a token if no other is valid; true when stored. Of two concurrent calls, one stores. */
  addFirstToken(origin: 'file' | 'cli', token: NewToken): Promise<boolean>;
  /** Replaces a token's secret; the previous one stops working. Undefined when there is no such token. */
  rotateToken(tokenId: string, hash: string): Promise<TokenRecord | undefined>;
  /** Changes what is given; `expiresInMs` null = never. Undefined when there is no such token. */
  changeToken(
    tokenId: string,
    change: {
      name?: string | undefined;
      scopes?: Scope[] | undefined;
      expiresInMs?: number | null | undefined;
    },
  ): Promise<TokenRecord | undefined>;
  /** Revokes a token permanently, also one from the environment or a file. False when there was none. */
  revokeToken(tokenId: string): Promise<boolean>;
  /** Notes that a token, or the browser session with this digest, is used now, unless that was noted within `everyMs`. */
  noteTokenUse(tokenId: string, everyMs: number, hash: string): Promise<void>;
}

/** Ids of the people and chats of a network, for its access rules in `config.json` and for `parley pair`. */
export interface ChannelIds {
  /** A person's immutable id: the whole text, from `^` to `$`. No id may contain white space. */
  userId: RegExp;
  chatId: RegExp;
  /** Completes "must be …": `a numeric id such as 123456789`. */
  description: string;
  privacyOf?: (chatId: string) => 'private' | 'group';
  privateChatOf?: (userId: string) => string;
  /** People belong to guilds and have roles there, both of which can be allowed. */
  memberships?: true;
  /** The id of a thread looks like a chat's and is unique among them: a thread can be allowed on its own. */
  threadsAreChats?: true;
}

/** True when all of `id` matches the pattern and it may be part of an address, which white space would end. */
export function isId(id: string, { source, flags }: Pick<RegExp, 'source' | 'flags'>): boolean {
  return !/\s/.test(id) && new RegExp(`^(?:${source})$`, flags).test(id);
}

/** A channel's rules in `config.json`: `access.<channel>`. The descriptions appear in the documentation. */
export function accessRules(ids: ChannelIds) {
  const rules = chatRules(ids);
  return ids.memberships === true ? rules.extend(membershipRules(ids)) : rules;
}

function chatRules(ids: ChannelIds) {
  const mention = z
    .boolean()
    .default(true)
    .describe('answer only when mentioned or replied to; `false` = every message');
  const observe = z
    .boolean()
    .optional()
    .describe(
      'keep the last messages without a mention, for the next answer; an owner’s `/observe` takes precedence',
    );
  return z.strictObject({
    dm: z
      .enum(['pairing', 'allowlist', 'open'])
      .default('pairing')
      .describe(
        'strangers in private chats: `pairing` (a code to approve), `allowlist` (silence), `open` (everyone)',
      ),
    allow: idsOf(ids, 'userId').describe('user ids that need no pairing'),
    groups: z
      .record(idOf(ids, 'chatId'), z.strictObject({ mention, observe }))
      .default({})
      .describe(
        '`{"<chat id>": {"mention": true, "observe": false}}`: groups where the bot answers, and all their threads',
      ),
  });
}

function membershipRules(ids: ChannelIds) {
  return {
    guilds: idsOf(ids, 'chatId').describe('ids of guilds: everyone in them is answered in all their chats'),
    roles: idsOf(ids, 'chatId').describe(
      'ids of roles: everyone who has one is answered in all chats of its guild',
    ),
  };
}

/** A channel's owners in `config.json`: `access.owners.<channel>`. */
export function ownersRule(ids: ChannelIds) {
  const text =
    "owners' user ids; an owner who mentions the bot in an unknown group is shown the command that allows it";
  return idsOf(ids, 'userId').describe(text);
}

/** A list of ids; JSON numbers become texts. */
function idsOf(ids: ChannelIds, kind: 'userId' | 'chatId') {
  return z.array(z.union([z.string(), z.int().transform(String)]).pipe(idOf(ids, kind))).default([]);
}

function idOf(ids: ChannelIds, kind: 'userId' | 'chatId') {
  return z
    .string()
    .refine((id) => isId(id, ids[kind]), `must be ${ids.description} (names can be taken over by others)`);
}

/** A channel's rules with its owners: who is answered there. */
export interface ChannelAccess extends z.output<ReturnType<typeof chatRules>> {
  guilds?: string[] | undefined;
  roles?: string[] | undefined;
  /** Ids of people who may pair others, switch models and decide for others. */
  owners: string[];
  privacyOf?: ((chatId: string) => 'private' | 'group') | undefined;
  threadsAreChats?: true | undefined;
}

/**
 * `group`: it has no grant; `not_mentioned`: a message there must name the bot; `codes`: too many pairing codes are
 * pending; `bot`: another bot wrote in private.
 */
export type DenialDetail = 'group' | 'not_mentioned' | 'codes' | 'bot';

/** The verdict on one message. `reply` is undefined when the right answer is silence. */
export type Verdict =
  | { kind: 'allow'; owner: boolean }
  /** The message starts no turn; it is kept for the next one in its group. */
  | { kind: 'observe' }
  /** `why` tells operators more than just that the sender has no access. */
  | { kind: 'deny'; reply?: TextRef; why?: DenialDetail }
  | { kind: 'pairing'; reply: TextRef };

/** Decides for every ingress who is answered. */
export interface AccessPolicy {
  authorize(message: InboundMessage, caller?: Caller): Promise<Verdict>;
  /** The same without side effects: a stranger gets no pairing code. Throws only `StoreError`. */
  mayWrite(message: InboundMessage): Promise<{ owner: boolean } | undefined>;
  /** Whether this user id (`telegram:42`, `token:<id>`) is an owner's. Throws only `StoreError`. */
  isOwner(userId: string): Promise<boolean>;
  /** Whether messages of a group that do not name the bot are kept. Throws only `StoreError`. */
  observes(chat: GroupChat): Promise<boolean>;
  /** Ids of a channel's groups in which the bot answers. Throws only `StoreError`. */
  groups(channel: string): Promise<string[]>;
  /** The caller behind an `Authorization` header's value, or undefined. Compares digests only. */
  authenticate(authorization: string | undefined): Promise<Caller | undefined>;
  /** The callers behind these values as they are now, bypassing any cache; invalid ones are missing. */
  recheck(authorizations: readonly string[]): Promise<ReadonlyMap<string, Caller>>;
}

/** The rights of a schedule's creator, who is not the one writing when it is due. Throws only `StoreError`. */
export interface CreatorAccess {
  placeOf(address: Address): Promise<InboundMessage['place']>;
  /** Whether this user id (`telegram:42`, `token:<id>`) is an owner's. */
  isOwner(userId: string): Promise<boolean>;
  /**
   * May the gateway still write to this address for this user (`telegram:42`, `token:<id>`)? In a group only for an
   * owner: other members come and go, and a schedule would outlive them.
   */
  isStillAllowed(userId: string, address: Address, place: InboundMessage['place']): Promise<boolean>;
  /** True where a token without `admin` would read what the gateway writes on its own: its session was made before the settings named it. */
  isTaken(address: Address): Promise<boolean>;
}
