/** A session on a real store with real files, whose turns change files as calls do, and die where a test wants. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { createUndoing } from '../../../src/intake/undo/undo.ts';
import type { FileJournal } from '../../../src/protocol/agent/tool.ts';
import type { CallNote } from '../../../src/protocol/agent/call-note.ts';
import { createFileJournal } from '../../../src/tools/files/file-journal.ts';
import { createSessionFiles } from '../../../src/tools/files/session-files.ts';
import { silentLog, type TestStore } from '../../database.ts';
import { accepted, answer, finished, LEASE_MS, only, said } from '../../store/lanes/turns.ts';
import { request } from '../../store/requests.ts';

export const SESSION = 'telegram:42';

/** Contents by path; null removes the file. */
export type Writes = Readonly<Record<string, string | null>>;

/** A call that makes these changes. `isWhole`: like a program, which may change anything. */
export interface Change {
  writes: Writes;
  isWhole: boolean;
}

/** How far an undo comes before its process dies: it was begun, and so many of its files are back. */
export type Death = { filesBack: number } | undefined;

/** Opens it on a folder of its own. */
export async function openUndoingSession(store: TestStore) {
  const root = await mkdtemp(path.join(tmpdir(), 'parley-undo-'));
  onTestFinished(() => rm(root, { recursive: true }));
  const node = await store.lanes.register('home', LEASE_MS);
  const files = createSessionFiles(root, silentLog);
  const journal = createFileJournal(files, store.undo, silentLog);
  let count = 0;
  const folderOf = async (): Promise<string> => (await store.ledger.session(SESSION))?.folder ?? '';
  const undoingWith = (own: FileJournal) =>
    createUndoing({
      undo: store.undo,
      files,
      journal: own,
      keptFiles: store.keptFiles,
      pictureOf: (file) => `${file}.picture`,
      log: silentLog,
    });
  const write = async (writes: Writes): Promise<void> => {
    const place = await files.open(await folderOf());
    for (const [name, content] of Object.entries(writes)) {
      if (content === null) await rm(path.join(place, name), { force: true });
      else await writeFile(path.join(place, name), content);
    }
  };
  return {
    journal,
    files,
    undoing: undoingWith(journal),
    write,
    folderOf,
    /** A turn with these calls. `dies`: the last call has no result, and the turn is stopped. */
    async turn(changes: readonly Change[], { dies = false } = {}): Promise<string> {
      count += 1;
      const result = accepted(await store.ledger.accept({ ...request(`m${count}`), node }));
      const { turnId } = result;
      const head = only(result);
      await store.ledger.openTurn(head, turnId, 50);
      await store.ledger.journalAnswer(head, turnId, [said(`q${count}`)]);
      const folder = await folderOf();
      for (const [nth, { writes, isWhole }] of changes.entries()) {
        const paths = isWhole ? undefined : Object.keys(writes);
        const ids = {
          session: SESSION,
          turnId,
          callKey: `${turnId}.1.${nth}`,
          memoryOwner: SESSION,
        } as const;
        const note: Omit<CallNote, 'when' | 'files'> = { ...ids, changes: ['files'], isWhole };
        const call = { toolCallId: `c${nth}`, toolName: 'write_file', callIndex: nth };
        const before = { ...note, when: 'before' as const, files: await journal.before(folder, paths) };
        await store.ledger.toolIntent(head, turnId, 1, { kind: 'tool_intent', ...call }, before);
        await write(writes);
        if (dies && nth === changes.length - 1) break;
        const after = { ...note, when: 'after' as const, files: await journal.marks(folder, paths) };
        const entry = { kind: 'tool_result' as const, ...call, content: 'done', isError: false };
        await store.ledger.toolResult(head, turnId, 1, entry, 1, after);
      }
      const entries = [answer(2, `a${count}`)];
      await store.ledger.finishTurn(head, finished(turnId, `a${count}`, { entries }));
      return turnId;
    },
    /** Undoes a turn in a process that dies in the middle of it, and finishes it in the next one. */
    async undo(turnId: string, death: Death): Promise<void> {
      let room = death?.filesBack ?? Number.POSITIVE_INFINITY;
      const dying: FileJournal = {
        ...journal,
        async restore(...file) {
          room -= 1;
          if (room < 0) throw new Error('The process dies.');
          return await journal.restore(...file);
        },
      };
      try {
        await undoingWith(dying).undo(SESSION, turnId);
      } catch (error) {
        if (room >= 0) throw error;
        for (const one of await store.undo.unfinished(10))
          await undoingWith(journal).undo(one.session, one.turnId);
      }
    },
    /** What is on the disk. */
    async disk(): Promise<Record<string, string>> {
      const place = await files.open(await folderOf());
      const names = (await readdir(place)).toSorted();
      const read = names.map(async (name) => [name, await readFile(path.join(place, name), 'utf8')]);
      return Object.fromEntries(await Promise.all(read));
    },
  };
}
