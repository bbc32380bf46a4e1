/** Undoing a turn: what its calls changed, what of that goes back, and what stays as it is and why. */
import type { Address, SessionKey } from '../message.ts';
import type { CallNote, FileMark, OpenCall, StayReason } from '../agent/call-note.ts';
import type { Question, RetryRefusal } from '../store/records.ts';
import type { TextRef } from '../texts/say.ts';

/** Largest earlier content of a file that is stored, in bytes. */
export const MAX_UNDO_FILE_BYTES = 1024 * 1024;
/** Earlier contents that one call may store, and their bytes together: further files stay as they are at an undo. */
export const MAX_UNDO_FILES = 500;
export const MAX_UNDO_CALL_BYTES = 32 * 1024 * 1024;
/** Bytes of all earlier contents; beyond it, those used longest ago are deleted. */
export const MAX_UNDO_BYTES = 128 * 1024 * 1024;
/** Earlier contents that no call has used for so many days are deleted. */
export const UNDO_DAYS = 7;

export type UndoKind = 'file' | 'todo' | 'note' | 'profile' | 'schedule' | 'memory' | 'plan' | 'lasting';

/** A thing that a turn changed. `name`: a path, the name of a note or profile, a fact, a task, a goal; else ''. */
interface UndoItem {
  kind: UndoKind;
  /** Names it within its kind. */
  target: string;
  name: string;
}

/** `removed`: there was nothing before the turn. */
export interface GoingBack extends UndoItem {
  how: 'restored' | 'removed';
}

/** `text` says what lasts. */
export interface Staying extends UndoItem {
  why: StayReason;
  text?: TextRef | undefined;
}

/** What an undo of this turn brings back, or has brought back. */
export interface Undo extends Question {
  goesBack: readonly GoingBack[];
  stays: readonly Staying[];
}

/** A change of a turn, as stored; values are JSON. */
export interface Effect {
  kind: UndoKind;
  target: string;
  state: 'done' | 'undoing' | 'undone' | 'stays';
  why?: StayReason | undefined;
  /** What was there before the turn, and what the turn left; absent = nothing. */
  original?: unknown;
  result?: unknown;
  /** What is there now, for everything but files. */
  current?: unknown;
  /** A later turn changed the same thing, and was not undone. */
  isBuiltUpon: boolean;
  /** The earlier content of the file is stored. */
  isStored: boolean;
}

/** A turn that can be undone, with the other answers to its question and everything that they changed. */
export interface UndoableTurn extends Question {
  session: SessionKey;
  folder: string;
  address: Address;
  /** User id of the person who asked; undefined when that is no longer stored. */
  askedBy?: string | undefined;
  state: 'done' | 'undoing' | 'undone';
  effects: readonly Effect[];
}

/** The effects of turns, and the earlier contents of files. Throws only `StoreError`; safe to repeat. */
export interface UndoStore {
  /** Those of these contents that are not stored; the others count as used now. */
  missingContents(sha256: readonly string[]): Promise<string[]>;
  /** Stores a content, and deletes others beyond `MAX_UNDO_BYTES` and `UNDO_DAYS`. */
  storeContent(sha256: string, bytes: Buffer): Promise<void>;
  content(sha256: string): Promise<Buffer | undefined>;
  /** Calls without a result of the turn and of the other answers to its question. */
  openCalls(turnId: string): Promise<OpenCall[]>;
  /** Ends such a call, as its result would have. */
  closeCall(call: CallNote): Promise<void>;
  /** The turn, by its id or a unique end of it, or the newest since `/new` that people see; or why it cannot be undone. */
  undoable(session: SessionKey, turnId?: string): Promise<UndoableTurn | RetryRefusal>;
  /**
   * Begins the undo in one transaction, behind the lock of the lane: rows go back, files will, the model no longer reads
   * the turn, and none of the session starts before `finished`. `marks`: what is at the paths of its files now.
   */
  begin(
    session: SessionKey,
    turnId: string,
    marks: ReadonlyMap<string, FileMark>,
  ): Promise<RetryRefusal | undefined>;
  /** A file is back, or stays for a reason that was found only now. */
  settled(turnId: string, path: string, stays?: StayReason): Promise<void>;
  finished(session: SessionKey): Promise<void>;
  /** Undos that were begun and are not finished, at most `limit`. */
  unfinished(limit: number): Promise<{ session: SessionKey; turnId: string }[]>;
}

