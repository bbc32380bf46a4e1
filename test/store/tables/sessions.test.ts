/** Sessions and their messages as channels read them: pages, changes, deletion. */
import { expect, it } from 'vitest';
import { FencedError } from '../../../src/protocol/errors.ts';
import { describeStore } from '../../database.ts';
import { request } from '../requests.ts';
import { accepted, answer, finished, LEASE_MS, only, startTurn } from '../lanes/turns.ts';

describeStore('sessions', (databases) => {
  it('pages through messages from the newest back, returning each page oldest first', async () => {
    const { ledger } = await databases.open();
    for (let i = 1; i <= 7; i += 1) await ledger.accept(request(`m${i}`));
    const seqs = async (limit: number, before?: number) =>
      (await ledger.messages('telegram:42', { limit, before })).map((row) => row.seq);
    expect(await seqs(3)).toEqual([5, 6, 7]);
    expect(await seqs(3, 5)).toEqual([2, 3, 4]);
    expect(await seqs(3, 2)).toEqual([1]);
    expect(await seqs(3, 1)).toEqual([]);
    expect(await ledger.messages('telegram:none', { limit: 5 })).toEqual([]);
  });

  it('lists sessions by their last message, and only its own for a token', async () => {
    const { ledger } = await databases.open();
    const post = (chatId: string, ownerTokenId: string, id = chatId) =>
      ledger.accept({ ...request(id, { channel: 'http', chatId }), ownerTokenId });
    await post('a', 't1');
    await post('b', 't2');
    await post('c', 't1');
    expect(await post('a', 't2', 'again')).toEqual({ kind: 'foreign' });
    await post('a', 't1', 'again');
    const keys = async (options: Parameters<typeof ledger.listSessions>[0]) =>
      (await ledger.listSessions(options)).map((session) => session.key);
    expect(await keys({ limit: 9 })).toEqual(['http:a', 'http:c', 'http:b']);
    expect(await keys({ limit: 9, ownerTokenId: 't1' })).toEqual(['http:a', 'http:c']);
    const [newest] = await ledger.listSessions({ limit: 1 });
    expect(newest).toMatchObject({ key: 'http:a', ownerTokenId: 't1', messageCount: 2 });
    expect(await keys({ limit: 9, before: newest!.updatedAt })).toEqual(['http:c', 'http:b']);
  });

  it('reads the newest sessions by index, both all and those of one token', async () => {
    const { sql } = await databases.open();
    await sql`
      insert into session (key, owner_token_id, updated_at)
      select 'http:' || n, 't' || n % 3, now() - n * interval '1 s' from generate_series(1, 3000) n`;
    await sql`analyze session`;
    const plan = async (where: string): Promise<string> => {
      const rows = await sql.unsafe(
        `explain select * from session ${where} order by updated_at desc, key limit 20`,
      );
      return rows.map((row) => String(row['QUERY PLAN'])).join('\n');
    };
    expect(await plan('')).toContain('Index Scan using session_recent');
    expect(await plan("where owner_token_id = 't1'")).toMatch(/Index Scan using session_(owner|recent)/);
  });

  it('refuses messages of another token, even when two create a session at once, and accepts those of an admin', async () => {
    const { ledger } = await databases.open();
    const post = (id: string, ownerTokenId: string, anyOwner = false) =>
      ledger.accept({ ...request(id, { channel: 'http', chatId: 'x' }), ownerTokenId, anyOwner });
    const raced = await Promise.all(['t1', 't2', 't3', 't4'].map((token) => post(`by-${token}`, token)));
    expect(raced.map((result) => result.kind).toSorted()).toEqual([
      'accepted',
      'foreign',
      'foreign',
      'foreign',
    ]);
    const [winner] = ['t1', 't2', 't3', 't4'].filter((_, index) => raced[index]?.kind === 'accepted');
    expect(await post(`by-${winner}`, 't9'), 'a stolen Idempotency-Key').toEqual({ kind: 'foreign' });
    expect(await post('root', 't9', true)).toMatchObject({ kind: 'accepted', seq: 2, laneSeq: 2 });
    expect(await ledger.messages('http:x', { limit: 9 })).toHaveLength(2);
  });

  it('reports what is running and what waits', async () => {
    const { ledger, lanes } = await databases.open();
    const key = 'telegram:42' as const;
    expect(await ledger.queue(key)).toEqual({ busy: false, waiting: 0 });
    for (const id of ['a', 'b', 'c']) await ledger.accept(request(id));
    expect(await ledger.queue(key)).toEqual({ busy: false, waiting: 3 });
    const node = await lanes.register('home', LEASE_MS);
    await lanes.sweep(node, [{ class: 'in', free: 1 }]);
    expect(await ledger.queue(key)).toEqual({ busy: true, waiting: 2 });
    await lanes.stop(key, { fresh: false });
    expect(await ledger.queue(key)).toEqual({ busy: true, waiting: 0 });
  });

  it('creates a session changed before its first message, for the token that changes it', async () => {
    const { ledger } = await databases.open();
    expect(await ledger.updateSession('http:new', { profileId: 'coder' })).toBeUndefined();
    const made = await ledger.updateSession('http:new', { profileId: 'coder' }, { ownerTokenId: 'a' });
    expect(made).toMatchObject({ profileId: 'coder', ownerTokenId: 'a', messageCount: 0, mode: 'planner' });
    const again = await ledger.updateSession('http:new', { model: 'big' }, { ownerTokenId: 'b' });
    expect(again).toMatchObject({ profileId: 'coder', model: 'big', ownerTokenId: 'a' });
  });

  it('changes what was requested and leaves the rest', async () => {
    const { ledger } = await databases.open();
    await ledger.accept(request('m1'));
    const key = 'telegram:42' as const;
    expect(await ledger.updateSession(key, { model: 'qwen' })).toMatchObject({
      model: 'qwen',
      mode: 'planner',
    });
    expect(await ledger.updateSession(key, { mode: 'teacher' })).toMatchObject({
      model: 'qwen',
      mode: 'teacher',
    });
    expect((await ledger.updateSession(key, { model: null }))?.model).toBeUndefined();
    expect(await ledger.updateSession(key, {})).toMatchObject({ mode: 'teacher' });
    expect(await ledger.updateSession('telegram:none', { mode: 'agentic' })).toBeUndefined();
  });

  it('resolves the session of an address before accepting', async () => {
    const { ledger, sql } = await databases.open();
    expect(await ledger.sessionOf('telegram:42')).toBe('telegram:42');
    await sql`insert into address (key, session) values ('telegram:42', 'http:mine')`;
    expect(await ledger.sessionOf('telegram:42')).toBe('http:mine');
    expect(accepted(await ledger.accept(request('m1'))).session).toBe('http:mine');
    const named = request('m2', { channel: 'system', sessionKey: 'discord:9' });
    expect(accepted(await ledger.accept(named)).session).toBe('discord:9');
    expect(await ledger.messages('discord:9', { limit: 1 })).toMatchObject([{ role: 'system' }]);
  });

  it('deletes a session completely, and fences off the turn that still runs in it', async () => {
    const store = await databases.open();
    const { ledger, sql } = store;
    const { node, turnId, head } = await startTurn(store);
    await ledger.journalAnswer(head, turnId, [answer(1, 'x')]);
    await ledger.noteSent(head, turnId, [{ id: 'p' }]);
    await ledger.accept(request('m2'));
    expect(await ledger.deleteSession('telegram:42')).toBe(true);
    expect(await ledger.deleteSession('telegram:42')).toBe(false);
    await expect(ledger.finishTurn(head, finished(turnId, 'late'))).rejects.toThrow(FencedError);
    for (const table of ['message', 'context', 'turn', 'session', 'delivery', 'lane_item']) {
      expect({ table, rows: [...(await sql`select * from ${sql(table)}`)] }).toEqual({ table, rows: [] });
    }
    const again = accepted(await ledger.accept(request('m1', {}, node)));
    expect(again).toMatchObject({ seq: 1, position: 0 });
    expect(only(again).epoch).toBeGreaterThan(head.epoch);
    await expect(ledger.journalAnswer(head, turnId, [answer(2, 'late')])).rejects.toThrow(FencedError);
  });

  it('has its own folder, whatever its name was used for before, and records those of deleted sessions', async () => {
    const { ledger, folders, lanes } = await databases.open();
    await ledger.accept(request('m1'));
    const first = (await ledger.session('telegram:42'))?.folder ?? '';
    await ledger.accept(request('m2'));
    expect((await ledger.session('telegram:42'))?.folder).toBe(first);
    const listed = (page: Partial<Parameters<typeof folders.removedFolders>[0]> = {}) =>
      folders.removedFolders({ withinMs: 60_000, after: '', limit: 9, ...page });
    expect(await listed()).toEqual([]);
    await ledger.deleteSession('telegram:42');
    expect(await listed()).toEqual([first]);
    await ledger.accept(request('m3'));
    const second = (await ledger.session('telegram:42'))?.folder ?? '';
    expect(second).not.toBe(first);
    await ledger.deleteSession('telegram:42');
    const [low = '', high = ''] = [first, second].toSorted();
    expect(await listed()).toEqual([low, high]);
    expect(await listed({ limit: 1 })).toEqual([low]);
    expect(await listed({ after: low })).toEqual([high]);
    expect(await listed({ withinMs: 0 })).toEqual([]);
    await lanes.purge(60_000, 9);
    expect(await listed()).toHaveLength(2);
    await lanes.purge(0, 9);
    expect(await listed()).toEqual([]);
  });

  it('records usage of turns and of calls without one, and counts what exists', async () => {
    const store = await databases.open();
    const { ledger, lanes, sql } = store;
    const { head, turnId } = await startTurn(store);
    expect(await ledger.counts()).toEqual({
      pending: 1,
      running: 1,
      deadLetters: 0,
      sessions: 1,
      gateways: 1,
    });
    await ledger.finishTurn(head, finished(turnId, 'hi'));
    await ledger.noteUsage({
      purpose: 'stateless',
      tokenId: 't',
      model: 'm',
      promptTokens: 1.4,
      completionTokens: 2,
      modelMs: 3.7,
    });
    const rows = await sql`select turn_id, token_id, prompt_tokens, model_ms from usage order by id`;
    expect([...rows]).toEqual([
      { turn_id: turnId, token_id: null, prompt_tokens: 10, model_ms: 7 },
      { turn_id: null, token_id: 't', prompt_tokens: 1, model_ms: 4 },
    ]);
    const node = await lanes.register('other', LEASE_MS);
    const bad = only(await lanes.append('in:x:1', 'bad', {}, node));
    await lanes.finish(bad, 'broken');
    expect(await ledger.counts()).toEqual({
      pending: 0,
      running: 0,
      deadLetters: 1,
      sessions: 1,
      gateways: 2,
    });
    expect(await ledger.turn('no such turn')).toBeUndefined();
  });
});
