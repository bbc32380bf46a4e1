/** Notifications of browsers by Web Push (RFC 8030): who subscribed, what is sent, and what routes may ask. */
import { z } from 'zod';
import type { Caller } from '../access.ts';

/** Browsers of one token. */
export const MAX_PUSH_SUBSCRIPTIONS = 10;
/** Longest address at a push service, in UTF-16 units. */
export const MAX_PUSH_ENDPOINT = 1_024;
/** An answer that took less than this is no task that one leaves alone, in milliseconds. */
export const LONG_TURN_MS = 30_000;
/** Notes that may wait for one browser; beyond that new ones are dropped, which is logged. */
export const MAX_WAITING_PUSHES = 100;

/** A fact, as it is queued for one browser. It contains no one's text. */
export const pushNote = z.object({
  /** `turn_ended:<turn>` or `approval_needed:<approval>`. */
  id: z.string(),
  type: z.enum(['turn_ended', 'approval_needed']),
  /** Epoch milliseconds. */
  at: z.number(),
  sessionKey: z.string(),
  /** The turn or the approval. */
  subject: z.string(),
});
export type PushNote = z.infer<typeof pushNote>;

/** What a browser gives (`PushSubscription.toJSON()`); keys are base64url. */
export interface PushKeys {
  p256dh: string;
  auth: string;
}

/** A browser that is notified. */
export interface PushTarget {
  id: string;
  tokenId: string;
  endpoint: string;
  keys: PushKeys;
  /** The https origin of the page, which push services can ask about misuse; undefined for one on this machine. */
  contact?: string | undefined;
}

/** A browser, as its person sees it in a list. */
export interface PushBrowser {
  id: string;
  /** What the browser calls itself. */
  client: string;
  createdAt: Date;
}

/** The facts of one turn, or all since a moment (epoch milliseconds). */
export type PushFacts = { turnId: string } | { since: number };

/** Throws only `StoreError`. */
export interface PushStore {
  /** Adds a browser or replaces its keys; false if the token has `MAX_PUSH_SUBSCRIPTIONS` others. */
  addTarget(target: PushTarget, client: string): Promise<boolean>;
  /** Undefined once it was removed, or its token is no longer valid. */
  target(id: string): Promise<PushTarget | undefined>;
  browsers(tokenId: string): Promise<PushBrowser[]>;
  /** Removes it, of this token if one is given; false without such a row. */
  removeTarget(id: string, tokenId?: string): Promise<boolean>;
  /** Whether any browser is subscribed. */
  hasTargets(): Promise<boolean>;
  /** What browsers are to be told and is not queued yet. `isFull`: too many notes of that browser wait already. */
  dueNotes(of: PushFacts): Promise<{ target: string; note: PushNote; isFull: boolean }[]>;
  /** Whether the question still waits for a decision. */
  isPending(approvalId: string): Promise<boolean>;
}

/** What routes may ask. Throws `GatewayError`: `bad_subscription`, `too_many_subscriptions`, and those of the store. */
export interface PushApi {
  /** The key that browsers bind their subscriptions to: base64url, uncompressed P-256. */
  publicKey(): Promise<string>;
  browsers(caller: Caller): Promise<PushBrowser[]>;
  /** Subscribes the caller's browser; returns its id. A repeat replaces the keys. */
  subscribe(
    caller: Caller,
    subscription: { endpoint: string; keys: PushKeys },
    from: { client: string; origin: string | undefined },
  ): Promise<string>;
  /** False if the caller has no such browser. */
  unsubscribe(caller: Caller, id: string): Promise<boolean>;
}
