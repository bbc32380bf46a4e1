/** Answers that a person takes back or asks for again: which turns of a session the model still reads. */
import type { SessionKey } from '../message.ts';
import { textRef, type TextRef } from '../texts/say.ts';

/** Answers to one question, the first one included. */
export const MAX_TRIES = 10;

/** One of several answers to a question. */
export interface TryPlace {
  /** The turn of the first one, which contains the question. */
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
export const WHY_NOT: Readonly<Record<WhyNot, TextRef>> = {
  busy: textRef('try.busy'),
  nothing: textRef('try.nothing'),
  summarized: textRef('try.summarized'),
  foreign: textRef('try.foreign'),
  too_old: textRef('try.too_old'),
  ran_a_plan: textRef('try.ran_a_plan'),
  has_client_tools: textRef('try.has_client_tools'),
  too_many_tries: textRef('try.too_many_tries', { most: MAX_TRIES }),
};

/** A question of a session, and the turn whose answer to it counts. */
export interface Question {
  turnId: string;
  content: string;
}

/**
 * What the model reads of a session. A turn that is left out keeps its messages and its journal; only later turns do
 * not read it. Changes lock the lane and happen only while nothing is running or waiting in it. Throws only
 * `StoreError`.
 */
export interface TryStore {
  /** The newest question of a person since `/new` that the model reads. */
  lastQuestion(session: SessionKey): Promise<Question | undefined>;
  /** Leaves out the newest turn since `/new` that people see, with the other answers to its question. */
  undo(session: SessionKey): Promise<Question | WhyNot>;
  /** Makes this turn the one that the model reads among all answers to its question; also restores what was undone. */
  choose(session: SessionKey, turnId: string): Promise<Question | WhyNot>;
}
