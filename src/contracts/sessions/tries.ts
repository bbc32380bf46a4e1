/** Answers that a person takes back or asks for again: which turns of a session the model still reads. */
import type { SessionKey } from '../message.ts';

/** Answers to one question, the first one included. */
export const MAX_TRIES = 10;

/** One of several answers to a question. */
export interface TryPlace {
  /** The turn of the first one, which has the question. */
  of: string;
  /** From 1. */
  nth: number;
  count: number;
}

/** Why nothing was changed. */
export type WhyNot =
  | 'busy'
  | 'nothing'
  | 'summarized'
  | 'foreign'
  | 'too_old'
  | 'ran_a_plan'
  | 'has_client_tools'
  | 'too_many_tries';

/** Each reason as a sentence for people. */
export const WHY_NOT: Readonly<Record<WhyNot, string>> = {
  busy: 'An answer is being written, or waits: wait until it has ended, or end it with /stop.',
  nothing: 'There is no such question in this conversation. Nothing was changed.',
  summarized: 'That is part of the summary of older messages by now, so it can no longer be changed.',
  foreign: 'Only whoever asked that can ask it again, in the same chat.',
  too_old: 'That question was asked too long ago to be asked again: please send it again.',
  ran_a_plan: 'That message ran a stored plan: /plan run starts it again.',
  has_client_tools: 'That question came from a program with tools of its own: it has to ask again itself.',
  too_many_tries: `That question has ${MAX_TRIES} answers, which is the most: please send it again.`,
};

/** A question of a session, and the turn whose answer to it counts. */
export interface Question {
  turnId: string;
  content: string;
}

/**
 * What the model reads of a session. A turn that is left out keeps its messages and its journal; only later turns do not read it.
 * Changes lock the lane and are made only while nothing runs or waits in it. Throws only `StoreError`.
 */
export interface TryStore {
  /** The newest question of a person since `/new` that the model reads. */
  lastQuestion(session: SessionKey): Promise<Question | undefined>;
  /** Leaves out the newest turn since `/new` that people see, with the other answers to its question. */
  undo(session: SessionKey): Promise<Question | WhyNot>;
  /** Makes this turn the one that the model reads, of all answers to its question; also puts back what was undone. */
  choose(session: SessionKey, turnId: string): Promise<Question | WhyNot>;
}
