/** Who reads a turn, and what a reader receives. */
import { TURN_END_REASONS, type TurnEndReason } from '../../../src/protocol/event.ts';
import type { ToolCall, Usage } from '../../../src/protocol/agent/provider.ts';
import type { TurnFailure } from '../../../src/protocol/store/records.ts';
import type { HttpError } from '../errors.ts';

/** The end of a turn. `text` is the stored text; `why` is the reason that it ends with, if the turn failed. */
export interface TurnEnd {
  reason: TurnEndReason;
  text: string;
  why: string;
  usage: Usage;
  /** Why it failed. */
  failure?: TurnFailure | undefined;
}

/** Receives a turn while it runs. */
export interface TurnReader {
  /** Gets the text at the end, in one piece. */
  readonly whole?: boolean;
  /** More of the answer. */
  text(delta: string): void;
  thinking(delta: string): void;
  /** Number of messages of the session before this one. */
  waiting(position: number): void;
  /** The turn waits for the results of these calls of its caller's tools; called once, last, instead of `ended`. */
  toolCalls(calls: readonly ToolCall[], usage: Usage): void;
  /** The turn is over and committed; called once, last. */
  ended(end: TurnEnd): void;
  /** The answer cannot be completed; called once, last, instead of `ended`. */
  failed(error: HttpError): void;
}

/** What the reader of a continued turn received before: the beginning of its text, its usage, the calls it answered. */
export interface TurnSoFar {
  text: string;
  usage: Usage;
  answered: ReadonlySet<string>;
}

export const NOTHING_YET: TurnSoFar = {
  text: '',
  usage: { promptTokens: 0, completionTokens: 0, modelMs: 0 },
  answered: new Set(),
};

/** The sum of two usages; with `sign` -1 the difference, never below zero. */
export function addUsage(a: Usage, b: Usage, sign: 1 | -1 = 1): Usage {
  return {
    promptTokens: Math.max(0, a.promptTokens + sign * b.promptTokens),
    completionTokens: Math.max(0, a.completionTokens + sign * b.completionTokens),
    modelMs: Math.max(0, a.modelMs + sign * b.modelMs),
  };
}

/** The reason for which a stored turn ended; an unknown one counts as an interruption. */
export function readReason(reason: string | undefined): TurnEndReason {
  return TURN_END_REASONS.find((known) => known === reason) ?? 'interrupted';
}
