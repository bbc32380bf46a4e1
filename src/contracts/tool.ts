/** What a tool is: something the model may ask to be done. */
import type { EventBody } from './event.ts';
import type { Log } from './log.ts';
import type { Address, SessionKey } from './message.ts';
import type { Reach, TextSource, ToolEffect, ToolRisk } from './risk.ts';
import type { Spawn } from './subagents.ts';
import type { z } from 'zod';

export type { ToolEffect, ToolRisk } from './risk.ts';

/** All a tool may touch; handed over for each call, never ambient (B-06, N-12). */
export interface ToolContext {
  sessionKey: SessionKey;
  /** Where the turn's answer goes. */
  address: Address;
  /** Who the turn answers, as a user id: `telegram:42`, `token:<id>`, `system`. */
  userId: string;
  /** Whether others may read the answer; absent = they may. */
  place?: 'private' | 'group' | undefined;
  turnId: string;
  /** Set when a subagent makes the call. */
  agentId?: string | undefined;
  profileId: string;
  /** A todo is only done with a validation (N-38). */
  stepValidation?: boolean | undefined;
  /** Absolute path of the folder this session's files live in; it exists. */
  workspace: string;
  /** Absolute path of the house's skills, which `skills/…` leads to, only for reading; absent = it has none. */
  skills?: string | undefined;
  /** The same for every attempt of this call: the key of an `idempotent` effect. */
  callKey: string;
  /** The turn has read words of others than its user: what is kept of it is marked so. Unset = nobody says. */
  tainted?: boolean | undefined;
  /** Ends with the turn. */
  signal: AbortSignal;
  log: Log;
  emit(body: EventBody): void;
  /** Makes a subagent; absent where there may be none (in a subagent, in a stateless completion). */
  spawn?: Spawn | undefined;
}

/** What the model reads; longer content is clipped by the caller with a mark. */
export interface ToolResult {
  content: string;
  isError?: boolean;
  /** Whose words this result holds, where it is not what the tool's `results` says. */
  source?: TextSource | 'operator' | undefined;
}

/** A tool. `execute` may throw anything: the caller turns it into an error result for the model (B-48). */
export interface Tool<Args = unknown> {
  readonly name: string;
  /** Shown to the model. */
  readonly description: string;
  readonly parameters: z.ZodType<Args>;
  readonly effect: ToolEffect;
  /** Longest run of one call in milliseconds; unset = the house's limit. */
  readonly limitMs?: number;
  /** Calls of it that follow one another in one answer may run at the same time. */
  readonly sideBySide?: boolean;
  risk(args: Args): ToolRisk;
  /** Why a dangerous call is one, as the end of "it …": "deletes files". */
  warning?(args: Args): string | undefined;
  /** Whose words its results hold; unset = the house's own. Others' words taint the turn: see `judgeCall`. */
  readonly results?: TextSource;
  /** Where the call is felt; unset = `session` for a `pure` tool, `outside` for every other. */
  reach?(args: Args): Reach;
  execute(args: Args, ctx: ToolContext): Promise<ToolResult>;
}

/** Keeps a tool's argument type inside its own file: gives it as the `Tool` that lists hold. */
export function defineTool<Args>(tool: Tool<Args>): Tool {
  return tool;
}

export interface EgressRequest {
  /** http or https; anything else is refused. */
  url: string;
  /** Sent to the first origin only: a redirect to another origin drops them all. */
  headers?: Readonly<Record<string, string>>;
  signal: AbortSignal;
}

export interface EgressResponse {
  /** Where the answer came from, after redirects. */
  url: string;
  status: number;
  /** As the server named it, lower-cased, or ''. */
  contentType: string;
  /** Decoded; complete, for what exceeds a cap is refused instead of cut. */
  body: Buffer;
}

/**
 * A GET request. Throws `GatewayError`: `bad_url`, `refused_address`, `too_many_redirects`, `too_large`, `too_slow`,
 * `bad_response`, `unreachable` (the only retryable ones are the last and `too_slow`), `aborted`.
 */
export type Egress = (request: EgressRequest) => Promise<EgressResponse>;
