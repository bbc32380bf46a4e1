/** Sources of documents, read by the real readers: what becomes of each file, at every limit, and after an interruption. */
import { once } from 'node:events';
import { mkdir, mkdtemp, open, realpath, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { type ImportDeps, importNext } from '../../src/knowledge/import-source.ts';
import { entriesOf } from '../../src/knowledge/source-entries.ts';
import { createBackgroundText } from '../../src/media/index.ts';
import {
  type KnowledgeDocument,
  MAX_DOCUMENT_BYTES,
  MAX_DOCUMENT_PASSAGES,
  MAX_FOLDER_FILES,
  wordProblem,
} from '../../src/protocol/knowledge.ts';
import { createEgress } from '../../src/security/index.ts';
import { readPage } from '../../src/tools/index.ts';
import { describeStore, silentLog, type TestStore } from '../database.ts';
import { docx, pdf, png, xlsx, zipBomb } from '../fakes/files/documents.ts';

async function makeFolder(files: Readonly<Record<string, string | Buffer>>): Promise<string> {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'parley-import-')));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), content);
  }
  return folder;
}

function depsOf({ knowledge: store }: TestStore, more: Partial<ImportDeps> = {}): ImportDeps {
  return {
    store,
    instance: 'home',
    holder: 'p1',
    home: '/nowhere',
    readers: {
      documentText: createBackgroundText({ log: silentLog, monotonicNow: () => performance.now() }),
      readPage,
      egress: createEgress({ limits: { wireBytes: MAX_DOCUMENT_BYTES, decodedBytes: MAX_DOCUMENT_BYTES } }),
    },
    log: silentLog,
    ...more,
  };
}

const never = new AbortController().signal;

async function addFolder(store: TestStore, location: string): Promise<string> {
  return await store.knowledge.addSource({
    scope: 'profile/default',
    kind: 'folder',
    location,
    instance: 'home',
  });
}

/** The documents by name, each with its problem or the number of its passages. */
async function stateOf(store: TestStore, source: string): Promise<Record<string, string | number>> {
  const documents = await store.knowledge.documents(source);
  const state = ({ name, problem, passages }: KnowledgeDocument): [string, string | number] => [
    name,
    problem === undefined ? passages : wordProblem(problem),
  ];
  return Object.fromEntries(documents.map(state));
}

const noticeOf = async (store: TestStore): Promise<string> =>
  wordProblem((await store.knowledge.sources())[0]?.notice ?? '');

