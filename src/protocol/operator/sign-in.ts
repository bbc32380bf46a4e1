/** Single-use secrets: the code of a link becomes a browser's session, a ticket opens a stream. */
import type { Caller } from '../access.ts';
import { z } from 'zod';

/** How long a code works, and how long a session that it starts lasts, in milliseconds. */
export const CODE_MS = 10 * 60_000;
export const SIGN_IN_MS = 30 * 24 * 3_600_000;
/** A session with admin rights ends earlier when it is not used for this long, in milliseconds. */
export const ADMIN_SIGN_IN_MS = 3 * 24 * 3_600_000;
/** How long a session lasts that a proxy started: people whom it no longer admits lose it within a day. */
export const PROXY_SIGN_IN_MS = 24 * 3_600_000;
/** Sessions of one token; a further one ends the oldest. The same for valid codes of one token. */
export const MAX_SIGN_INS = 50;
export const MAX_CODES = 10;
/** How long a ticket waits for its stream, and how long the stream may be open, in milliseconds. */
export const TICKET_MS = 60_000;
export const TICKET_STREAM_MS = 24 * 3_600_000;
/** Pending tickets of one token, and streams opened with them; a further one ends the oldest. */
export const MAX_TICKETS = 100;
export const MAX_TICKET_STREAMS = 1_000;

/** What works once, and what it starts. */
export type OnceKind = 'code' | 'ticket';

/** A browser that is signed in. */
export interface SignIn {
  id: string;
  tokenId: string;
  /** The user that a proxy named, or the person (`telegram:42`) that a network's app did; undefined after a link. */
  proxyUser?: string | undefined;
  /** What the browser calls itself. */
  client: string;
  createdAt: Date;
  /** With admin rights each use moves it, up to `SIGN_IN_MS` after the start. */
  expiresAt: Date;
  /** Within a few minutes; undefined = not yet. */
  lastUsedAt?: Date | undefined;
  /** It is the one with the given cookie. */
  isOwn: boolean;
}

/** The rows, with SHA-256 digests of codes and cookies; clocks are the database's. Throws only `StoreError`. */
export interface SignInStore {
  addCode(
    kind: OnceKind,
    code: { hash: string; tokenId: string; proxyUser?: string | undefined; ttlMs: number },
  ): Promise<void>;
  /**
   * Uses up a code or ticket and starts a session, or grants one stream, of its token. False if it is unknown, used or
   * expired, or its token is not valid.
   */
  redeemCode(
    kind: OnceKind,
    codeHash: string,
    session: { hash: string; client: string; ttlMs: number },
  ): Promise<boolean>;
  /** Starts a session of a token for a user that a proxy named. */
  addProxySession(session: {
    hash: string;
    tokenId: string;
    proxyUser: string;
    client: string;
    ttlMs: number;
  }): Promise<void>;
  /** True for a session of this token and this user that has not ended. */
  hasProxySession(session: { hash: string; tokenId: string; proxyUser: string }): Promise<boolean>;
  /** The sessions of a token, or of all, newest first; `own` is the digest of the requesting session's cookie. */
  signIns(filter: { tokenId?: string | undefined; own?: string | undefined }): Promise<SignIn[]>;
  /** Ends all sessions of a token, or of all tokens, except the one with that cookie; returns how many. */
  endOtherSignIns(filter: { tokenId?: string | undefined; own?: string | undefined }): Promise<number>;
  /** Ends a session of a token, or of any. False when there is none. */
  endSignIn(id: string, tokenId?: string): Promise<boolean>;
  /** Ends the session with that cookie, or the right to a stream. */
  endSignInOf(hash: string): Promise<void>;
}

/**
 * Reads what a network has signed for a person who opens the page inside its app: their id there. `expired`: it is
 * genuine, and too old.
 */
export type ReadSignIn = (signed: string) => { userId: string } | 'forged' | 'expired';

/** The query with which the page may be shown in a frame of a network's own web page. */
export const FRAMED = 'framed';

/** The result of a sign-in through a proxy, or inside the app of a network. */
export type OthersSignInResult =
  /** `secret` is that of a new session, or of the browser's existing one if that continues. */
  | { kind: 'signed_in'; secret: string }
  /** `text` is for the person, who currently may not sign in. */
  | { kind: 'refused'; code: 'unknown_user' | 'unknown_token' | 'invalid_sign_in'; text: string };

/** Sign-in, as channels use it. Throws only `GatewayError`. */
export interface SignInApi {
  /** The secret of a new session for a code; undefined when the code does not work. */
  redeem(code: string, client: string): Promise<string | undefined>;
  /** Origins of the networks' web pages that may show the page in a frame, with the query `FRAMED`. */
  frames(): readonly string[];
  /** The header, in lower case, in which trusted proxies name the user; undefined while that is off. */
  proxyHeader(): string | undefined;
  /** Signs in the user that a trusted proxy named; `current` is the secret of the browser's session. */
  byProxy(asked: { user: string; client: string; current: string | undefined }): Promise<OthersSignInResult>;
  /**
   * Signs in the person whom the app of one of the networks names in `signed`. Their rights are those in their private
   * chat there, and end with them.
   */
  inApp(asked: { signed: string; client: string }): Promise<OthersSignInResult>;
  /** The sessions of the caller's token; for admins all. `secret` is the requesting session's. */
  list(caller: Caller, secret?: string): Promise<SignIn[]>;
  /** Ends all that `list` returns except the requesting one; returns how many. */
  endOthers(caller: Caller, secret?: string): Promise<number>;
  /** False when the caller has no such session. */
  end(caller: Caller, id: string): Promise<boolean>;
  /** Ends the session, or the right to a stream, of this secret. */
  signOut(secret: string): Promise<void>;
  /** A ticket that opens one stream with the caller's rights, within `TICKET_MS`. */
  ticket(caller: Caller): Promise<string>;
  /** The secret of a stream's authorization `Session …`, which never leaves the gateway; undefined for a bad ticket. */
  redeemTicket(ticket: string): Promise<string | undefined>;
}

/** Longest name of a user, in UTF-16 units. */
export const MAX_PROXY_USER = 256;

/** Most users of one gateway. */
export const MAX_PROXY_USERS = 1_000;

const tokenName = z.string().min(1).max(200);

/** The field `proxySignIn`. */
export const proxySignInRule = z.strictObject({
  userHeader: z
    .string()
    .regex(/^[A-Za-z0-9-]{1,100}$/, 'must be the name of a header, such as X-Forwarded-User')
    .default('X-Forwarded-User')
    .describe(
      'header in which the proxy names the user; it is read on connections from `channels.http.trustedProxies` alone, and the proxy must replace what clients send in it',
    ),
  users: z
    .record(z.string().min(1).max(MAX_PROXY_USER), tokenName)
    .refine((users) => Object.keys(users).length <= MAX_PROXY_USERS, `at most ${MAX_PROXY_USERS} users`)
    .default({})
    .describe('for each user the name of the token whose rights they have: `{"ada@example.org": "admin"}`'),
  default: tokenName
    .optional()
    .describe('name of the token of all other users of the proxy; unset = they are refused'),
});

export type ProxySignIn = z.infer<typeof proxySignInRule>;

/** The name of the token of this user; undefined for one who may not sign in. */
export function proxyTokenOf(rule: ProxySignIn | undefined, user: string): string | undefined {
  if (rule === undefined) return undefined;
  return Object.hasOwn(rule.users, user) ? rule.users[user] : rule.default;
}
