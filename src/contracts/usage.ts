/** What models cost: tokens and model time, a row for every turn and model, added up for people and for machines. */
import type { SessionKey } from './message.ts';
import type { Usage } from './provider.ts';

/** What a call was for. */
export type UsagePurpose = 'turn' | 'plan' | 'subagent' | 'compression' | 'stateless';

/** Usage of one model. */
export interface ModelUsage extends Usage {
  model: string;
}

/** A call that no end of a turn accounts for: a plan's, a subagent's, a compression's, a stateless completion's. */
export interface UsageNote extends ModelUsage {
  purpose: UsagePurpose;
  /** The turn it was made for: its usage counts to that turn's. */
  turnId?: string | undefined;
  session?: SessionKey | undefined;
  /** Who is answered, as a user id: `telegram:42`, `token:<id>`, `system`. */
  userId?: string | undefined;
  tokenId?: string | undefined;
}

/** What a sum can be cut by; days are UTC's. */
export const USAGE_GROUPS = ['day', 'session', 'user', 'model', 'purpose'] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];

/** Which rows are added up. */
export interface UsageQuery {
  /** Inclusive. */
  from: Date;
  /** Exclusive. */
  to: Date;
  /** Only what was spent for this user. */
  userId?: string | undefined;
  session?: SessionKey | undefined;
}

/** A sum. `estimated` = a server did not report some of the tokens, so they are estimates. */
export interface UsageSum {
  promptTokens: number;
  completionTokens: number;
  /** Milliseconds. */
  modelMs: number;
  /** Turns and stateless completions. */
  answers: number;
  estimated: boolean;
}

/** The sum of one group: a day (`2026-01-31`), a session key, a user id, a model or a purpose; '' where a row names none. */
export interface UsageGroupSum extends UsageSum {
  key: string;
}

/** Groups of one answer at most; the ones that cost most, or the newest days. */
export const MAX_USAGE_GROUPS = 1_000;

/** Days between two moments that are added up at most. */
export const MAX_USAGE_DAYS = 366;

/** Sums by group, and all of it together. `more` = there are groups beyond `MAX_USAGE_GROUPS`. */
export interface UsageReport {
  groups: UsageGroupSum[];
  more: boolean;
  total: UsageSum;
}

/** Reads usage. Throws only `StoreError`. */
export interface UsageStore {
  sum(query: UsageQuery): Promise<UsageSum>;
  /** Days ascending, everything else by tokens, most first. */
  groups(query: UsageQuery, by: UsageGroup): Promise<Omit<UsageReport, 'total'>>;
}
