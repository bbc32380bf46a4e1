/** Which model answers, as users see it: named ones that are missing, that fail, or that cannot call tools. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it, vi } from 'vitest';
import { FAKE_MODELS } from '../../fakes/ollama/models.ts';
import { describeGateway, WAIT } from '../setup.ts';

const [able, plain] = FAKE_MODELS;
const models =
  able === undefined || plain === undefined ? [] : [able, plain, { ...able, name: 'big:latest' }];
/** In Ollama's words. */
const NO_MEMORY = 'model requires more system memory (41.2 GiB) than is available (14.8 GiB)';

async function furnish(home: string): Promise<void> {
  const profile = async (id: string, content: unknown): Promise<void> => {
    await mkdir(path.join(home, 'profiles', id), { recursive: true });
    await writeFile(path.join(home, 'profiles', id, 'config.json'), JSON.stringify(content));
  };
  await profile('large', { model: 'big', fallbacks: ['fake'] });
  await profile('typo', { model: 'lama3' });
  await writeFile(path.join(home, 'config.json'), '{}', { mode: 0o600 });
}

describeGateway('the answering model', { env: { MODEL: 'gone' }, furnish, model: { models } }, (fixture) => {
  const say = async (id: string, content: string): Promise<string> => {
    const answer = await fixture().call(`/v1/sessions/http:${id}/messages`, { json: { content } });
    const { reply }: { reply?: string } = await answer.json();
    return reply ?? '';
  };
  /** Notices of a conversation, as its readers get them. */
  const noticesOf = (id: string): { texts: string[]; end: () => Promise<void> } => {
    const texts: string[] = [];
    const stop = new AbortController();
    const read = async (): Promise<void> => {
      const { body } = await fixture().call(`/v1/sessions/http:${id}/events`, { signal: stop.signal });
      for await (const chunk of body ?? []) {
        for (const [, text = ''] of Buffer.from(chunk)
          .toString()
          .matchAll(/"model_changed","text":"([^"]*)"/g))
          texts.push(text);
      }
    };
    const reading = read().catch(() => undefined);
    return {
      texts,
      end: async () => {
        stop.abort();
        await reading;
      },
    };
  };
  const ask = async (id: string, content: string): Promise<void> => {
    await fixture().post(id, content);
    await fixture().idle(`http:${id}`);
  };
  const answering = async (id: string): Promise<unknown> =>
    await (await fixture().call(`/v1/sessions/http:${id}/model`)).json();
  const ready = async (): Promise<{ model: Record<string, unknown> }> =>
    await (await fixture().call('/readyz')).json();

  it('is checked at the start: models that settings name and no server has are listed, with the command that fetches them', async () => {
    const { model } = await fixture().gateway.health();
    expect(model).toMatchObject({ state: 'degraded', name: 'gone' });
    expect(model.missing).toEqual([
      expect.stringMatching(/^MODEL: .* has no model "gone": download it with `ollama pull gone`/),
      expect.stringMatching(/^profiles\/typo\/config\.json: model: .* `ollama pull lama3`/),
    ]);
    expect(fixture().log.join('')).toMatch(/"models_degraded"[^\n]*|ollama pull gone[^\n]*models_degraded/);
    const { body } = await fixture().call('/readyz', { token: 'nobody' });
    expect(await new Response(body).text()).not.toContain('gone');
  });

  it('is reported once if it is a substitute and why, in the chat, /model, /status and /readyz, and once when the original is back', async () => {
    await say('large', '/profile large');
    const notices = noticesOf('large');
    const refused = { failure: { kind: 'status', status: 500, error: NO_MEMORY } } as const;
    for (const said of ['first', 'second']) {
      fixture().ollama.answer(refused, { when: said });
      await ask('large', said);
      const { body } = await fixture().modelCall(said);
      expect(body.model).toBe('fake');
    }
    const why = '(fake answers instead, because it is out of memory)';
    expect(await say('large', '/model')).toContain(`Model: \`big\` ${why}`);
    expect(await say('large', '/status')).toContain(`Model: big ${why}`);
    await vi.waitFor(async () => {
      const replaced = [{ model: 'big', instead: 'fake', reason: 'is out of memory' }];
      expect((await ready()).model).toMatchObject({ state: 'degraded', replaced });
    }, WAIT);
    const named = { configured: 'big', from: 'profile', profileId: 'large' };
    expect(await answering('large')).toEqual({
      ...named,
      answering: 'fake',
      reason: 'is out of memory',
      tools: true,
      omissions: [],
      contextUse: { tokens: expect.any(Number), window: expect.any(Number) },
    });
    await ask('large', 'third');
    expect(await answering('large')).toEqual({
      ...named,
      answering: 'big',
      reason: null,
      tools: true,
      omissions: [],
      contextUse: { tokens: expect.any(Number), window: expect.any(Number) },
    });
    expect((await fixture().modelCall('third')).body.model).toBe('big');
    expect(await say('large', '/model')).toContain('Model: `big`\n');
    await vi.waitFor(
      () =>
        expect(notices.texts).toEqual([
          'The model big is out of memory; fake answers instead.',
          'The model big is answering again.',
        ]),
      WAIT,
    );
    await notices.end();
  });

  it('can only chat if it cannot call tools, promises none, and says so', async () => {
    await ask('talks', 'hello nobody');
    expect(await answering('talks')).toMatchObject({ configured: 'gone', from: 'gateway', tools: null });
    await say('talks', '/model plain');
    await ask('talks', 'hello plain');
    expect(await answering('talks')).toEqual({
      configured: 'plain:latest',
      from: 'session',
      profileId: 'default',
      answering: 'plain:latest',
      reason: null,
      tools: false,
      omissions: [],
      contextUse: { tokens: expect.any(Number), window: expect.any(Number) },
    });
    expect((await fixture().call('/v1/sessions/http:unknown/model')).status).toBe(404);
    const { body } = await fixture().modelCall('hello plain');
    expect(body.tools ?? []).toEqual([]);
    const system = body.messages.find(({ role }) => role === 'system')?.content ?? '';
    expect(system).toContain('You are Parley');
    expect(system).not.toMatch(/Use your tools|profile_id|spawn_agent/);
    const note = '(plain:latest cannot call tools, so it can only chat)';
    expect(await say('talks', '/status')).toContain(`Model: plain:latest ${note}`);
    expect(await say('talks', '/model')).toContain(note);
    await say('talks', '/model fake');
    await ask('talks', 'hello able');
    const able = (await fixture().modelCall('hello able')).body;
    expect(able.tools?.length).toBeGreaterThan(5);
    expect(able.messages[0]?.content).toContain('Use your tools');
  });

  it('can be chosen for a new session, which starts with it, and is named for each answer', async () => {
    const choices = await (await fixture().call('/v1/choices')).json();
    expect(choices).toMatchObject({ mode: 'planner', model: { configured: 'gone' }, problem: null });
    expect(choices.models).toEqual(['fake:latest', 'plain:latest', 'big:latest']);
    expect(choices.profiles.map(({ id }: { id: string }) => id)).toEqual(
      expect.arrayContaining(['default', 'large', 'typo']),
    );
    const large = await (await fixture().call('/v1/choices?profile=large')).json();
    expect(large.model).toMatchObject({ configured: 'big', answering: 'big' });
    const begin = (session: object, content = 'a beginning'): Promise<Response> =>
      fixture().call('/v1/sessions/http:begun/messages', { json: { content, session } });
    expect((await begin({ model: 'nosuch' })).status).toBe(404);
    expect((await begin({ mode: 'wild' })).status).toBe(400);
    await begin({ profileId: 'large', model: 'plain', mode: 'teacher' });
    await fixture().idle('http:begun');
    await begin({ model: 'fake', mode: 'agentic' }, 'going on');
    await fixture().idle('http:begun');
    const session = await (await fixture().call('/v1/sessions/http:begun')).json();
    expect(session).toMatchObject({ profileId: 'large', model: 'plain', mode: 'teacher' });
    const { messages } = await (await fixture().call('/v1/sessions/http:begun/messages')).json();
    expect(messages.map(({ model }: { model: string | null }) => model)).toEqual([
      null,
      'plain',
      null,
      'plain',
    ]);
  });

  it('makes the requested plan even as a substitute', async () => {
    await say('plans', '/profile large');
    const refused = { failure: { kind: 'status', status: 500, error: NO_MEMORY } } as const;
    const steps = '## Milestones\n- Tea\n\n## Steps\n1. [SELF] Boil water';
    fixture().ollama.answer(refused, { when: 'make tea' });
    fixture().ollama.answer('It takes water.\nREFLECT: no', { when: 'make tea' });
    fixture().ollama.answer(steps, { when: 'make tea' });
    await say('plans', '/plan make tea');
    await fixture().idle('http:plans');
    const [plan] = await fixture().store.plans.plans('http:plans', 1);
    expect(plan?.record.plan.steps.map(({ description }) => description)).toEqual(['Boil water']);
  });
});
