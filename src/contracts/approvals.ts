/** Dangerous calls wait for a human: what is asked, who may answer, and what an answer comes to. */
import { z } from 'zod';
import type { Address, SessionKey } from './message.ts';
import type { ApprovalDecision } from './records.ts';

/** What a question is about. It is stored with the question, and nothing else can be run by its answer. */
export const approvalSubject = z.object({
  /** The one call: turn, iteration and place in the answer. */
  callKey: z.string(),
  toolCallId: z.string(),
  tool: z.string(),
  /** The checked arguments, as they will be run. */
  args: z.unknown(),
  /** SHA-256 over session, call, tool and arguments: another call has another. */
  digest: z.string(),
  /** Why it is asked, as a sentence. */
  warning: z.string(),
  /** Who the turn answers, as a user id; `system` for what no person asked. */
  userId: z.string(),
  /** Where the question is shown. */
  address: z.templateLiteral([z.string().min(1), ':', z.string().min(1)]),
  /** Set when a subagent makes the call. */
  agentId: z.string().optional(),
  /** Set when no call is asked for: a step of a plan waits for its Run, or a paused plan for being resumed. */
  plan: z.object({ id: z.string(), stepId: z.string(), wait: z.enum(['step', 'pause']) }).optional(),
});

/** What a plan waits for. */
export type PlanWait = NonNullable<ApprovalSubject['plan']>;

export type ApprovalSubject = z.infer<typeof approvalSubject>;

/** A question and what became of it. Clocks are the database's. */
export interface ApprovalRecord extends ApprovalSubject {
  id: string;
  session: SessionKey;
  /** The token whose session it is; others belong to their chat. */
  ownerTokenId?: string | undefined;
  turnId: string;
  state: 'pending' | ApprovalDecision;
  /** A user id, `expiry` or `stop`. */
  decidedBy?: string | undefined;
  /** How people know them; display only. */
  decidedName?: string | undefined;
  createdAt: Date;
  expiresAt: Date;
  /** Nobody decided in time. */
  expired: boolean;
}

/** Questions a list holds at most. */
export const MAX_LISTED_APPROVALS = 200;

/** Reads questions. Throws only `StoreError`. */
export interface ApprovalStore {
  approval(id: string): Promise<ApprovalRecord | undefined>;
  /** What still waits, oldest first; of one session, or of the sessions one token made. */
  pendingApprovals(filter: {
    session?: SessionKey | undefined;
    ownerTokenId?: string | undefined;
    limit: number;
  }): Promise<ApprovalRecord[]>;
}

/** Who answers, and from where; all of it from the transport, nothing from text. */
export interface Decider {
  userId: string;
  /** Display only. */
  name?: string | undefined;
  owner: boolean;
  /** The token, over HTTP. */
  tokenId?: string | undefined;
  /** The chat the answer comes from. */
  at?: { address: Address; place: 'private' | 'group' } | undefined;
  /** It came by a button, which counts only under its own question. */
  pressed?: boolean | undefined;
}

/** What came of an answer; only `decided` changed anything. */
export type Decided =
  | { kind: 'decided'; decision: ApprovalDecision }
  | { kind: 'settled'; record: ApprovalRecord }
  | { kind: 'expired' }
  /** There is no such question. */
  | { kind: 'unknown' }
  /** A button under another question, or in another chat. */
  | { kind: 'elsewhere' }
  /** Not theirs to decide. */
  | { kind: 'forbidden' };

/** The gateway's answer to questions. Throws only `StoreError`. */
export interface Approvals {
  /** Committed when it resolves; the turn goes on at once, on any node. */
  decide(id: string, decision: ApprovalDecision, by: Decider): Promise<Decided>;
  /** What waits, oldest first. */
  pending(filter: Parameters<ApprovalStore['pendingApprovals']>[0]): Promise<ApprovalRecord[]>;
}

/** The value of a question's button; at most 64 bytes (Telegram's limit). */
export function buttonValue(id: string, decision: ApprovalDecision): string {
  return `${decision === 'approved' ? 'approve' : 'deny'}:${id}`;
}

/** The question and answer behind a button's value; undefined for anything else. */
export function readButtonValue(value: string): { id: string; decision: ApprovalDecision } | undefined {
  const [, word, id] = /^(approve|deny):([\w-]{1,50})$/.exec(value) ?? [];
  if (word === undefined || id === undefined) return undefined;
  return { id, decision: word === 'approve' ? 'approved' : 'denied' };
}
