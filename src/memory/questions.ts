/** The vectors of questions, for a search that a turn waits for. */
import type { MeterCall } from '../protocol/agent/budgets.ts';
import type { LLMProvider } from '../protocol/agent/provider.ts';
import { toGatewayError } from '../protocol/errors.ts';
import type { Log } from '../protocol/log.ts';
import type { Vector } from '../protocol/store/notes.ts';
import { toVector } from './backfill.ts';

/** Longest wait for the vector of a question, in milliseconds: a turn is waiting for it. */
const QUESTION_MS = 1_500;
/** How long questions are answered by words alone after a failure, in milliseconds. */
const REST_MS = 30_000;
/** Longest part of a question that is compared, in UTF-16 units. */
const MAX_QUESTION_CHARS = 2_000;
export interface QuestionDeps {
  embed: LLMProvider['embed'];
  metered: MeterCall;
  /** What an operator can do when the model does not answer. */
  remedy(model: string): string;
  /** The name of the log line that says so. */
  event: string;
  /** A clock in milliseconds. */
  monotonicNow(): number;
  log: Log;
}

/** The vector of a question; undefined if it has none now. Never throws. */
export type VectorOf = (model: string, question: string, userId: string) => Promise<Vector | undefined>;

/** Returns the vectors of questions; undefined, for a while, after the model has not answered in time. Never throws. */
export function createQuestions(deps: QuestionDeps): VectorOf {
  const { embed, metered, log } = deps;
  let restsUntil = -Infinity;
  return async (model, question, userId) => {
    const text = question.slice(0, MAX_QUESTION_CHARS).toWellFormed().trim();
    if (text === '' || deps.monotonicNow() < restsUntil) return undefined;
    try {
      const signal = AbortSignal.timeout(QUESTION_MS);
      // The memories of a client's end user are on the account of its token.
      const call = { purpose: 'embedding', model, input: text, person: userId.split(':user:')[0] } as const;
      const { vectors } = await metered(call, () => embed({ model, input: [text], userId }, signal));
      return toVector(vectors[0] ?? []);
    } catch (error) {
      restsUntil = deps.monotonicNow() + REST_MS;
      const remedy = deps.remedy(model);
      log.warn({ err: toGatewayError(error), restMs: REST_MS, remedy }, deps.event);
      return undefined;
    }
  };
}
