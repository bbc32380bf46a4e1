/** What the journal stores of a call, so that an undo can bring back what it changed. */
import type { SessionKey } from '../message.ts';
import type { TextRef } from '../texts/say.ts';

/** What a call can change in the gateway: files of its folder, and rows; `memory:7` is one fact about its person. */
export type Changeable = 'files' | 'todos' | 'scratchpad' | 'profile' | 'schedules' | `memory:${number}`;

/** What is at a path: without a digest, nothing. Only plain files have a size and a mode. */
export interface FileMark {
  path: string;
  sha256?: string | undefined;
  bytes?: number | undefined;
  mode?: number | undefined;
}

/** What is stored with a journal row about its call, before and after it runs. */
export interface CallNote {
  when: 'before' | 'after';
  session: SessionKey;
  /** The turn that an undo names: for a subagent, the one that started it. */
  turnId: string;
  callKey: string;
  /** Whose facts it changes. */
  memoryOwner: string;
  changes: readonly Changeable[];
  /** The files that it may change; undefined = none, or they cannot be looked at. */
  files?: readonly FileMark[] | undefined;
  /** `files` are all those of the folder. */
  isWhole?: boolean | undefined;
  /** What no undo brings back, such as a message that was sent. */
  lasting?: TextRef | undefined;
}

/** A call that was begun and has no result, because its turn ended in a crash. */
export type OpenCall = Omit<CallNote, 'when' | 'files'> & { paths: readonly string[] | undefined };

/** Why something stays as it is. */
export type StayReason =
  | 'changed_since'
  | 'later_turn'
  | 'too_large'
  | 'not_plain'
  | 'given_up'
  | 'not_written'
  | 'lasting';
