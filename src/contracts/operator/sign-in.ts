/** Secrets that work once: the code of a link becomes a browser's session, a ticket opens a stream. */
import type { Caller } from '../access.ts';

/** How long a code works, and a session that it begins, in milliseconds. */
export const CODE_MS = 10 * 60_000;
export const SIGN_IN_MS = 30 * 24 * 3_600_000;
/** The same of a session that a proxy has begun: whom the proxy no longer lets in has none a day later, in milliseconds. */
export const PROXY_SIGN_IN_MS = 24 * 3_600_000;
/** Sessions of one token; a further one ends the oldest. Codes of one token that work at a time, likewise. */
export const MAX_SIGN_INS = 50;
export const MAX_CODES = 10;
/** How long a ticket waits for its stream, and how long the stream may be open, in milliseconds. */
export const TICKET_MS = 60_000;
export const TICKET_STREAM_MS = 24 * 3_600_000;
/** Tickets of one token that wait at a time, and streams that were opened by them; a further one ends the oldest. */
export const MAX_TICKETS = 100;
export const MAX_TICKET_STREAMS = 1_000;

/** What works once, and what it begins. */
export type OnceKind = 'code' | 'ticket';

/** A browser that is signed in. */
export interface SignIn {
  id: string;
  tokenId: string;
  /** The user whom a proxy has named; undefined after a link. */
  proxyUser?: string | undefined;
  /** What the browser calls itself. */
  client: string;
  createdAt: Date;
  expiresAt: Date;
  /** Within a few minutes; undefined = not yet. */
  lastUsedAt?: Date | undefined;
  /** It is the one whose cookie was given. */
  isOwn: boolean;
}

/** The rows; only SHA-256 of codes and cookies are known, clocks are the database's. Throws only `StoreError`. */
export interface SignInStore {
  addCode(
    kind: OnceKind,
    code: { hash: string; tokenId: string; proxyUser?: string | undefined; ttlMs: number },
  ): Promise<void>;
  /**
   * Uses a code or ticket up and begins a session, or the right to one stream, of its token. False when it is unknown,
   * used or expired, or its token is not valid.
   */
  redeemCode(
    kind: OnceKind,
    codeHash: string,
    session: { hash: string; client: string; ttlMs: number },
  ): Promise<boolean>;
  /** Begins a session of a token for a user whom a proxy has named. */
  addProxySession(session: {
    hash: string;
    tokenId: string;
    proxyUser: string;
    client: string;
    ttlMs: number;
  }): Promise<void>;
  /** True for a session of this token and this user that is not over. */
  hasProxySession(session: { hash: string; tokenId: string; proxyUser: string }): Promise<boolean>;
  /** The sessions of a token, or of all, newest first; `own` is the digest of the asking one's cookie. */
  signIns(filter: { tokenId?: string | undefined; own?: string | undefined }): Promise<SignIn[]>;
  /** Ends all sessions of a token, or of all tokens, but the one with that cookie; gives how many. */
  endOtherSignIns(filter: { tokenId?: string | undefined; own?: string | undefined }): Promise<number>;
  /** Ends a session of a token, or of any. False when there is none. */
  endSignIn(id: string, tokenId?: string): Promise<boolean>;
  /** Ends the session with that cookie, or the right to a stream. */
  endSignInOf(hash: string): Promise<void>;
}

/** What became of a sign-in by the word of a proxy. */
export type ProxySignInResult =
  /** `secret` is that of a new session, or of the browser's own where that goes on. */
  | { kind: 'signed_in'; secret: string }
  /** `text` is for the person, who may not sign in as things are. */
  | { kind: 'refused'; code: 'unknown_user' | 'unknown_token'; text: string };

/** Signing in, as channels use it. Throws only `GatewayError`. */
export interface SignInApi {
  /** The secret of a new session for a code; undefined when the code does not work. */
  redeem(code: string, client: string): Promise<string | undefined>;
  /** The header, in lower case, in which trusted proxies name the user; undefined while that is off. */
  proxyHeader(): string | undefined;
  /** Signs in the user whom a trusted proxy has named; `current` is the secret of the browser's session. */
  byProxy(asked: { user: string; client: string; current: string | undefined }): Promise<ProxySignInResult>;
  /** The sessions of the caller's token; for admins all. `secret` is that of the asking session, if there is one. */
  list(caller: Caller, secret?: string): Promise<SignIn[]>;
  /** Ends all that `list` gives but the asking one; gives how many. */
  endOthers(caller: Caller, secret?: string): Promise<number>;
  /** False when the caller has no such session. */
  end(caller: Caller, id: string): Promise<boolean>;
  /** Ends the session, or the right to a stream, of this secret. */
  signOut(secret: string): Promise<void>;
  /** A ticket that opens one stream with the caller's rights, within `TICKET_MS`. */
  ticket(caller: Caller): Promise<string>;
  /** The secret of a stream's authorization `Session …`, which the gateway keeps to itself; undefined when the ticket does not work. */
  redeemTicket(ticket: string): Promise<string | undefined>;
}
