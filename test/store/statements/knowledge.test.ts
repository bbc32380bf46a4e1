/** Documents in the database: what is stored again, what is found in which scope, who reads a source, and what is erased. */
import { expect, it } from 'vitest';
import { type KnowledgeScope, MAX_SCOPE_DOCUMENTS } from '../../../src/protocol/knowledge.ts';
import { describeStore, type TestStore } from '../../database.ts';
import { documentOf, passageOf } from '../../fakes/stores/passages.ts';

const DEFAULT: KnowledgeScope = 'profile/default';
const CHAT: KnowledgeScope = 'chat/telegram:42';

const addFolder = (store: TestStore, scope: KnowledgeScope = DEFAULT, location = '/docs') =>
  store.knowledge.addSource({ scope, kind: 'folder', location, instance: 'home' });
const namesOf = async (store: TestStore, query: string, scopes: KnowledgeScope[] = [DEFAULT]) =>
  (await store.passages.byWords(scopes, query, 10)).map(({ content }) => content);

describeStore('knowledge', (databases) => {
  it('keeps the rows and vectors of passages that did not change, wherever they have moved', async () => {
    const store = await databases.open();
    const source = await addFolder(store);
    await store.knowledge.saveDocument(source, documentOf('a.txt', ['one', 'two', 'three']));
    const before =
      await store.sql`select id, content, xmin::text as version from knowledge_passage order by position`;
    await store.passages.setVectors(
      'm',
      before.map(({ id }) => ({ id: Number(id), vector: Int8Array.from([1, 2]) })),
    );
    const embedded =
      await store.sql`select id, xmin::text as version from knowledge_passage order by position`;
    await store.knowledge.saveDocument(source, documentOf('a.txt', ['one', 'new', 'two', 'three']));
    const after = await store.sql`
      select id, content, vector_model as model, xmin::text as version from knowledge_passage order by position`;
    expect(after.map(({ content, model }) => [content, model])).toEqual([
      ['one', 'm'],
      ['new', null],
      ['two', 'm'],
      ['three', 'm'],
    ]);
    // The first did not even move: its row was not written.
    expect(after[0]?.['version']).toBe(embedded[0]?.['version']);
    expect(await store.passages.withoutVector('m', 10)).toEqual([
      { id: Number(after[1]?.['id']), text: '\nnew' },
    ]);
    await store.knowledge.saveDocument(source, documentOf('a.txt', ['one']));
    expect(await store.sql`select from knowledge_passage`).toHaveLength(1);
  });

  it('finds words by their rarity, in other endings, in scripts without spaces, and whatever else the query says', async () => {
    const store = await databases.open();
    const source = await addFolder(store);
    const usual = Array.from({ length: 20 }, (_, n) => `The vacation policy number ${n} is for all of us.`);
    await store.knowledge.saveDocument(
      source,
      documentOf('a.txt', [
        ...usual,
        'The sabbatical is paid.',
        'Die Kündigungsfrist beträgt drei Monate.',
        '退款期限是三十天。',
      ]),
    );
    expect((await namesOf(store, 'is the sabbatical of all of us paid'))[0]).toBe('The sabbatical is paid.');
    expect((await namesOf(store, 'Kündigungsfristen'))[0]).toContain('Kündigungsfrist');
    expect((await namesOf(store, '退款的期限'))[0]).toContain('退款期限');
    expect(await namesOf(store, `it's \\ a ' & | ! <-> query:* of (nothing`)).toBeInstanceOf(Array);
    expect(await namesOf(store, '')).toEqual([]);
  });

  it('is found among few passages, in which every word is frequent', async () => {
    const store = await databases.open();
    const source = await addFolder(store);
    await store.knowledge.saveDocument(
      source,
      documentOf('a.txt', ['A hotel in London may cost 250 euros.']),
    );
    expect(await namesOf(store, 'and what may London cost now')).toHaveLength(1);
    await store.knowledge.saveDocument(source, documentOf('b.txt', ['The shed may be locked.']));
    expect((await namesOf(store, 'and what may London cost now'))[0]).toContain('250 euros');
  });

  it('is found in its own scope alone', async () => {
    const store = await databases.open();
    const own = await addFolder(store, CHAT);
    await store.knowledge.saveDocument(own, documentOf('secret.txt', ['The password is orchid.']));
    expect(await namesOf(store, 'password', [CHAT])).toHaveLength(1);
    expect(await namesOf(store, 'password', [DEFAULT, 'chat/telegram:43'])).toEqual([]);
    const [{ id } = { id: 0 }] = await store.passages.byWords([CHAT], 'password', 1);
    expect(await store.passages.byIds([DEFAULT], [id])).toEqual([]);
    await store.passages.setVectors('m', [{ id, vector: Int8Array.from([1]) }]);
    expect(await store.passages.vectorsOf([DEFAULT], 'm', { after: 0, limit: 10 })).toEqual([]);
    expect(await store.passages.vectorsOf([CHAT], 'm', { after: 0, limit: 10 })).toHaveLength(1);
  });

  it('is read by one process at a time, by another once that has died, and only where its path is', async () => {
    const store = await databases.open();
    const source = await addFolder(store);
    const claim = (by: string, instance = 'home') => store.knowledge.claimSource(by, instance, 60_000);
    expect(await claim('p1', 'elsewhere')).toBeUndefined();
    expect(await claim('p1')).toMatchObject({ id: source, location: '/docs' });
    expect(await claim('p2')).toBeUndefined();
    // Its lease ends, as after a kill.
    await store.sql`update knowledge_source set lease_until = now() - interval '1 s'`;
    expect(await claim('p2')).toMatchObject({ id: source });
    expect(await store.knowledge.holdSource(source, 'p1', 60_000)).toBe(false);
    await store.knowledge.finishSource(source, 'p1', {});
    expect(await claim('p3')).toBeUndefined();
    await store.knowledge.finishSource(source, 'p2', { nextMs: 60_000 });
    expect(await claim('p3')).toBeUndefined();
    expect((await store.knowledge.sources())[0]?.state).toBe('ready');
  });

  it('reads again at once what was asked for while it was being read', async () => {
    const store = await databases.open();
    const upload = (text: string) =>
      store.knowledge.addSource({
        scope: DEFAULT,
        kind: 'upload',
        location: 'a.txt',
        upload: Buffer.from(text),
      });
    const source = await upload('first');
    await store.knowledge.claimSource('p1', 'home', 60_000);
    await upload('second');
    await store.knowledge.finishSource(source, 'p1', {});
    expect(String(await store.knowledge.uploadOf(source))).toBe('second');
    expect(await store.knowledge.claimSource('p2', 'home', 60_000)).toMatchObject({ id: source });
    await store.knowledge.finishSource(source, 'p2', {});
    expect(await store.knowledge.uploadOf(source)).toBeUndefined();
    expect(await store.knowledge.claimSource('p3', 'home', 60_000)).toBeUndefined();
  });

  it(`takes ${MAX_SCOPE_DOCUMENTS} documents in a scope, and no more`, async () => {
    const store = await databases.open();
    const source = await addFolder(store);
    await store.sql`
      insert into knowledge_document (id, source_id, scope, name, title, version, bytes)
      select 'd' || n, ${source}, ${DEFAULT}, n, n, 'v', 1 from generate_series(2, ${MAX_SCOPE_DOCUMENTS}::int) n`;
    expect(await store.knowledge.saveDocument(source, documentOf('last.txt', ['fits']))).toBe(true);
    expect(await store.knowledge.saveDocument(source, documentOf('more.txt', ['too many']))).toBe(false);
    expect(await store.knowledge.saveDocument(source, documentOf('last.txt', ['changes']))).toBe(true);
    const other = await addFolder(store, CHAT);
    expect(await store.knowledge.saveDocument(other, documentOf('a.txt', ['another scope']))).toBe(true);
  });

  it('numbers passages for a session, the same one always alike, and opens each as it was', async () => {
    const store = await databases.open();
    const source = await addFolder(store);
    const document = documentOf('a.txt', ['before', 'The fee is 10 euros.', 'after']);
    await store.knowledge.saveDocument(source, document);
    const cite = async (session: 'http:a' | 'http:b', words: string) =>
      await store.citations.cite(session, 't1', await store.passages.byWords([DEFAULT], words, 5));
    expect(await cite('http:a', 'after')).toEqual([1]);
    expect(await cite('http:a', 'fee')).toEqual([2]);
    expect(await cite('http:a', 'fee after')).toEqual([2, 1]);
    expect(await cite('http:b', 'fee')).toEqual([1]);
    expect(await store.citations.citations('http:a', [2, 9])).toMatchObject([{ number: 2, title: 'a.txt' }]);
    expect(await store.citations.openCitation('http:a', 2)).toMatchObject({
      state: 'same',
      content: 'The fee is 10 euros.',
      before: ['before'],
      after: ['after'],
    });
    await store.knowledge.saveDocument(source, documentOf('a.txt', ['The fee is 12 euros.']));
    expect(await store.citations.openCitation('http:a', 2)).toMatchObject({
      state: 'changed',
      content: 'The fee is 10 euros.',
      before: [],
    });
    expect(await cite('http:a', 'fee')).toEqual([3]);
    await store.knowledge.removeSource(source);
    expect(await store.citations.openCitation('http:a', 3)).toMatchObject({ state: 'removed' });
    expect(await store.citations.openCitation('http:a', 4)).toBeUndefined();
  });

  it('leaves with the chat that it was given to, and is in the export of its person', async () => {
    const store = await databases.open();
    const source = await addFolder(store, CHAT);
    await store.knowledge.saveDocument(source, documentOf('menu.txt', ['Soup on Monday.']));
    await addFolder(store, DEFAULT);
    await store.sql`insert into session (key, folder) values ('telegram:42', 'f')`;
    await store.citations.cite('telegram:42', 't1', await store.passages.byWords([CHAT], 'soup', 1));
    const person = { channel: 'telegram', id: '42', privateChat: '42' };
    expect((await store.people.person(person)).documents).toBe(1);
    expect(await store.people.personRows(person, 'knowledge', { after: 0, limit: 10 })).toEqual([
      {
        kind: 'knowledge',
        chat: 'telegram:42',
        document: 'menu.txt',
        position: 0,
        content: 'Soup on Monday.',
      },
    ]);
    await store.ledger.deleteSession('telegram:42');
    expect(await store.knowledge.scopes()).toEqual([DEFAULT]);
    expect(await store.sql`select from knowledge_passage`).toHaveLength(0);
    expect(await store.sql`select from knowledge_citation`).toHaveLength(0);
    const again = await addFolder(store, CHAT);
    await store.knowledge.saveDocument(again, documentOf('menu.txt', ['Soup on Monday.']));
    await store.people.forgetPerson(person, { sessions: [], fileDays: 1 });
    expect(await store.knowledge.scopes()).toEqual([DEFAULT]);
  });

  it('moves with a chat that gets a new id', async () => {
    const store = await databases.open();
    const source = await addFolder(store, 'chat/telegram:-7');
    await store.knowledge.saveDocument(source, {
      ...documentOf('a.txt', []),
      passages: [passageOf('tulips')],
    });
    await store.moves.moveChat({ channel: 'telegram', from: '-7', to: '-100' }, false);
    expect(await namesOf(store, 'tulips', ['chat/telegram:-100'])).toEqual(['tulips']);
    expect(await namesOf(store, 'tulips', ['chat/telegram:-7'])).toEqual([]);
  });
});
