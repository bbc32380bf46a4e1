/** Undoes turns with everything that they changed in the gateway, also after a crash in the middle of it. */
import type { FileJournal, SessionFiles } from '../../protocol/agent/tool.ts';
import { GatewayError, ToolError } from '../../protocol/errors.ts';
import type { Log } from '../../protocol/log.ts';
import type { StoredFiles } from '../../protocol/media.ts';
import type { SessionKey } from '../../protocol/message.ts';
import {
  decideUndo,
  type Effect,
  readMark,
  type UndoableTurn,
  type Undoing,
  type UndoPreview,
  type UndoStore,
} from '../../protocol/sessions/undo.ts';
import type { FileMark, StayReason } from '../../protocol/agent/call-note.ts';
import { RETRY_REFUSALS, type RetryRefusal } from '../../protocol/store/records.ts';
import { textRef } from '../../protocol/texts/say.ts';

export interface UndoDeps {
  undo: UndoStore;
  files: SessionFiles;
  journal: FileJournal;
  keptFiles: Pick<StoredFiles, 'drop'>;
  /** Where the picture for models is that was made of a file. */
  pictureOf(path: string): string;
  log: Log;
}

const noSignal = new AbortController().signal;

/** Makes `Undoing`. */
export function createUndoing(deps: UndoDeps): Undoing {
  const { undo: store, journal } = deps;
  const finish: Undoing['finish'] = async (session, turnId) => {
    const turn = await store.undoable(session, turnId);
    if (typeof turn === 'string') return await store.finished(session);
    await journal.exclusively(turn.folder, noSignal, () => putFilesBack(deps, turn));
    await store.finished(session);
  };
  return {
    preview: (session, turnId) => preview(deps, session, turnId),
    finish,
    async undo(session, turnId) {
      const turn = await undoableTurn(deps, session, turnId);
      if (turn.state === 'done') {
        await journal.exclusively(turn.folder, noSignal, async () => {
          const refusal = await store.begin(session, turn.turnId, await marksOf(deps, turn));
          if (refusal !== undefined) throw notChanged(refusal);
        });
        deps.log.info({ sessionKey: session, turnId: turn.turnId }, 'turn_undone');
      }
      if (turn.state !== 'undone') await finish(session, turn.turnId);
      return await preview(deps, session, turn.turnId);
    },
  };
}

async function preview(deps: UndoDeps, session: SessionKey, turnId?: string): Promise<UndoPreview> {
  const turn = await undoableTurn(deps, session, turnId);
  const { content, askedBy, state, effects } = turn;
  return { turnId: turn.turnId, content, askedBy, state, ...decideUndo(effects, await marksOf(deps, turn)) };
}

/** The turn, once its calls that a crash interrupted have ended. */
async function undoableTurn(
  deps: UndoDeps,
  session: SessionKey,
  turnId: string | undefined,
): Promise<UndoableTurn> {
  const { undo: store, journal, log } = deps;
  const turn = await store.undoable(session, turnId);
  if (typeof turn === 'string') throw notChanged(turn);
  const calls = turn.state === 'done' ? await store.openCalls(turn.turnId) : [];
  for (const { paths, ...call } of calls) {
    try {
      const files = call.changes.includes('files') ? await journal.marks(turn.folder, paths) : undefined;
      await store.closeCall({ ...call, when: 'after', files });
    } catch (error) {
      if (!(error instanceof ToolError)) throw error;
      log.info({ err: error, turnId: turn.turnId }, 'files_not_noted');
      const lasting = textRef('lasting.folder', { tool: call.callKey });
      await store.closeCall({ ...call, when: 'after', lasting });
    }
  }
  if (calls.length === 0) return turn;
  const current = await store.undoable(session, turn.turnId);
  if (typeof current === 'string') throw notChanged(current);
  return current;
}

/** What is at the paths of the files that the turn changed. What cannot be looked at is not as the turn left it. */
async function marksOf(
  { journal, log }: UndoDeps,
  { folder, effects, state }: UndoableTurn,
): Promise<ReadonlyMap<string, FileMark>> {
  const marks = new Map<string, FileMark>();
  if (state !== 'done') return marks;
  for (const { kind, target } of effects) {
    if (kind !== 'file') continue;
    try {
      for (const mark of await journal.marks(folder, [target])) marks.set(target, mark);
    } catch (error) {
      if (!(error instanceof ToolError)) throw error;
      log.info({ err: error, file: target }, 'files_not_noted');
      marks.set(target, { path: target, sha256: 'unreadable' });
    }
  }
  return marks;
}

/** Each file is what the turn left or what was there before, so a crash in between is only continued. */
async function putFilesBack(deps: UndoDeps, turn: UndoableTurn): Promise<void> {
  const { undo: store, files, keptFiles } = deps;
  const { folder, turnId } = turn;
  const pending = turn.effects.filter(({ kind, state }) => kind === 'file' && state === 'undoing');
  if (pending.length === 0) return;
  const outcomes: { path: string; stays: StayReason | undefined }[] = [];
  for (const effect of pending) {
    const { target: path, original } = effect;
    outcomes.push({ path, stays: await putFileBack(deps, folder, effect) });
    if (original !== undefined) continue;
    await files.discard(folder, deps.pictureOf(path));
    await keptFiles.drop(folder, path);
  }
  // Other nodes must have them before the next turn.
  await files.share(folder);
  for (const { path, stays } of outcomes) await store.settled(turnId, path, stays);
}

async function putFileBack(
  { journal, log }: UndoDeps,
  folder: string,
  { target: path, original, result }: Effect,
): Promise<StayReason | undefined> {
  try {
    return await journal.restore(folder, readMark(path, original), readMark(path, result));
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    log.warn({ err: error, file: path }, 'file_not_restored');
    return 'not_written';
  }
}

function notChanged(refusal: RetryRefusal): GatewayError {
  return new GatewayError('not_changed', RETRY_REFUSALS[refusal]);
}
