/** Surfaces: the chats that share one session, and the codes with which another one joins. */
import type { Caller } from '../access.ts';
import type { Address, SessionKey } from '../message.ts';

/** Most surfaces of one session. */
export const MAX_SURFACES = 8;

/** Previous conversations of a chat that are remembered, to recognize messages that its platform repeats. */
export const MAX_EARLIER_SESSIONS = 8;
/** How long a code can be entered and agreed to, in milliseconds. */
export const LINK_CODE_MS = 10 * 60_000;
/**
 * Wrong codes within `LINK_TRIES_MS`, by one person, in one chat, and by everyone. Beyond the latter two, only the right
 * code is still accepted.
 */
export const LINK_TRIES = { person: 5, chat: 10, total: 100 } as const;
/** The time in which wrong codes are counted, in milliseconds. */
export const LINK_TRIES_MS = 10 * 60_000;

/** A chat of a session, and who brought it in. */
export interface SurfaceEnd {
  address: Address;
  place: 'private' | 'group';
  /** The person; display only. */
  name?: string | undefined;
  /** Their user id: `telegram:42`, `token:<id>`. */
  userId: string;
}

/** A chat that shares a session with others. A session that one chat alone uses has none. */
export interface Surface extends SurfaceEnd {
  linkedAt: Date;
}

/** A link that is pending until both sides agree. */
export interface OpenLink {
  /** Identifies this link in button values and over HTTP; it cannot be entered. */
  id: string;
  /** The conversation that continues: that of the `host`. */
  session: SessionKey;
  from: SurfaceEnd;
  to: SurfaceEnd;
  agreed: { from: boolean; to: boolean };
}

/**
 * The chat whose conversation continues, and the one that joins it. A chat on the web keeps its own, because clients refer
 * to its session; otherwise the giver of the code does.
 */
export function sidesOf({ from, to }: Pick<OpenLink, 'from' | 'to'>): {
  host: SurfaceEnd;
  guest: SurfaceEnd;
} {
  return to.address.startsWith('http:') ? { host: to, guest: from } : { host: from, guest: to };
}

/** The result of entering a code. Only `asked` and `again` reveal anything about whose code it is. */
export type EnteredCode =
  /** Both sides are asked now; `again`: this chat has entered the code before. */
  | { kind: 'asked'; link: OpenLink; again: boolean }
  /** There is no such code; `triesLeft` more may be tried. */
  | { kind: 'unknown'; triesLeft: number }
  | { kind: 'expired' }
  | { kind: 'used' }
  /** Too many wrong codes; `reached` is true for the attempt that reached the limit. */
  | { kind: 'limited'; retryAfterMs: number; reached: boolean }
  /** The chat that gave the code, or one that already shares its session. */
  | { kind: 'same' }
  /** This chat shares another session. `giver`: it gave the code, and cannot leave that session without being asked. */
  | { kind: 'linked'; giver: boolean }
  /** Both chats are on the web, where each session is separate. */
  | { kind: 'web' }
  | { kind: 'full'; limit: number };

/** The result of an agreement. */
export type AgreedLink =
  | { kind: 'joined'; session: SessionKey; link: OpenLink; surfaces: Surface[] }
  /** The other side has not agreed yet. */
  | { kind: 'waiting'; link: OpenLink }
  | { kind: 'none' }
  | { kind: 'forbidden' }
  | { kind: 'full'; limit: number };

/** A surface that left, with those that still share its session, or did until then. */
export interface LeftSurface {
  session: SessionKey;
  left: Surface;
  others: Surface[];
}

/** Throws only `StoreError`. */
export interface SurfaceStore {
  /** Oldest first; empty for a session that one chat alone uses. */
  surfaces(session: SessionKey): Promise<Surface[]>;
  surface(address: Address): Promise<Surface | undefined>;
  /** Stores a code by its SHA-256; an earlier one of this chat ends. Undefined when the session has `MAX_SURFACES`. */
  giveCode(
    hash: string,
    from: SurfaceEnd & { session: SessionKey },
  ): Promise<{ expiresAt: Date } | undefined>;
  /** Records who has entered a code. */
  enterCode(hash: string, to: SurfaceEnd): Promise<EnteredCode>;
  /** The newest link that waits for this chat or for its other side; undefined = none. */
  openLink(address: Address): Promise<OpenLink | undefined>;
  /**
   * Agrees for one side of the newest open link of this chat, or of the one with this `id`; once both agree they share the
   * session.
   */
  agree(by: {
    address: Address;
    userId: string;
    owner: boolean;
    id?: string | undefined;
  }): Promise<AgreedLink>;
  /** Ends the newest open link of this chat, or the one with this `id`; undefined when there is none. */
  decline(address: Address, id?: string): Promise<OpenLink | undefined>;
  /** Separates a chat: it returns to its earlier conversation, or starts one. Undefined if it shares no session. */
  leave(address: Address): Promise<LeftSurface | undefined>;
}

/** How to enter a code on some networks. */
export interface LinkCommand {
  command: string;
  networks: string[];
}

/** A code for another chat. */
export interface GivenCode {
  code: string;
  /** At least one unless no other network is enabled. */
  commands: LinkCommand[];
  expiresAt: Date;
}

/** The chats of a session over HTTP; undefined for a session that the caller may not see. Throws `GatewayError`. */
export interface SurfaceApi {
  /** The chats that share the session, oldest first, and the other side of a link that waits for this one. */
  list(
    caller: Caller,
    key: SessionKey,
  ): Promise<{ surfaces: Surface[]; asks: (SurfaceEnd & { id: string }) | undefined } | undefined>;
  /** A code for another chat. Throws `GatewayError('not_an_http_session' | 'too_many_surfaces')`. */
  giveCode(caller: Caller, key: SessionKey): Promise<GivenCode | undefined>;
  /**
   * Enters the code of another chat, which is then asked, as this session is. Throws
   * `GatewayError('not_an_http_session' | 'unknown_code' | 'code_expired' | 'code_used' | 'rate_limited' |
   * 'not_linkable' | 'too_many_surfaces')`.
   */
  enterCode(
    caller: Caller,
    key: SessionKey,
    code: string,
  ): Promise<{ asks: SurfaceEnd & { id: string }; again: boolean } | undefined>;
  /**
   * Agrees to, or declines, a code given or entered here; `link` is the code or the link's id. Throws
   * `GatewayError('not_asked')`.
   */
  answer(
    caller: Caller,
    key: SessionKey,
    link: string,
    agrees: boolean,
  ): Promise<'joined' | 'waiting' | 'declined' | undefined>;
  /** Separates one of the chats. Throws `GatewayError('not_linked')`. */
  separate(caller: Caller, key: SessionKey, address: string): Promise<LeftSurface | undefined>;
}

/** Separates a chat that blocks the bot, and notifies the others. False if it shares no session. Throws `StoreError`. */
export type DropSurface = (address: Address) => Promise<boolean>;

/** The ref under which the answer of a turn is delivered to a surface other than the one it was asked on. */
export function surfaceRef(turnId: string, address: Address): string {
  return `${turnId}@${address}`;
}

/** The turn whose answer is delivered under a ref, no matter in which chat. */
export function turnOfRef(ref: string): string {
  return ref.split('@', 1)[0] ?? ref;
}
