/** Who sees what over HTTP: files of a deleted session, memories of end users, and what names a session. */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, expect, it, vi } from 'vitest';
import { hashSecret } from '../../../src/security/token-lookup.ts';
import type { ChatBody } from '../../fakes/ollama/ollama.ts';
import { describeGateway, WAIT } from '../setup.ts';

const ALICE = 'a-token-of-alice-123456';
const BOB = 'a-token-of-bob-12345678';
const CANARY = 'CANARY-FILE-OF-ALICE';
const PIN = 'The PIN of Ada is 4711';
const file = { tools: { enabled: ['list_dir', 'read_file', 'write_file', 'memory'] } };

describeGateway('isolation', { file }, (fixture) => {
  beforeAll(async () => {
    for (const [name, token] of Object.entries({ alice: ALICE, bob: BOB }))
      await fixture().store.access.putToken({ hash: hashSecret(token), name, scopes: ['chat', 'commands'] });
  });

  const contentsOf = (body: ChatBody): string => body.messages.map(({ content }) => content).join('\n');
  const calls = (said: string, name: string, args: Record<string, unknown>): void =>
    fixture().ollama.answer({ toolCalls: [{ name, args }] }, { when: said });
  /** Posts into a session and waits for its end; returns the prompt of the last model call. */
  const says = async (token: string, id: string, content: string): Promise<string> => {
    const answer = await fixture().call(`/v1/sessions/http:${id}/messages`, { json: { content }, token });
    expect(answer.status).toBe(202);
    await fixture().idle(`http:${id}`);
    return contentsOf((await fixture().modelCall(content)).body);
  };
  /** A completion; returns the whole prompt. */
  const completes = async (content: string, more: object, session?: string): Promise<string> => {
    const headers: Record<string, string> = session === undefined ? {} : { 'x-session-id': session };
    const json = { model: 'default', messages: [{ role: 'user', content }], ...more };
    const answer = await fixture().call('/v1/chat/completions', { json, headers, token: ALICE });
    expect([answer.status, await answer.text()]).toEqual([200, expect.any(String)]);
    return contentsOf((await fixture().modelCall(content)).body);
  };
  const filesBelow = async (folder: string): Promise<string[]> => {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    return entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
  };
  const foldersOf = (): string => path.join(fixture().home, 'workspace', 'sessions');

  it('gives a new session of a deleted name none of its files, and removes them from the disk', async () => {
    calls('keep my secret', 'write_file', { path: 'secret.txt', content: CANARY });
    await says(ALICE, 'alpha', 'keep my secret');
    const before = await filesBelow(foldersOf());
    expect(await Promise.all(before.map((name) => readFile(name, 'utf8')))).toContain(CANARY);
    const deleted = await fixture().call('/v1/sessions/http:alpha', { method: 'DELETE', token: ALICE });
    expect(deleted.status).toBe(200);
    calls('what is in the file', 'read_file', { path: 'secret.txt' });
    const seen = await says(BOB, 'alpha', 'what is in the file');
    expect(seen).toContain('There is no "secret.txt"');
    expect(seen).not.toContain(CANARY);
    const left = await filesBelow(foldersOf());
    expect(await Promise.all(left.map((name) => readFile(name, 'utf8')))).not.toContain(CANARY);
  });

  it('removes the files of a session whose deletion a crash cut short, once the gateway runs again', async () => {
    const content = `${CANARY} once more`;
    calls('keep another', 'write_file', { path: 'secret.txt', content });
    await says(ALICE, 'beta', 'keep another');
    // As if the process had ended between the two: the rows are gone, the folder is not.
    await fixture().store.ledger.deleteSession('http:beta');
    const texts = async (): Promise<string[]> =>
      await Promise.all((await filesBelow(foldersOf())).map((name) => readFile(name, 'utf8')));
    expect(await texts()).toContain(content);
    await fixture().restart();
    await vi.waitFor(async () => expect(await texts()).not.toContain(content), WAIT);
  });

  it('keeps the files of a chat at /new, and of a session at a restart', async () => {
    calls('write my notes', 'write_file', { path: 'notes.txt', content: 'Buy bread.' });
    await says(ALICE, 'gamma', 'write my notes');
    const json = { content: '/new' };
    expect((await fixture().call('/v1/sessions/http:gamma/messages', { json, token: ALICE })).status).toBe(
      200,
    );
    await fixture().restart();
    calls('read my notes', 'read_file', { path: 'notes.txt' });
    expect(await says(ALICE, 'gamma', 'read my notes')).toContain('Buy bread.');
  });

  it('does not show a client where the files of its session are', async () => {
    await says(ALICE, 'plain', 'hello there');
    const answer = await fixture().call('/v1/sessions/http:plain', { token: ALICE });
    expect(Object.keys(await answer.json())).not.toContain('folder');
  });

  it('keeps the memories of the end users of one token separate, whatever their names', async () => {
    const ada = 'ada+work@example.org, "the first" ✨';
    calls('remember my pin', 'memory', { action: 'save', text: PIN });
    await completes('remember my pin', { user: ada }, 'of-ada');
    expect(await completes('who am I to you', { user: 'grace@example.org' }, 'of-grace')).not.toContain(PIN);
    expect(await completes('and who am I', {}, 'of-nobody')).not.toContain(PIN);
    expect(await completes('do you know me still', { user: ada }, 'of-ada-too')).toContain(PIN);
    const asked = async (user: string): Promise<string> => {
      const json = { model: 'default', messages: [{ role: 'user', content: '/memory' }], user };
      const headers = { 'x-session-id': 'of-commands' };
      return await (await fixture().call('/v1/chat/completions', { json, headers, token: ALICE })).text();
    };
    expect(await asked('grace@example.org')).not.toContain('4711');
    expect(await asked(ada)).toContain('4711');
  });

  it('shows a person what is remembered about them, and lets them delete it, but no one else', async () => {
    calls('remember my tea', 'memory', { action: 'save', text: 'Alice drinks tea' });
    await says(ALICE, 'tea', 'remember my tea');
    type Facts = { memories: { id: number; text: string }[] };
    const own = async (token: string): Promise<Facts['memories']> => {
      const { memories }: Facts = await (await fixture().call('/v1/me/memories', { token })).json();
      return memories;
    };
    const [fact] = await own(ALICE);
    expect(fact?.text).toBe('Alice drinks tea');
    expect(await own(BOB)).toEqual([]);
    const forget = async (token: string): Promise<number> =>
      (await fixture().call(`/v1/me/memories/${fact?.id}`, { method: 'DELETE', token })).status;
    expect(await forget(BOB)).toBe(404);
    expect(await forget(ALICE)).toBe(200);
    expect(await own(ALICE)).toEqual([]);
  });

  it('lists the files of a session for those who may read it', async () => {
    calls('write a list', 'write_file', { path: 'out/list.txt', content: 'eggs' });
    await says(ALICE, 'list', 'write a list');
    const listed = await fixture().call('/v1/sessions/http:list/files', { token: ALICE });
    const file = { file: 'out/list.txt', name: 'list.txt', bytes: 4, changedAt: expect.any(String) };
    expect(await listed.json()).toEqual({ files: [file], more: false });
    expect((await fixture().call('/v1/sessions/http:list/files', { token: BOB })).status).toBe(404);
  });

  it("does not use any field of the body as the session's name: conversations of one end user stay separate", async () => {
    await completes('my pin is 9999', { user: 'libre' });
    const messages = [
      { role: 'system', content: 'You are a pirate.' },
      { role: 'user', content: 'what is my number' },
    ];
    const seen = await completes('what is my number', { user: 'libre', messages });
    expect(seen).toContain('You are a pirate.');
    expect(seen).not.toContain('9999');
    await vi.waitFor(async () => {
      const { sessions }: { sessions: { key: string }[] } = await (
        await fixture().call('/v1/sessions?limit=200', { token: ALICE })
      ).json();
      expect(sessions.map(({ key }) => key)).not.toContain('http:libre');
    }, WAIT);
  });

  it("accepts an end user's id given as an object, and refuses invalid ids by their field", async () => {
    calls('remember my dog', 'memory', { action: 'save', text: 'The dog is Rex' });
    await completes('remember my dog', { user: { id: 'u-1', name: 'Ann', role: 'user' } }, 'of-ann');
    expect(await completes('who barks', { user: 'u-1' }, 'of-ann-too')).toContain('The dog is Rex');
    for (const user of [{ name: 'Ann' }, '', 'x'.repeat(513), ['a']]) {
      const json = { model: 'default', messages: [{ role: 'user', content: 'x' }], user };
      const answer = await fixture().call('/v1/chat/completions', { json, token: ALICE });
      const { error }: { error: { message: string } } = await answer.json();
      expect([answer.status, error.message]).toEqual([400, expect.stringContaining('user')]);
    }
  });
});