/** Undoes turns. Throws `GatewayError('not_changed')` with the reason, and `StoreError`. */
export interface Undoing {
  /** What an undo of the turn, by default the newest, would bring back. */
  preview(session: SessionKey, turnId?: string): Promise<UndoPreview>;
  /** Undoes it. What was undone before is not undone again: the result is that of the first time. */
  undo(session: SessionKey, turnId: string): Promise<Undo>;
  /** Finishes an undo that was begun. Throws only `StoreError`. */
  finish(session: SessionKey, turnId: string): Promise<void>;
}

/** The same, with each thing and what becomes of it in words. */
export interface WordedUndo extends Question {
  goesBack: readonly (GoingBack & { text: string })[];
  stays: readonly (Omit<Staying, 'text'> & { text: string })[];
}

export type UndoPreview = Undo & Pick<UndoableTurn, 'askedBy' | 'state'>;

/** Decides what of a turn goes back. `marks`: what is at the paths of its files now. */
export function decideUndo(
  effects: readonly Effect[],
  marks: ReadonlyMap<string, FileMark>,
): Pick<Undo, 'goesBack' | 'stays'> {
  const goesBack: GoingBack[] = [];
  const stays: Staying[] = [];
  for (const effect of effects) {
    const { kind, target, original, result, state, why: storedReason } = effect;
    const item = { kind, target, name: nameOf(effect) };
    if (kind === 'lasting') {
      stays.push({ ...item, why: 'lasting', text: readLasting(result) });
      continue;
    }
    if (essenceOf(original) === essenceOf(result)) continue;
    const reason = state === 'done' ? whyItStays(effect, marks) : storedReason;
    if (reason === undefined)
      goesBack.push({ ...item, how: original === undefined ? 'removed' : 'restored' });
    else stays.push({ ...item, why: reason });
  }
  return { goesBack, stays };
}

/** The rule: it goes back if it is exactly as the turn left it, and no later turn changed it. */
function whyItStays(effect: Effect, marks: ReadonlyMap<string, FileMark>): StayReason | undefined {
  const { kind, target, original, result, current, isBuiltUpon, isStored } = effect;
  if (isBuiltUpon) return 'later_turn';
  if (kind !== 'file') return essenceOf(current) === essenceOf(result) ? undefined : 'changed_since';
  const mark = readMark(target, original);
  const sha256 = marks.get(target)?.sha256;
  if (sha256 !== readMark(target, result).sha256) return 'changed_since';
  if (mark.sha256 === undefined || isStored) return undefined;
  if (mark.bytes === undefined) return 'not_plain';
  return mark.bytes > MAX_UNDO_FILE_BYTES ? 'too_large' : 'given_up';
}

/** What two values of a thing must have in common to be the same: when a schedule fires next does not count, nor a mode. */
export function essenceOf(value: unknown): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return JSON.stringify(value ?? null);
  const { next_at: _next, last_at: _last, mode: _mode, ...rest } = value as Record<string, unknown>;
  return JSON.stringify(rest);
}

/** The stored mark of a file. */
export function readMark(path: string, value: unknown): FileMark {
  if (typeof value !== 'object' || value === null) return { path };
  const { sha256, bytes, mode } = value as Partial<FileMark>;
  return { path, sha256, bytes, mode };
}

function readLasting(value: unknown): TextRef | undefined {
  return typeof value === 'object' && value !== null && 'key' in value ? (value as TextRef) : undefined;
}

/** The column that names a thing of a kind, before or after the turn. */
const NAMES: Partial<Record<UndoKind, string>> = {
  profile: 'profileId',
  schedule: 'task',
  memory: 'content',
  plan: 'goal',
};

function nameOf({ kind, target, original, result }: Effect): string {
  const field = NAMES[kind];
  if (field === undefined) return kind === 'file' || kind === 'note' ? target : '';
  const value = Object.entries(original ?? result ?? {}).find(([name]) => name === field)?.[1];
  return typeof value === 'string' ? value : '';
}
