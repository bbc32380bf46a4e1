/** Replays: a finished turn again on another model; and evaluations: marked turns, replayed with checks. */
import { z } from 'zod';
import type { Caller } from '../access.ts';
import type { SessionKey } from '../message.ts';
import type { ContextRecord } from '../store/records.ts';
import type { SentPrompt } from '../store/traces.ts';
import type { Say, TextRef } from '../texts/say.ts';
import { isTooDeep } from '../../lib/json/json.ts';
import type { ToolSchema } from './provider.ts';
import type { Cost, ModelUsage } from './usage.ts';

/** Everything stored about a finished turn that its replay is built from. */
export interface TurnRecord {
  turnId: string;
  session: SessionKey;
  reason: string;
  /** ISO 8601. */
  acceptedAt: string;
  /** From its acceptance to its end, in milliseconds: with its queue, and with what it waited for. */
  ms: number;
  /** The text that people saw; empty for a silent turn. */
  answer: string;
  /** What the model read of earlier turns, oldest first. */
  history: ContextRecord[];
  /** Its question, its answers, calls and results, oldest first. */
  journal: ContextRecord[];
  /** Null where no trace is stored. */
  profileId: string | null;
  prompt: SentPrompt | null;
  /** The definitions of the tools that it was offered; null where they are not stored. */
  tools: ToolSchema[] | null;
}

/** Most model calls of a replay, whatever its profile allows. */
export const MAX_REPLAY_ITERATIONS = 50;
/** Longest result of a call that a replay reports, in UTF-16 units; the model reads it whole. */
export const MAX_REPLAY_RESULT_CHARS = 2_000;

/** A tool call of a replay, answered from the journal; without a result it was not run. */
export interface ReplayCall {
  name: string;
  args: Record<string, unknown>;
  result?: string | undefined;
  isError?: boolean | undefined;
}

/** One of the two answers. */
export interface ReplaySide {
  model: string;
  profileId: string;
  answer: string;
  /** A reason of a turn (`completed`, `max_iterations`, `cut_off`, …), or `timed_out`. */
  reason: string;
  /** Why it failed, in English. */
  error?: string | undefined;
  calls: ReplayCall[];
  iterations: number;
  usage: readonly ModelUsage[];
  /** From its start to its end, in milliseconds. */
  ms: number;
}

/** A turn and its replay. */
export interface Replay {
  turnId: string;
  session: SessionKey;
  question: string;
  original: ReplaySide;
  replay: ReplaySide;
  /** What of the original the replay did not have, or had in another form. */
  missing: readonly TextRef[];
}

/** A side as people and programs read it. */
export interface ReportedSide extends Omit<ReplaySide, 'usage'> {
  promptTokens: number;
  completionTokens: number;
  /** Some of the tokens are estimates. */
  estimated: boolean;
  /** Time of model calls, in milliseconds. */
  modelMs: number;
  /** Of calls whose model has a price. */
  cost?: Cost | undefined;
}

/** A replay as people and programs read it. */
export interface ReplayReport extends Omit<Replay, 'original' | 'replay' | 'missing'> {
  original: ReportedSide;
  replay: ReportedSide;
  missing: string[];
}

/** On which model, under which profile; at least one. A model may be named as in a completion. */
export interface ReplayChoice {
  model?: string | undefined;
  profileId?: string | undefined;
}

/** Whose usage it is. */
export interface ReplayPayer {
  userId: string;
  tokenId?: string | undefined;
}

/** Replays of the agent. Throws `GatewayError`, or the reason of an aborted signal. */
export interface Replays {
  /**
   * Replays a turn; nothing but usage is stored. An error of the model is the replay's `error`. Throws
   * `GatewayError('unknown_model' | 'unknown_profile')`, `ProviderError` where the model cannot be looked up, `StoreError`.
   */
  run(record: TurnRecord, choice: ReplayChoice, payer: ReplayPayer, signal: AbortSignal): Promise<Replay>;
  /** Throws as `run` does for a model or a profile that does not exist. */
  check(choice: ReplayChoice, signal: AbortSignal): Promise<void>;
  /** The answer of a model (default: the gateway's) to one request. Throws `ProviderError`, `GatewayError('unknown_model')`. */
  judge(
    request: { model?: string | undefined; system: string; content: string },
    payer: ReplayPayer,
    signal: AbortSignal,
  ): Promise<string>;
}

/** Marked turns of a set. */
export const MAX_CASES = 200;
/** Marked turns of a token without the scope `admin`. */
export const MAX_OWN_MARKS = 50;
/** Sets of marked turns. */
export const MAX_EVAL_SETS = 100;
/** Largest stored turn, in bytes of JSON. */
export const MAX_CASE_BYTES = 1024 * 1024;
/** Checks of a marked turn, and of an evaluation. */
export const MAX_CHECKS = 20;
/** Longest text, pattern or question of a check, in UTF-16 units. */
export const MAX_CHECK_CHARS = 2_000;
/** Largest JSON Schema of a check, in UTF-16 units of JSON. */
const MAX_CHECK_SCHEMA_CHARS = 64 * 1024;

