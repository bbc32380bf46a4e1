/** Two nodes on one database: what one writes into a session's folder, the other finds there. */
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { MAX_SHARED_BYTES, type SessionFiles } from '../../../src/protocol/agent/tool.ts';
import { openStoreAt } from '../../../src/store/store.ts';
import { createSessionFiles } from '../../../src/tools/files/session-files.ts';
import { describeStore, silentLog, type TestStore } from '../../database.ts';
import { request } from '../../store/requests.ts';

interface Node {
  files: SessionFiles;
  /** Where its copy of the folder is. */
  place: string;
}

/** A node with its own home. */
async function nodeOf(store: TestStore, folder = 'f'): Promise<Node> {
  const root = await mkdtemp(path.join(os.tmpdir(), 'parley-shared-'));
  onTestFinished(() => rm(root, { recursive: true }));
  const files = createSessionFiles(root, silentLog, store.files);
  return { files, place: path.join(root, folder) };
}

/** Does what a tool call does with a node's copy: opens the folder, changes it, and shares it. */
async function change({ files, place }: Node, work: (place: string) => Promise<unknown>): Promise<string[]> {
  await files.open('f');
  await work(place);
  return await files.share('f');
}

const read = async ({ files, place }: Node, name: string): Promise<string> => {
  await files.open('f');
  return await readFile(path.join(place, name), 'utf8');
};

describeStore('the files of a session on two nodes', (databases) => {
  it('are the same on both: created, changed, removed, in separate folders', async () => {
    const store = await databases.open();
    const [a, b] = [await nodeOf(store), await nodeOf(store)];
    await change(a, async (place) => {
      await mkdir(path.join(place, 'deep', 'er'), { recursive: true });
      await writeFile(path.join(place, 'deep', 'er', 'notes.txt'), 'one');
      await writeFile(path.join(place, 'gone.bin'), Buffer.from([0, 255, 10]));
    });
    expect(await read(b, 'deep/er/notes.txt')).toBe('one');
    await change(b, async (place) => {
      await writeFile(path.join(place, 'deep', 'er', 'notes.txt'), 'two');
      await rm(path.join(place, 'gone.bin'));
    });
    expect(await read(a, 'deep/er/notes.txt')).toBe('two');
    expect(await readdir(a.place)).toEqual(['deep']);
  });

  it('are stored at the first call of a home that did not share them before', async () => {
    const store = await databases.open();
    const [a, b] = [await nodeOf(store), await nodeOf(store)];
    await mkdir(a.place);
    await writeFile(path.join(a.place, 'old.txt'), 'from before');
    await a.files.open('f');
    expect(await read(b, 'old.txt')).toBe('from before');
  });

  it('lose what a call that died had written, even on the node where it died', async () => {
    const store = await databases.open();
    const a = await nodeOf(store);
    await change(a, (place) => writeFile(path.join(place, 'kept.txt'), 'kept'));
    await writeFile(path.join(a.place, 'half.txt'), 'nobody was told of this');
    const again = createSessionFiles(path.dirname(a.place), silentLog, store.files);
    await again.open('f');
    expect(await readdir(a.place)).toEqual(['kept.txt']);
  });

  it('stay on their node when they are too large, which is reported once; links are not files', async () => {
    const store = await databases.open();
    const [a, b] = [await nodeOf(store), await nodeOf(store)];
    const told = await change(a, async (place) => {
      await writeFile(path.join(place, 'fits'), Buffer.alloc(MAX_SHARED_BYTES));
      await writeFile(path.join(place, 'large'), Buffer.alloc(MAX_SHARED_BYTES + 1));
      await symlink('/etc/hostname', path.join(place, 'link'));
    });
    expect(told).toEqual(['large']);
    await change(b, (place) => writeFile(path.join(place, 'more'), 'x'));
    expect((await readdir(b.place)).toSorted()).toEqual(['fits', 'more']);
    expect(await change(a, () => Promise.resolve())).toEqual([]);
    expect((await readdir(a.place)).toSorted()).toEqual(['fits', 'large', 'link', 'more']);
  });

  it('of both are kept when both change something at the same time', async () => {
    const store = await databases.open();
    const [a, b] = [await nodeOf(store), await nodeOf(store)];
    await Promise.all([a.files.open('f'), b.files.open('f')]);
    for (const [node, name] of [
      [a, 'of a'],
      [b, 'of b'],
    ] as const) {
      await writeFile(path.join(node.place, name), name);
      await node.files.share('f');
    }
    expect([await read(a, 'of b'), await read(b, 'of a')]).toEqual(['of b', 'of a']);
  });

  it('are deleted with their session, and no late call brings them back', async () => {
    const store = await databases.open();
    await store.ledger.accept(request('m1'));
    const session = await store.ledger.session('telegram:42');
    const folder = String(session?.folder);
    const a = await nodeOf(store, folder);
    await a.files.open(folder);
    await writeFile(path.join(a.place, 'secret'), 'x');
    await a.files.share(folder);
    await store.ledger.deleteSession('telegram:42');
    await writeFile(path.join(a.place, 'late'), 'x');
    await a.files.share(folder);
    const [left] = await store.sql`select count(*)::int as files from session_file`;
    expect(left).toEqual({ files: 0 });
  });

  it('need no sharing when one process owns the database', async () => {
    const place = { socketPath: '/nowhere/pg.sock', schema: 'public' };
    const store = await openStoreAt(place, { log: silentLog, migrate: false });
    onTestFinished(() => store.close());
    expect(store.files).toBeUndefined();
  });
});
