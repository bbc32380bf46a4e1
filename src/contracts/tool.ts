/** The tool contract: something the model may call, what it is given, and what it answers. */
import type { EventBody } from './event.ts';
import type { Log } from './log.ts';
import type { Address, SessionKey } from './message.ts';
import type { Reach, ResultSource, ToolEffect, ToolRisk } from './risk.ts';
import type { Spawn } from './subagents.ts';
import type { z } from 'zod';

export type { ToolEffect, ToolRisk } from './risk.ts';

/** What a user may do: an owner changes settings and decides for others. */
export type UserRole = 'owner' | 'user' | 'system';

/** Everything a tool may use; passed to each call, never ambient (B-06, N-12). */
export interface ToolContext {
  sessionKey: SessionKey;
  /** Where the turn's answer goes. */
  address: Address;
  /** Who the turn answers, as a user id: `telegram:42`, `token:<id>`, `system`. */
  userId: string;
  /** The rights of that user; `system`: nobody wrote the message (a schedule, a heartbeat, a report). */
  userRole: UserRole;
  /** As the platform names them; absent where it does not, and in the background. */
  userName?: string | undefined;
  /** The model that made the call; absent where a plan makes it before a model was asked. */
  model?: string | undefined;
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
  /** Absolute path of the operator's skills, read-only, which `skills/…` leads to; absent = there are none. */
  skills?: string | undefined;
  /** The same for every attempt of this call: the key of an `idempotent` effect. */
  callKey: string;
  /** The turn has read untrusted text: whatever is stored from it is marked so. Unset = unknown, which counts as tainted. */
  tainted?: boolean | undefined;
  /** Ends with the turn. */
  signal: AbortSignal;
  log: Log;
  emit(body: EventBody): void;
  /** Starts a subagent; absent where that is not allowed (in a subagent, in a stateless completion). */
  spawn?: Spawn | undefined;
}

/** What the model reads; longer content is clipped by the caller with a mark. */
export interface ToolResult {
  content: string;
  isError?: boolean;
  /** Where this result's text comes from, when it differs from the tool's `results`. */
  source?: ResultSource | undefined;
}

/**
 * A tool. `execute` may throw anything: the caller turns it into an error result for the model (B-48). What approvals
 * are decided by (`effect`, `risk`, `results`, `reach`) has no default: each tool says it.
 */
export interface Tool<Args = unknown> {
  readonly name: string;
  /** Shown to the model. */
  readonly description: string;
  readonly parameters: z.ZodType<Args>;
  readonly effect: ToolEffect;
  /** Longest run of one call in milliseconds; unset = the gateway's limit. */
  readonly limitMs?: number;
  /** Consecutive calls of it in one model answer may run at the same time. */
  readonly sideBySide?: boolean;
  /** Danger of one call by its arguments alone. Never throws. */
  risk(args: Args): ToolRisk;
  /** Reason why a dangerous call is dangerous, as the end of "it …": "deletes files". */
  warning?(args: Args): string | undefined;
  /** Where the text of its results comes from; anything but `operator` taints the turn. */
  readonly results: ResultSource;
  /** Where the call has effects. Never throws. */
  reach(args: Args): Reach;
  /** Does the work; `args` have passed `parameters`. */
  execute(args: Args, ctx: ToolContext): Promise<ToolResult>;
}

/** Returns the tool as the untyped `Tool` that lists hold; its argument type stays inside its own file. */
export function defineTool<Args>(tool: Tool<Args>): Tool {
  return tool;
}

export interface EgressRequest {
  /** http or https; anything else is refused. */
  url: string;
  /** Sent to the first origin only: a redirect to another origin drops all of them. */
  headers?: Readonly<Record<string, string>>;
  signal: AbortSignal;
}

export interface EgressResponse {
  /** Where the answer came from, after redirects. */
  url: string;
  status: number;
  /** The `content-type` header, lower-cased, or ''. */
  contentType: string;
  /** Decoded and complete: a body over the size limit is refused, never cut. */
  body: Buffer;
}

/**
 * A GET request. Throws `GatewayError`: `bad_url`, `refused_address`, `too_many_redirects`, `too_large`, `too_slow`,
 * `bad_response`, `unreachable` (the only retryable ones are the last and `too_slow`), `aborted`.
 */
export type Egress = (request: EgressRequest) => Promise<EgressResponse>;
