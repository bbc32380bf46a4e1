/** Scopes through a whole gateway: what a token may choose, approve and command. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, expect, it, vi } from 'vitest';
import type { Scope } from '../../../src/protocol/access.ts';
import { hashSecret } from '../../../src/security/token-lookup.ts';
import { riskyTools } from '../../fakes/agent/risky-tools.ts';
import { describeGateway, OWNER, WAIT } from '../setup.ts';

const ran: string[] = [];
const power = { enabledTools: ['wipe', 'list_dir'], description: 'everything' };
const open = { usableBy: 'everyone', enabledTools: [] };

async function furnish(home: string): Promise<void> {
  for (const [id, config] of Object.entries({ power, open })) {
    await mkdir(path.join(home, 'profiles', id), { recursive: true });
    await writeFile(path.join(home, 'profiles', id, 'config.json'), JSON.stringify(config));
  }
}

describeGateway('a token without admin', { furnish, tools: riskyTools(ran) }, (fixture) => {
  beforeAll(() => void ran.splice(0));
  let made = 0;
  const withToken = async (...scopes: Scope[]): Promise<string> => {
    const secret = `parley_scoped-${(made += 1)}-${scopes.join('-')}-0123456789abcdef`;
    await fixture().store.access.putToken({ hash: hashSecret(secret), name: secret, scopes });
    return secret;
  };
  const post = (token: string, id: string, content: string, more: object = {}): Promise<Response> =>
    fixture().call(`/v1/sessions/http:${id}/messages`, { token, json: { content, ...more } });
  const complete = (token: string, content: string, model: string, session?: string): Promise<Response> =>
    fixture().call('/v1/chat/completions', {
      token,
      json: { model, messages: [{ role: 'user', content }] },
      headers: session === undefined ? {} : { 'x-session-id': session },
    });
  const errorOf = async (response: Response): Promise<unknown> => [
    response.status,
    (await response.json()).error?.code,
  ];

  it('cannot choose a profile or a model for a message that PATCH would refuse', async () => {
    const token = await withToken('chat');
    expect((await post(token, 'chooser', 'hi')).status).toBe(202);
    const patched = { token, method: 'PATCH', json: { profileId: 'power' } };
    expect((await fixture().call('/v1/sessions/http:chooser', patched)).status).toBe(403);
    expect(await errorOf(await post(token, 'chooser', 'hi', { model: 'power' }))).toEqual([403, 'forbidden']);
    expect(await errorOf(await post(token, 'chooser-2', 'hi', { model: 'power' }))).toEqual([
      403,
      'forbidden',
    ]);
    expect(await errorOf(await complete(token, 'hi', 'power', 'chooser'))).toEqual([403, 'forbidden']);
    expect(await errorOf(await complete(token, 'hi', 'power'))).toEqual([403, 'forbidden']);
    const listed = await (await fixture().call('/v1/models', { token })).json();
    expect(listed.data.map(({ id }: { id: string }) => id)).not.toContain('power');
    expect((await post(OWNER, 'boss', 'hi', { model: 'power' })).status).toBe(202);
  });

  it('may choose what it already has, and a profile that is for everyone', async () => {
    const token = await withToken('chat');
    expect((await post(token, 'free', 'hi', { model: 'default' })).status).toBe(202);
    expect((await post(token, 'free', 'hi', { model: 'open' })).status).toBe(202);
    expect((await complete(token, 'hi', 'open')).status).toBe(200);
    const patch = { token, method: 'PATCH', json: { profileId: 'open' } };
    expect((await fixture().call('/v1/sessions/http:free', patch)).status).toBe(200);
    await fixture().store.ledger.updateSession('http:free', { profileId: 'power' });
    expect((await post(token, 'free', 'hi', { model: 'power' })).status).toBe(202);
  });

  it('without "approve" cannot decide what its own session asks, by route or by text', async () => {
    const [chat, approver] = [
      await withToken('chat', 'commands'),
      await withToken('chat', 'commands', 'approve'),
    ];
    for (const [token, id] of [
      [chat, 'asks-1'],
      [approver, 'asks-2'],
    ] as const) {
      fixture().ollama.answer({ toolCalls: [{ name: 'wipe', args: { word: id } }] }, { when: id });
      expect((await post(token, id, 'start')).status).toBe(202);
      await fixture().idle(`http:${id}`);
      await fixture().store.ledger.updateSession(`http:${id}`, { profileId: 'power' });
      expect((await post(token, id, id)).status).toBe(202);
    }
    const waiting = (token: string): Promise<{ id: string }[]> =>
      vi.waitFor(async () => {
        const { approvals } = await (await fixture().call('/v1/approvals', { token })).json();
        expect(approvals).toHaveLength(1);
        return approvals;
      }, WAIT);
    const [asked] = await waiting(chat);
    const decide = (token: string, id = ''): Promise<Response> =>
      fixture().call(`/v1/approvals/${id}`, { token, json: { decision: 'approved' } });
    expect(await errorOf(await decide(chat, asked?.id))).toEqual([403, 'forbidden']);
    expect(await errorOf(await post(chat, 'asks-1', `/approve ${asked?.id}`))).toEqual([403, 'forbidden']);
    expect(await errorOf(await post(chat, 'asks-1', '/approve'))).toEqual([403, 'forbidden']);
    const [own] = await waiting(approver);
    expect((await decide(approver, own?.id)).status).toBe(200);
    await vi.waitFor(() => expect(ran).toEqual(['wipe asks-2']), WAIT);
    expect(await waiting(chat)).toHaveLength(1);
  });

  it('without "commands" is refused a command by name, in messages and completions, but may always stop', async () => {
    const token = await withToken('chat', 'approve');
    expect((await post(token, 'plain', 'hi')).status).toBe(202);
    expect(await errorOf(await post(token, 'plain', '/new'))).toEqual([403, 'forbidden']);
    expect(await errorOf(await complete(token, '/status', 'default', 'plain'))).toEqual([403, 'forbidden']);
    expect(await errorOf(await post(token, 'plain', '/approve'))).toEqual([403, 'forbidden']);
    expect((await post(token, 'plain', '/stop')).status).toBe(200);
    expect((await post(token, 'plain', '/etc/hosts is a file')).status).toBe(202);
    const { commands } = await (await fixture().call('/v1/commands', { token })).json();
    expect(commands.map(({ name }: { name: string }) => name)).toEqual(['stop', 'answer', 'questions']);
    expect((await post(await withToken('chat', 'commands'), 'plain-2', '/status')).status).toBe(200);
  });
});
