/**
 * Forks in a whole gateway: a conversation that diverges at one of its messages, with its files, and nothing done
 * twice.
 */
import { expect, it } from 'vitest';
import { riskyTools } from '../../fakes/agent/risky-tools.ts';
import { hashSecret } from '../../../src/security/token-lookup.ts';
import { type CallInit, describeGateway, OWNER } from '../setup.ts';
import { messagesWithoutNotes } from '../../fakes/model/spoken-text.ts';

const ran: string[] = [];

describeGateway('a fork', { tools: riskyTools(ran) }, (fixture) => {
  const forkOf = (key: string, json: unknown, headers: Record<string, string> = {}): Promise<Response> =>
    fixture().call(`/v1/sessions/${key}/fork`, { json, headers });
  const plainly = () => ({
    call: (path: string, init?: CallInit) => fixture().call(path, init),
    post: (id: string, content: string) => fixture().post(id, content),
    idle: (key: string) => fixture().idle(key),
  });
  const said = async (key: string): Promise<string[]> =>
    (await fixture().messages(key)).map(({ content }) => content);

  it('continues from a message, and its source continues as if nothing had happened', async () => {
    const { ollama } = fixture();
    const { post, idle } = plainly();
    ollama.answer({ toolCalls: [{ name: 'list_dir', args: { path: '.' } }] }, { when: 'look around' });
    ollama.answer('Nothing here.', { when: 'look around' });
    await post('way', 'look around');
    await idle('http:way');
    await post('way', 'and then?');
    await idle('http:way');
    const made = await forkOf('http:way', { seq: 2, title: 'Another way' });
    expect(made.status).toBe(201);
    const fork: { key: string } = await made.json();
    expect(fork).toMatchObject({ title: 'Another way', messages: 2, leftBehind: 0, messageCount: 2 });
    expect(fork).not.toHaveProperty('folder');
    expect(await said(fork.key)).toEqual(['look around', 'Nothing here.']);
    await post(fork.key.slice('http:'.length), 'where am I?');
    await idle(fork.key);
    const { body } = await fixture().modelCall('where am I?');
    expect(
      messagesWithoutNotes(body.messages.slice(1)).map(({ role, content }) =>
        `${role}: ${content}`.slice(0, 22),
      ),
    ).toEqual([
      'user: look around',
      'assistant: ',
      expect.stringMatching(/^tool: /),
      'assistant: Nothing her',
      'user: where am I?',
    ]);
    expect(await said('http:way')).toEqual(['look around', 'Nothing here.', 'and then?', 'echo: and then?']);
  });

  it('has its own copies of the files: deleting one session does not affect the other', async () => {
    const { call, post, idle } = plainly();
    const url = `${fixture().gateway.url}/v1/sessions/http:papers/files?name=a.txt`;
    const headers = { authorization: `Bearer ${OWNER}` };
    const stored = await fetch(url, { method: 'POST', headers, body: 'the paper' });
    const { file }: { file: string } = await stored.json();
    await call('/v1/sessions/http:papers/messages', { json: { content: 'read it', files: [file] } });
    await idle('http:papers');
    await post('papers', 'thanks');
    await idle('http:papers');
    const [first, second] = await Promise.all(
      [2, 2].map(async (seq) => (await (await forkOf('http:papers', { seq })).json()) as { key: string }),
    );
    const textIn = async (key = ''): Promise<string> =>
      await (await call(`/v1/sessions/${key}/files/${file}`)).text();
    expect([await textIn(first?.key), await textIn(second?.key)]).toEqual(['the paper', 'the paper']);
    await call(`/v1/sessions/${first?.key}`, { method: 'DELETE' });
    await call('/v1/sessions/http:papers', { method: 'DELETE' });
    expect(await textIn(second?.key)).toBe('the paper');
    expect((await fixture().messages(second?.key ?? ''))[0]?.attachments).toMatchObject([{ file }]);
  });

  it('is one session for a repeated request, and explains an invalid one', async () => {
    await fixture().post('again', 'hello');
    await fixture().idle('http:again');
    const key = { 'idempotency-key': 'fork-1' };
    const [first, second] = [
      await (await forkOf('http:again', { seq: 2 }, key)).json(),
      await (await forkOf('http:again', { seq: 2 }, key)).json(),
    ] as { key: string }[];
    expect(first?.key).toBe(second?.key);
    const beyond = await forkOf('http:again', { seq: 3 });
    expect([beyond.status, await beyond.json()]).toMatchObject([
      404,
      { error: { code: 'message_not_found', param: 'seq', message: expect.stringContaining('0 to 2') } },
    ]);
    expect((await forkOf('http:nowhere', { seq: 0 })).status).toBe(404);
    expect((await forkOf('http:again', { seq: -1 })).status).toBe(400);
  });

  it('copies nothing of a running turn, and waits for no approval of its source', async () => {
    const { ollama } = fixture();
    const { call } = plainly();
    ollama.answer({ toolCalls: [{ name: 'wipe', args: { word: 'all' } }] }, { when: 'wipe all' });
    await fixture().post('risky', 'hello');
    await fixture().idle('http:risky');
    const turnId = await fixture().post('risky', 'wipe all');
    const approvals = async (): Promise<{ turnId: string }[]> =>
      (await (await call('/v1/approvals')).json()).approvals;
    await expect.poll(approvals, { timeout: 20_000 }).toMatchObject([{ turnId }]);
    const fork: { key: string } = await (await forkOf('http:risky', { seq: 3 })).json();
    expect(await said(fork.key)).toEqual(['hello', 'echo: hello']);
    expect(await approvals()).toHaveLength(1);
    expect(ran).toEqual([]);
    await call('/v1/sessions/http:risky/stop', { method: 'POST' });
    await fixture().idle('http:risky');
  });

  it('after an unsafe tool that finished never runs it again, whatever is said in the fork, after a restart too', async () => {
    const { ollama } = fixture();
    const { call, post, idle } = plainly();
    ollama.answer({ toolCalls: [{ name: 'wipe', args: { word: 'once' } }] }, { when: 'wipe it once' });
    ollama.answer('It is wiped.', { when: 'wipe it once' });
    const turnId = await post('wiped', 'wipe it once');
    const asked = async (): Promise<{ id: string; turnId: string }[]> =>
      (await (await call('/v1/approvals')).json()).approvals;
    await expect.poll(asked, { timeout: 20_000 }).toMatchObject([{ turnId }]);
    const [approval] = await asked();
    await call(`/v1/approvals/${approval?.id}`, { json: { decision: 'approved' } });
    await idle('http:wiped');
    expect(ran).toEqual(['wipe once']);
    const forks = await Promise.all(
      [{ seq: 2 }, { seq: 2, before: false }].map(async (from) => {
        const { key }: { key: string } = await (await forkOf('http:wiped', from)).json();
        return key;
      }),
    );
    await fixture().restart();
    for (const key of forks) {
      await post(key.slice('http:'.length), 'what did you do?');
      await idle(key);
      // The model reads what came of the call, as a call that is over.
      const { body } = await fixture().modelCall('what did you do?');
      expect(body.messages.map(({ content }) => content).join('\n')).toContain('wipe once: ok');
    }
    expect(ran).toEqual(['wipe once']);
    expect(await asked()).toEqual([]);
    ran.length = 0;
  });

  it('belongs to the owner of its source; no one forks what they may not see', async () => {
    const kim = 'token-of-kim-0123456789-0123456789';
    await fixture().store.access.putToken({ hash: hashSecret(kim), name: 'kim', scopes: ['chat'] });
    await fixture().call('/v1/sessions/http:of-kim/messages', { token: kim, json: { content: 'mine' } });
    await fixture().idle('http:of-kim');
    const byOwner: { key: string } = await (await forkOf('http:of-kim', { seq: 2 })).json();
    const seen = await fixture().call(`/v1/sessions/${byOwner.key}`, { token: kim });
    expect(seen.status).toBe(200);
    const foreign = await fixture().call('/v1/sessions/http:again/fork', { token: kim, json: { seq: 2 } });
    expect(foreign.status).toBe(404);
  });
});
