/** Approvals: dangerous calls wait for a human. The requests, who may decide them, and the outcomes. */
import { z } from 'zod';
import type { Address, SessionKey } from './message.ts';
import type { ApprovalDecision } from './records.ts';

/** The subject of a request. It is stored with the request, and approving it can run nothing else. */
export const approvalSubject = z.object({
  /** Key of the call: turn, iteration and index in the answer. */
  callKey: z.string(),
  toolCallId: z.string(),
  tool: z.string(),
  /** The validated arguments with which it will run. */
  args: z.unknown(),
  /** SHA-256 over session, call, tool and arguments. */
  digest: z.string(),
  /** Reason of the request, as a sentence. */
  warning: z.string(),
  /** User id the turn answers; `system` when no person started it. */
  userId: z.string(),
  /** Address where the request is shown. */
  address: z.templateLiteral([z.string().min(1), ':', z.string().min(1)]),
  /** Set when a subagent makes the call. */
  agentId: z.string().optional(),
  /** Set when it is not about a call: a step of a plan waits to be run, or a paused plan to be resumed. */
  plan: z.object({ id: z.string(), stepId: z.string(), wait: z.enum(['step', 'pause']) }).optional(),
});

/** What a plan waits for. */
export type PlanWait = NonNullable<ApprovalSubject['plan']>;

export type ApprovalSubject = z.infer<typeof approvalSubject>;

/** A request and its outcome. Times are by the database's clock. */
export interface ApprovalRecord extends ApprovalSubject {
  id: string;
  session: SessionKey;
  /** The token that owns the session; undefined for sessions of chats. */
  ownerTokenId?: string | undefined;
  turnId: string;
  state: 'pending' | ApprovalDecision;
  /** A user id, `expiry` or `stop`. */
  decidedBy?: string | undefined;
  /** Name of that user, for display only. */
  decidedName?: string | undefined;
  createdAt: Date;
  expiresAt: Date;
  /** It was not decided in time. */
  expired: boolean;
}

/** Most requests in a list. */
export const MAX_LISTED_APPROVALS = 200;

/** Reads approval requests. Throws only `StoreError`. */
export interface ApprovalStore {
  approval(id: string): Promise<ApprovalRecord | undefined>;
  /** Pending requests, oldest first; of one session, or of the sessions that one token created. */
  pendingApprovals(filter: {
    session?: SessionKey | undefined;
    ownerTokenId?: string | undefined;
    limit: number;
  }): Promise<ApprovalRecord[]>;
}

/** Who decides, and from where; all of it from the transport, nothing from text. */
export interface Decider {
  userId: string;
  /** Display only. */
  name?: string | undefined;
  owner: boolean;
  /** The token, over HTTP. */
  tokenId?: string | undefined;
  /** The chat the decision comes from. */
  at?: { address: Address; place: 'private' | 'group' } | undefined;
  /** Made by a button, which counts only under its own request. */
  pressed?: boolean | undefined;
}

/** Outcome of a decision; only `decided` changed anything. */
export type Decided =
  | { kind: 'decided'; decision: ApprovalDecision }
  | { kind: 'settled'; record: ApprovalRecord }
  | { kind: 'expired' }
  /** There is no such request. */
  | { kind: 'unknown' }
  /** A button under another request, or in another chat. */
  | { kind: 'elsewhere' }
  /** The user may not decide it. */
  | { kind: 'forbidden' };

/** Decides approval requests. Throws only `StoreError`. */
export interface Approvals {
  /** Decides a request; committed when it resolves. The turn continues at once, on any node. */
  decide(id: string, decision: ApprovalDecision, by: Decider): Promise<Decided>;
  /** Pending requests, oldest first. */
  pending(filter: Parameters<ApprovalStore['pendingApprovals']>[0]): Promise<ApprovalRecord[]>;
}

/** The value of a request's button; at most 64 bytes (Telegram's limit). */
export function buttonValue(id: string, decision: ApprovalDecision): string {
  return `${decision === 'approved' ? 'approve' : 'deny'}:${id}`;
}

/** The request and decision in a button's value; undefined for anything else. */
export function readButtonValue(value: string): { id: string; decision: ApprovalDecision } | undefined {
  const [, verb, id] = /^(approve|deny):([\w-]{1,50})$/.exec(value) ?? [];
  if (verb === undefined || id === undefined) return undefined;
  return { id, decision: verb === 'approve' ? 'approved' : 'denied' };
}