describeStore('a source of documents', (databases) => {
  it('is read by the readers of each kind of file, and says what is wrong with one while the others go on', async () => {
    const store = await databases.open();
    const folder = await makeFolder({
      'a.pdf': pdf(['The fee is ten euros.', 'It is due in May.']),
      'b.docx': docx(['Minutes of the board.']),
      'c.xlsx': xlsx([
        ['item', 'price'],
        ['chair', 42],
      ]),
      'd.html':
        '<html><head><title>Opening hours</title></head><body><h1>Opening hours</h1><h2>Weekdays</h2><p>Open at nine.</p></body></html>',
      'e.md': '# Rules\n\nNo shoes.\n',
      'f.txt': Buffer.from('Müller zahlt später.', 'latin1'),
      'g.ts': '// rounds up\nexport const ceil = Math.ceil;\n',
      'h.docx': zipBomb(60),
      'i.pdf': '%PDF-1.4 broken',
      'j.txt': '',
      'k.png': await png(2, 2),
      '.hidden': 'secret',
      'node_modules/x/readme.md': 'not ours',
    });
    await symlink('/etc/hostname', path.join(folder, 'link.txt'));
    const source = await addFolder(store, folder);
    expect(await importNext(depsOf(store), never)).toBe(true);
    const state = await stateOf(store, source);
    expect(Object.keys(state).toSorted()).toEqual(
      'a.pdf b.docx c.xlsx d.html e.md f.txt g.ts h.docx i.pdf j.txt'.split(' '),
    );
    expect(state).toMatchObject({
      'a.pdf': 2,
      'b.docx': 1,
      'c.xlsx': 1,
      'd.html': 1,
      'e.md': 1,
      'f.txt': 1,
      'g.ts': 1,
    });
    expect(state['h.docx']).toContain('unpacks to more than');
    expect(state['i.pdf']).toMatch(/\w/);
    expect(state['j.txt']).toBe('It contains no text.');
    expect(await noticeOf(store)).toBe('Left out: one file without text, such as a picture.');
    const [due] = await store.passages.byWords(['profile/default'], 'due May', 1);
    expect(due?.place).toEqual({ page: 2 });
    const [hours] = await store.passages.byWords(['profile/default'], 'open nine', 1);
    expect(hours).toMatchObject({ title: 'Opening hours', place: { headings: ['Weekdays'] } });
    expect(await store.passages.byWords(['profile/default'], 'Müller später', 1)).toHaveLength(1);
  });

  it('loads nothing that is unchanged, reads what has changed, and takes out what is gone', async () => {
    const store = await databases.open();
    const folder = await makeFolder({ 'a.txt': 'alpha', 'b.txt': 'beta', 'c.txt': 'gamma' });
    const source = await addFolder(store, folder);
    const deps = depsOf(store);
    const reads: number[] = [];
    const { documentText } = deps.readers;
    deps.readers.documentText = (bytes, signal) => {
      reads.push(bytes.length);
      return documentText(bytes, signal);
    };
    await importNext(deps, never);
    expect(reads).toHaveLength(3);
    await store.knowledge.refreshSources();
    await importNext(deps, never);
    expect(reads).toHaveLength(3);
    await writeFile(path.join(folder, 'a.txt'), 'alpha and more');
    // Written again with the same content.
    await utimes(path.join(folder, 'b.txt'), new Date(), new Date(Date.now() + 5_000));
    await rm(path.join(folder, 'c.txt'));
    await store.knowledge.refreshSources();
    await importNext(deps, never);
    expect(reads).toHaveLength(4);
    expect(await stateOf(store, source)).toEqual({ 'a.txt': 1, 'b.txt': 1 });
  });

  it('keeps its documents while its folder is away, and says so', async () => {
    const store = await databases.open();
    const folder = await makeFolder({ 'a.txt': 'alpha' });
    const source = await addFolder(store, folder);
    await importNext(depsOf(store), never);
    await rm(folder, { recursive: true });
    await store.knowledge.refreshSources();
    await importNext(depsOf(store), never);
    expect(await stateOf(store, source)).toEqual({ 'a.txt': 1 });
    const [listed] = await store.knowledge.sources();
    expect(listed?.state).toBe('failed');
    expect(wordProblem(listed?.problem ?? '')).toContain('cannot be read (ENOENT)');
  });

  it(`reads ${MAX_FOLDER_FILES} files of a folder, the first by their paths, and says how many there are`, async () => {
    const folder = await makeFolder({});
    const nameOf = (n: number): string => `${String(n).padStart(5, '0')}.txt`;
    for (let n = 1; n <= MAX_FOLDER_FILES; n += 1) await writeFile(path.join(folder, nameOf(n)), 'x');
    const source = { id: 's', scope: 'profile/default', kind: 'folder', location: folder } as const;
    const deps = depsOf(await databases.open());
    expect((await entriesOf(deps, source)).notice).toBeUndefined();
    await writeFile(path.join(folder, '00000.txt'), 'x');
    const { entries, notice } = await entriesOf(deps, source);
    expect(entries).toHaveLength(MAX_FOLDER_FILES);
    expect(entries.at(0)?.name).toBe('00000.txt');
    expect(entries.at(-1)?.name).toBe(nameOf(MAX_FOLDER_FILES - 1));
    expect(wordProblem(notice ?? '')).toBe('Only the first 5000 of 5001 files are read, by their paths.');
  });

  it('reads a file of the largest size, and of a larger one says so without reading it', async () => {
    const store = await databases.open();
    const folder = await makeFolder({});
    const fill = async (name: string, bytes: number): Promise<void> => {
      await using file = await open(path.join(folder, name), 'w');
      // All blanks but the first word: the text itself stays small.
      await file.write('largest');
      await file.write(Buffer.alloc(bytes - 7, ' '), 0, bytes - 7, 7);
    };
    await fill('fits.txt', MAX_DOCUMENT_BYTES);
    await fill('large.txt', MAX_DOCUMENT_BYTES + 1);
    const source = await addFolder(store, folder);
    await importNext(depsOf(store), never);
    const state = await stateOf(store, source);
    const [, fits] = await store.knowledge.documents(source);
    expect(state['fits.txt']).toBe(1);
    expect(wordProblem(fits?.notice ?? '')).toBe('Only its first 1000000 characters are read.');
    expect(state['large.txt']).toBe('It has 25 MB; documents of at most 25 MB are read.');
  });

  it(`searches the first ${MAX_DOCUMENT_PASSAGES} passages of a document, and says so`, async () => {
    const store = await databases.open();
    const section = (n: number): string => `# S${n}\n\n${`number ${n} `.repeat(20)}\n\n`;
    const sections = (count: number): string => Array.from({ length: count }, (_, n) => section(n)).join('');
    const folder = await makeFolder({
      'fits.md': sections(MAX_DOCUMENT_PASSAGES),
      'long.md': sections(MAX_DOCUMENT_PASSAGES + 1),
    });
    const source = await addFolder(store, folder);
    await importNext(depsOf(store), never);
    const documents = await store.knowledge.documents(source);
    expect(
      documents.map(({ name, passages, notice }) => [name, passages, wordProblem(notice ?? '')]),
    ).toEqual([
      ['fits.md', MAX_DOCUMENT_PASSAGES, ''],
      ['long.md', MAX_DOCUMENT_PASSAGES, `Only its first ${MAX_DOCUMENT_PASSAGES} passages are searched.`],
    ]);
  });

  it('gives up on a document that takes too long, reads the others, and tries it again once it has changed', async () => {
    const store = await databases.open();
    const folder = await makeFolder({ 'bomb.txt': 'bomb', 'z.txt': 'fine' });
    const source = await addFolder(store, folder);
    const deps = depsOf(store, { documentMs: 200 });
    const { documentText } = deps.readers;
    let attempts = 0;
    deps.readers.documentText = (bytes, signal) => {
      if (String(bytes) !== 'bomb') return documentText(bytes, signal);
      attempts += 1;
      return new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
      );
    };
    await importNext(deps, never);
    expect(await stateOf(store, source)).toEqual({
      'bomb.txt': 'It took longer than 0.2 seconds to read.',
      'z.txt': 1,
    });
    await store.knowledge.refreshSources();
    await importNext(deps, never);
    expect(attempts).toBe(1);
    await writeFile(path.join(folder, 'bomb.txt'), 'harmless');
    await store.knowledge.refreshSources();
    await importNext(deps, never);
    expect((await stateOf(store, source))['bomb.txt']).toBe(1);
  });

  it('goes on after an interruption with the documents that are left', async () => {
    const store = await databases.open();
    const folder = await makeFolder({ 'a.txt': 'alpha', 'b.txt': 'beta', 'c.txt': 'gamma' });
    const source = await addFolder(store, folder);
    const ending = new AbortController();
    const deps = depsOf(store, { onProgress: ({ done }) => done === 2 && ending.abort() });
    await expect(importNext(deps, ending.signal)).rejects.toThrow(/abort/i);
    expect(Object.keys(await stateOf(store, source))).toEqual(['a.txt', 'b.txt']);
    const names: number[] = [];
    const { readers } = depsOf(store);
    const counted = {
      ...readers,
      documentText: (bytes: Uint8Array, signal: AbortSignal) => {
        names.push(bytes.length);
        return readers.documentText(bytes, signal);
      },
    };
    expect(await importNext(depsOf(store, { holder: 'p2', readers: counted }), never)).toBe(true);
    expect(names).toEqual(['gamma'.length]);
    expect(Object.keys(await stateOf(store, source))).toHaveLength(3);
  });

  it('asks for an address with its ETag, keeps what it said while it fails, and never leaves the public network', async () => {
    const store = await databases.open();
    const requests: IncomingMessage['headers'][] = [];
    let status = 200;
    const server = createServer((request, response) => {
      requests.push(request.headers);
      const isSame = request.headers['if-none-match'] === '"v1"';
      response.writeHead(isSame && status === 200 ? 304 : status, {
        'content-type': 'text/html',
        etag: '"v1"',
      });
      response.end(
        isSame
          ? undefined
          : '<html><head><title>Menu</title></head><body><p>Soup on Monday.</p></body></html>',
      );
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const address = server.address();
    const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/menu`;
    const source = await store.knowledge.addSource({ scope: 'profile/default', kind: 'url', location: url });
    await importNext(depsOf(store), never);
    expect(String(Object.values(await stateOf(store, source))[0])).toContain('is not allowed');
    const egress = createEgress({ allow: [new URL(url).origin] });
    const deps = depsOf(store);
    deps.readers = { ...deps.readers, egress };
    const again = async (): Promise<void> => {
      await store.knowledge.refreshSources();
      await importNext(deps, never);
    };
    await again();
    expect((await store.passages.byWords(['profile/default'], 'soup', 1))[0]?.title).toBe('Menu');
    await again();
    expect(requests.at(-1)?.['if-none-match']).toBe('"v1"');
    status = 500;
    await again();
    const [listed] = await store.knowledge.sources();
    expect(wordProblem(listed?.problem ?? '')).toBe('The server answered with status 500.');
    expect(await store.passages.byWords(['profile/default'], 'soup', 1)).toHaveLength(1);
  });
});
