/** Outbound webhooks: what the gateway posts to programs of the operator, and how it is kept until they have taken it. */
import { z } from 'zod';
import type { ApprovalDecision } from '../store/records.ts';

/** What may be posted: facts that the tables hold, so that a crash between a fact and its post loses nothing. */
export const WEBHOOK_EVENTS = [
  /** Once, when the webhook is new: its receiver can be tried with it. */
  'webhook_added',
  'message_received',
  'turn_ended',
  'approval_needed',
  'approval_decided',
] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

/** Notes of one webhook that wait for its receiver; past that new ones are dropped, and the log says so. */
export const MAX_WAITING_NOTES = 10_000;
/** A note that fails when it is older than this becomes a dead letter, in milliseconds. */
export const WEBHOOK_TRIED_MS = 24 * 60 * 60_000;

/** A fact, as it is queued. It holds no text of anybody. */
export const webhookNote = z.object({
  /** Names it at every attempt: `turn_ended:<turn>`. */
  id: z.string(),
  type: z.enum(WEBHOOK_EVENTS),
  /** Epoch milliseconds. */
  at: z.number(),
  /** But for `webhook_added`. */
  sessionKey: z.string().optional(),
  turnId: z.string().optional(),
  reason: z.string().optional(),
  approvalId: z.string().optional(),
  tool: z.string().optional(),
  decision: z.enum(['approved', 'denied']).optional(),
});
export type WebhookNote = z.infer<typeof webhookNote>;

/** What the tables hold of one turn. */
export interface WebhookTurn {
  id: string;
  session: string;
  /** Of its question and of its answer; undefined = none. */
  question: string | undefined;
  answer: string | undefined;
}

/** Throws only `StoreError`. */
export interface WebhookStore {
  /** Facts of the newest turns, and of their approvals, since a moment (epoch milliseconds); oldest first. */
  recentFacts(since: number): Promise<WebhookNote[]>;
  /** The turn that a message began; undefined when it is not there. */
  turnOfMessage(session: string, seq: number): Promise<string | undefined>;
  /** An approval as it is now; undefined when it is not there. */
  approvalFacts(approvalId: string): Promise<ApprovalFacts | undefined>;
  turnTexts(turnId: string): Promise<WebhookTurn | undefined>;
  /** The error of the note that is next in the lane; undefined without one. */
  headError(lane: string): Promise<string | undefined>;
  /** How many notes wait in the lane, whether it has had none yet, and when its first one was queued, while that is kept (epoch milliseconds). */
  laneState(lane: string): Promise<{ waiting: number; isNew: boolean; since: number | undefined }>;
}

/** How one webhook is, for operators. */
export interface WebhookState {
  name: string;
  /** Notes that wait. */
  waiting: number;
  /** Why the first of them was not taken; undefined while nothing was wrong. */
  error: string | undefined;
}

export interface ApprovalFacts {
  turnId: string;
  tool: string | undefined;
  decision: ApprovalDecision | undefined;
}
