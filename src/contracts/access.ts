/** Who may speak and act: grants, pairing codes, tokens, and the one question every ingress asks. */
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

/** How a bot channel treats people; part of the configuration. */
export interface ChannelAccess {
  dm: 'pairing' | 'allowlist' | 'open';
  /** Numeric platform ids. */
  allow: string[];
  /** Groups that are answered, by chat id; `mention: false` answers every message there. */
  groups: Record<string, { mention: boolean }>;
  /** Numeric ids that may pair, switch models and decide for others. */
  owners: string[];
}

/** The verdict on one message. `reply` is undefined when the right answer is silence. */
export type Verdict =
  | { kind: 'allow'; owner: boolean }
  | { kind: 'deny'; reply?: string }
  | { kind: 'pairing'; reply: string };

/** The door-keeper: every ingress kind asks it, nobody decides alone. */
export interface AccessPolicy {
  /** May this message's sender speak here? Throws only `StoreError`. */
  authorize(message: InboundMessage, caller?: Caller): Promise<Verdict>;
  /** Whether this user id (`telegram:42`, `token:<id>`) is an owner's. Throws only `StoreError`. */
  isOwner(userId: string): Promise<boolean>;
  /** The caller behind an `Authorization` header's value, or undefined. Compares digests only. */
  authenticate(authorization: string | undefined): Promise<Caller | undefined>;
}

/** The rights of people who are not writing just now: of whoever made a schedule. Throws only `StoreError`. */
export interface CreatorAccess {
  /** What kind of place an address is, while somebody may write there. */
  placeOf(address: Address): Promise<InboundMessage['place']>;
  /** May this user (`telegram:42`, `token:<id>`) still have the house speak at this address? */
  isStillAllowed(userId: string, address: Address, place: InboundMessage['place']): Promise<boolean>;
}
