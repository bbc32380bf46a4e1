/** Outbound webhooks: what the gateway posts to the operator's programs, and keeps until they accept it. */
import { z } from 'zod';
import type { ApprovalDecision } from '../store/records.ts';

/** What may be posted: facts that are in the tables, so that a crash between a fact and its post loses nothing. */
export const WEBHOOK_EVENTS = [
  /** Once, when the webhook is new, so that its receiver can be tested. */
  'webhook_added',
  'message_received',
  'turn_ended',
  'approval_needed',
  'approval_decided',
] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

/** The name of a webhook, in either direction. */
export const webhookName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,39}$/, 'a webhook is named with a-z, 0-9 and "-"');

/** Shorter ones can be guessed from one signed request. */
const MIN_SECRET_CHARS = 16;

/** What is wrong with a webhook's secret, the value of this variable, which the field names. */
export function secretProblem(
  field: string,
  variable: string,
  secret: string | undefined,
): string | undefined {
  if (secret === undefined) return `${field}: the environment variable ${variable} is not set`;
  if (secret.length >= MIN_SECRET_CHARS) return undefined;
  return `${variable}: must have at least ${MIN_SECRET_CHARS} characters`;
}

/** Notes of one webhook that may wait for its receiver; beyond that new ones are dropped, which is logged. */
export const MAX_WAITING_NOTES = 10_000;
/** A note that fails when older than this becomes a dead letter, in milliseconds. */
export const WEBHOOK_TRIED_MS = 24 * 60 * 60_000;

/** A fact, as it is queued. It contains no one's text. */
export const webhookNote = z.object({
  /** Identifies it at every attempt: `turn_ended:<turn>`. */
  id: z.string(),
  type: z.enum(WEBHOOK_EVENTS),
  /** Epoch milliseconds. */
  at: z.number(),
  /** Except for `webhook_added`. */
  sessionKey: z.string().optional(),
  turnId: z.string().optional(),
  reason: z.string().optional(),
  approvalId: z.string().optional(),
  tool: z.string().optional(),
  decision: z.enum(['approved', 'denied']).optional(),
});
export type WebhookNote = z.infer<typeof webhookNote>;

/** What the tables contain about one turn. */
export interface WebhookTurn {
  id: string;
  session: string;
  question: string | undefined;
  answer: string | undefined;
}

/** Throws only `StoreError`. */
export interface WebhookStore {
  /** Facts of the newest turns, and of their approvals, since a moment (epoch milliseconds); oldest first. */
  recentFacts(since: number): Promise<WebhookNote[]>;
  turnOfMessage(session: string, seq: number): Promise<string | undefined>;
  approvalFacts(approvalId: string): Promise<ApprovalFacts | undefined>;
  turnTexts(turnId: string): Promise<WebhookTurn | undefined>;
  /** The error of the next note in the lane; undefined without one. */
  headError(lane: string): Promise<string | undefined>;
  /** Waiting notes, whether the lane has had none yet, and when its first one was queued, if known (epoch milliseconds). */
  laneState(lane: string): Promise<{ waiting: number; isNew: boolean; since: number | undefined }>;
}

/** The state of one webhook, for operators. */
export interface WebhookState {
  name: string;
  waiting: number;
  /** Why the first of them was not accepted; undefined while nothing has gone wrong. */
  error: string | undefined;
}

export interface ApprovalFacts {
  turnId: string;
  tool: string | undefined;
  decision: ApprovalDecision | undefined;
}

/** A request as it arrived. */
export interface HookRequest {
  /** Names are in lower case. */
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The bytes that were signed. */
  body: Uint8Array;
}

/**
 * What happens to a request: a durable turn or notice, a repeat, or nothing. `taken`: the session it would write to belongs
 * to a token without `admin`, which would read it. `unsigned`: the signature is missing, wrong
 * or stale, or there is no such webhook; without the secret these look the same.
 */
export type HookReceipt =
  | { kind: 'accepted'; turnId: string | null }
  | { kind: 'duplicate' }
  | { kind: 'unsigned'; reason: 'missing' | 'wrong' | 'stale' }
  | { kind: 'invalid' }
  | { kind: 'taken' }
  | { kind: 'full' };

/** How long a call without a time in its signature is known. */
export const HOOK_CALL_DAYS = 365;

/** The calls without a time in their signature: nothing else tells a recorded one from a new one. Throws `StoreError`. */
export interface HookCallStore {
  hasCall(id: string): Promise<boolean>;
  noteCall(id: string): Promise<void>;
  /** Deletes up to `limit` that are older than `HOOK_CALL_DAYS`; returns their number. */
  purgeCalls(limit: number): Promise<number>;
}

/** Receives the requests of webhooks. */
export interface HookApi {
  /** True for the name of a webhook: a request to any other is refused unread. */
  has(name: string): boolean;
  /** Throws only `StoreError`: then nothing was accepted, and the request may be repeated. */
  accept(name: string, request: HookRequest): Promise<HookReceipt>;
}
