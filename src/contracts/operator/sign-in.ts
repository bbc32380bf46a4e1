/** Signing in on the page without a token: a code that works once becomes a browser's session. */
import type { Caller } from '../access.ts';

/** How long a code works, and a session that it begins, in milliseconds. */
export const CODE_MS = 10 * 60_000;
export const SIGN_IN_MS = 30 * 24 * 3_600_000;
/** Sessions of one token; a further one ends the oldest. Codes of one token that work at a time, likewise. */
export const MAX_SIGN_INS = 50;
export const MAX_CODES = 10;

/** A browser that is signed in. */
export interface SignIn {
  id: string;
  tokenId: string;
  /** What the browser calls itself. */
  client: string;
  createdAt: Date;
  expiresAt: Date;
}

/** The rows; only SHA-256 of codes and cookies are known, clocks are the database's. Throws only `StoreError`. */
export interface SignInStore {
  addCode(code: { hash: string; tokenId: string; ttlMs: number }): Promise<void>;
  /** Uses a code up and begins a session of its token. False when it is unknown, used or expired, or its token is not valid. */
  redeemCode(codeHash: string, session: { hash: string; client: string; ttlMs: number }): Promise<boolean>;
  /** The sessions of a token, or of all, newest first. */
  signIns(tokenId?: string): Promise<SignIn[]>;
  /** Ends a session of a token, or of any. False when there is none. */
  endSignIn(id: string, tokenId?: string): Promise<boolean>;
  /** Ends the session with that cookie. */
  endSignInOf(hash: string): Promise<void>;
}

/** Signing in, as channels use it. Throws only `GatewayError`. */
export interface SignInApi {
  /** The secret of a new session for a code; undefined when the code does not work. */
  redeem(code: string, client: string): Promise<string | undefined>;
  /** The sessions of the caller's token; for admins all. */
  list(caller: Caller): Promise<SignIn[]>;
  /** False when the caller has no such session. */
  end(caller: Caller, id: string): Promise<boolean>;
  /** Ends the session of this secret. */
  signOut(secret: string): Promise<void>;
}
