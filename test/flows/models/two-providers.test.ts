/** One gateway, two model servers at the same time: by profile, by conversation, and with one of them down. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type FakeLlama, startFakeLlama } from '../../fakes/llama-server/llama-server.ts';
import { type GatewayFixture, openGatewayFixture, WAIT } from '../setup.ts';

/** A start with an embedded database takes seconds, and more on a busy machine. */
const START_MS = 90_000;

async function answerOf(
  fixture: GatewayFixture,
  model: string,
  content = 'who are you?',
): Promise<[number, string]> {
  const messages = [{ role: 'user', content }];
  const answer = await fixture.call('/v1/chat/completions', { json: { model, messages } });
  return [answer.status, await answer.text()];
}

async function say(fixture: GatewayFixture, id: string, content: string): Promise<string> {
  const answer = await fixture.call(`/v1/sessions/http:${id}/messages`, { json: { content } });
  const { reply }: { reply?: string } = await answer.json();
  return reply ?? '';
}

async function patchModel(fixture: GatewayFixture, id: string, model: string): Promise<[number, string]> {
  const answer = await fixture.call(`/v1/sessions/http:${id}`, { method: 'PATCH', json: { model } });
  return [answer.status, await answer.text()];
}

async function lastAnswer(fixture: GatewayFixture, id: string): Promise<string> {
  return (await fixture.messages(`http:${id}`)).findLast(({ role }) => role === 'assistant')?.content ?? '';
}

describe('two model servers in one gateway', { timeout: START_MS }, () => {
  let llama: FakeLlama;
  let fixture: GatewayFixture;
  beforeAll(async () => {
    llama = await startFakeLlama();
    fixture = await openGatewayFixture({ env: { OPENAI_BASE_URL: llama.url, MODEL: 'fake' } });
    for (const [id, model] of Object.entries({ near: 'plain', far: 'openai/fake' })) {
      const folder = path.join(fixture.home, 'profiles', id);
      await mkdir(folder, { recursive: true });
      await writeFile(path.join(folder, 'config.json'), JSON.stringify({ model }));
    }
    const loaded = async (): Promise<void> =>
      expect(await say(fixture, 'looks', '/profile')).toMatch(/`far`[\s\S]*`near`/);
    await vi.waitFor(loaded, WAIT);
  }, START_MS);
  afterAll(async () => {
    await fixture.close();
    await llama.close();
  });

  it('lists the models of both next to the profiles', async () => {
    const answer = await fixture.call('/v1/models');
    const { data }: { data: { id: string }[] } = await answer.json();
    expect(data.map(({ id }) => id)).toEqual([
      'default',
      'chat',
      'coder',
      'far',
      'near',
      'researcher',
      'fake:latest',
      'plain:latest',
      'openai/fake',
    ]);
  });

  it('answers each profile from its own server, at the same time (N-41)', async () => {
    const calls = fixture.ollama.calls.length;
    llama.answer({ text: ['from afar'], hold: true });
    const far = answerOf(fixture, 'far', 'asked afar');
    const held = await llama.nextCall();
    expect(await answerOf(fixture, 'near', 'asked nearby')).toEqual([
      200,
      expect.stringContaining('asked nearby'),
    ]);
    held.release();
    expect(await far).toEqual([200, expect.stringContaining('from afar')]);
    const [near] = fixture.ollama.calls.slice(calls);
    expect(near?.body.model).toBe('plain');
    expect(fixture.ollama.calls).toHaveLength(calls + 1);
  });

  it('lists the models of both with /model to an owner, the current one first and marked', async () => {
    expect(await say(fixture, 'shows', '/model')).toBe(
      'Model: `fake`\nChange it with /model NAME:\n▶ fake:latest\n· plain:latest\n· openai/fake',
    );
    await say(fixture, 'shows', '/model openai/fake');
    expect(await say(fixture, 'shows', '/model')).toBe(
      'Model: `openai/fake` (chosen for this conversation; /model default resets it)\n' +
        'Change it with /model NAME:\n▶ openai/fake\n· fake:latest\n· plain:latest',
    );
  });

  it('changes the server of a conversation with /model, and refuses a model that no server has', async () => {
    expect(await say(fixture, 'moves', '/model openai/fake')).toContain('openai/fake');
    llama.answer('from llama-server');
    await fixture.post('moves', 'hello');
    await fixture.idle('http:moves');
    expect(await lastAnswer(fixture, 'moves')).toBe('from llama-server');
    expect(await say(fixture, 'moves', '/model openai/nothing')).toContain('There is no model');
    expect((await fixture.store.ledger.session('http:moves'))?.model).toBe('openai/fake');
    expect(await say(fixture, 'moves', '/model default')).toContain('fake');
    await fixture.post('moves', 'hello again');
    await fixture.idle('http:moves');
    expect(await lastAnswer(fixture, 'moves')).toBe('echo: hello again');
  });

  it('continues with one server while the other is down, and reports which one is', async () => {
    await llama.close();
    const answer = await fixture.call('/v1/models');
    const { data }: { data: { id: string }[] } = await answer.json();
    expect(data.map(({ id }) => id)).toContain('fake:latest');
    expect(await answerOf(fixture, 'near')).toEqual([200, expect.stringContaining('who are you?')]);
    expect(await say(fixture, 'moves', '/model openai/other')).toContain('OPENAI_BASE_URL');
    expect(await answerOf(fixture, 'far')).toEqual([503, expect.stringContaining('OPENAI_BASE_URL')]);
  });
});