/** The set of a mark that names none. */
export const USUAL_SET = 'default';

/** The name of a set. */
export const evalSetName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,39}$/, 'up to 40 small letters, digits, "-" and "_"')
  .refine((name) => !['mark', 'unmark', 'show', 'help'].includes(name), 'is the name of a command');

const checkText = z.string().min(1).max(MAX_CHECK_CHARS);

/** What an answer must be like. */
export const evalCheck = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('contains'), text: checkText }),
  z.strictObject({ type: z.literal('not-contains'), text: checkText }),
  z.strictObject({
    type: z.literal('regex'),
    pattern: checkText.refine(isPattern, 'is no regular expression'),
  }),
  z.strictObject({
    type: z.literal('schema'),
    schema: z
      .record(z.string(), z.unknown())
      .refine(
        (schema) => !isTooDeep(schema) && JSON.stringify(schema).length <= MAX_CHECK_SCHEMA_CHARS,
        'is too large',
      ),
  }),
  z.strictObject({ type: z.literal('judge'), question: checkText }),
]);
export type EvalCheck = z.output<typeof evalCheck>;

/** The checks of a marked turn. */
export const evalChecks = z
  .array(evalCheck)
  // As `max`, types of clients would list every length.
  .refine((checks) => checks.length <= MAX_CHECKS, `has more than ${MAX_CHECKS} items`);

/** Whether it can be compiled; with the flags of a check. Never throws. */
function isPattern(pattern: string): boolean {
  try {
    return new RegExp(pattern, 'su') instanceof RegExp;
  } catch {
    return false;
  }
}

/** A marked turn, with a copy of all that its replay needs: it outlives traces and old messages. */
export interface EvalCase {
  record: TurnRecord;
  checks: EvalCheck[];
  markedAt: Date;
}

/** A marked turn in lists. */
export interface EvalMark {
  set: string;
  turnId: string;
  session: SessionKey;
  /** The beginning of its question. */
  question: string;
  checks: EvalCheck[];
  markedAt: Date;
}

/** How one check of an answer ended; `detail` says why it failed. */
export interface CheckResult {
  check: string;
  pass: boolean;
  detail?: string | undefined;
}

/** A marked turn, replayed on one model. */
export interface EvalItem {
  model: string;
  pass: boolean;
  checks: CheckResult[];
  report: ReplayReport;
}

/** Throws only `StoreError`. */
export interface ReplayStore {
  /** What is stored of a turn; undefined for an unknown one, `unfinished` for one that has not ended, `gone` without a journal. */
  turnRecord(turnId: string): Promise<TurnRecord | 'unfinished' | 'gone' | undefined>;
  /** Keeps the definitions of tools that prompts refer to by this key. */
  keepTools(key: string, tools: readonly ToolSchema[]): Promise<void>;
  /** Marks a turn, also again with other checks; `full` when the set or their number has reached its limit. */
  mark(set: string, record: TurnRecord, checks: readonly EvalCheck[]): Promise<'marked' | 'full'>;
  /** False if it was not marked. */
  unmark(set: string, turnId: string): Promise<boolean>;
  /** Marked turns in their order, of all sets or one, of all sessions or those of a token. */
  marks(query: { set?: string | undefined; ownerTokenId?: string | undefined }): Promise<EvalMark[]>;
  evalCase(set: string, turnId: string): Promise<EvalCase | undefined>;
  /** What an interrupted evaluation has done so far. */
  evalItems(run: string): Promise<EvalItem[]>;
  keepEvalItem(run: string, item: EvalItem): Promise<void>;
  /** Forgets an evaluation that is complete. */
  endEval(run: string): Promise<void>;
}

/** For turns of sessions that the caller may see; undefined for any other. Methods throw only `GatewayError`. */
export interface ReplayApi {
  /**
   * Replays a turn (`Replays.run`), worded by `say`. Throws also `turn_not_ended`, `not_replayable`, `forbidden`,
   * `rate_limited`, or the reason of the aborted signal.
   */
  replay(
    caller: Caller,
    turnId: string,
    choice: ReplayChoice,
    signal: AbortSignal,
    say?: Say,
  ): Promise<ReplayReport | undefined>;
  /** Marks a turn. Throws also `turn_not_ended`, `not_replayable`, `too_many_marks`, `turn_too_large`. */
  mark(
    caller: Caller,
    turnId: string,
    mark: { set: string; checks: readonly EvalCheck[] },
  ): Promise<EvalMark | undefined>;
  /** False if the turn was not marked. */
  unmark(caller: Caller, turnId: string, set: string): Promise<boolean>;
  marks(caller: Caller): Promise<EvalMark[]>;
}