it(
  'names the variable of a server that is not configured, and the conversation keeps its model (S-43)',
  async () => {
    const fixture = await openGatewayFixture();
    try {
      expect(await say(fixture, 'switch', '/model openai/gpt')).toMatch(/"openai\/gpt".*set OPENAI_BASE_URL/);
      expect(await say(fixture, 'switch', '/model plain')).toContain('plain:latest');
      expect(await patchModel(fixture, 'switch', 'openai/gpt')).toEqual([
        404,
        expect.stringContaining('set OPENAI_BASE_URL'),
      ]);
      expect((await fixture.store.ledger.session('http:switch'))?.model).toBe('plain:latest');
      await fixture.post('switch', 'still there?');
      await fixture.idle('http:switch');
      expect(await lastAnswer(fixture, 'switch')).toBe('echo: still there?');
      expect(await answerOf(fixture, 'openai/gpt')).toEqual([
        404,
        expect.stringContaining('OPENAI_BASE_URL'),
      ]);
    } finally {
      await fixture.close();
    }
  },
  START_MS,
);

it(
  'needs no model server before its first use, and no restart once it is there (S-43, S-49)',
  async () => {
    const early = await startFakeLlama();
    const port = Number(new URL(early.url).port);
    await early.close();
    const fixture = await openGatewayFixture({
      env: { OPENAI_BASE_URL: early.url, MODEL: 'fake' },
    });
    let llama: FakeLlama | undefined;
    try {
      await fixture.post('waits', 'anybody there?');
      await fixture.idle('http:waits');
      expect(await lastAnswer(fixture, 'waits')).toBe('echo: anybody there?');
      expect(await say(fixture, 'waits', '/model openai/fake')).toContain('OPENAI_BASE_URL');
      expect(await patchModel(fixture, 'waits', 'openai/fake')).toEqual([
        503,
        expect.stringContaining('OPENAI_BASE_URL'),
      ]);
      expect((await fixture.store.ledger.session('http:waits'))?.model).toBeUndefined();

      llama = await startFakeLlama({ port });
      expect(await patchModel(fixture, 'waits', 'openai/fake')).toEqual([
        200,
        expect.stringContaining('"openai/fake"'),
      ]);
      llama.answer('at last');
      await fixture.post('waits', 'and now?');
      await fixture.idle('http:waits');
      expect(await lastAnswer(fixture, 'waits')).toBe('at last');

      await llama.close();
      await fixture.post('waits', 'gone again?');
      const told = (): boolean => fixture.log.some((line) => line.includes('model_call_repeated'));
      await vi.waitFor(() => expect(told()).toBe(true), WAIT);
      llama = await startFakeLlama({ port });
      llama.answer('only for a moment');
      await fixture.idle('http:waits');
      expect(await lastAnswer(fixture, 'waits')).toBe('only for a moment');
    } finally {
      await fixture.close();
      await llama?.close();
    }
  },
  START_MS,
);

it(
  'reports which key is missing, and keeps the model and the profile of the conversation (S-43)',
  async () => {
    const llama = await startFakeLlama({ apiKey: 'sesame-of-the-server' });
    const fixture = await openGatewayFixture({
      env: { OPENAI_BASE_URL: llama.url, MODEL: 'fake' },
    });
    const folder = path.join(fixture.home, 'profiles', 'far');
    await mkdir(folder, { recursive: true });
    await writeFile(path.join(folder, 'config.json'), JSON.stringify({ model: 'openai/fake' }));
    try {
      const missing = expect.stringContaining('set OPENAI_API_KEY');
      expect(await say(fixture, 'keys', '/model openai/fake')).toEqual(missing);
      await fixture.post('keys', 'hello');
      expect(await patchModel(fixture, 'keys', 'openai/fake')).toEqual([502, missing]);
      expect((await fixture.store.ledger.session('http:keys'))?.model).toBeUndefined();
      const read = async (): Promise<void> =>
        expect(await say(fixture, 'keys', '/profile')).toContain('`far`');
      await vi.waitFor(read, WAIT);
      expect(await say(fixture, 'keys', '/profile far')).toMatch(/"far" cannot answer:.*set OPENAI_API_KEY/);
      const patched = await fixture.call('/v1/sessions/http:keys', {
        method: 'PATCH',
        json: { profileId: 'far' },
      });
      expect([patched.status, await patched.text()]).toEqual([502, missing]);
      expect((await fixture.store.ledger.session('http:keys'))?.profileId).toBe('default');
      // A client that asks for it in one call gets the same error.
      expect(await answerOf(fixture, 'far')).toEqual([502, missing]);
      await fixture.post('keys', 'and you?');
      await fixture.idle('http:keys');
      expect(await lastAnswer(fixture, 'keys')).toBe('echo: and you?');
    } finally {
      await fixture.close();
      await llama.close();
    }
  },
  START_MS,
);
