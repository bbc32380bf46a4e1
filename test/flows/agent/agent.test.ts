/** What models and users do wrong, and what the chat shows then: over HTTP and Telegram, through a whole gateway. */
import { expect, it, vi } from 'vitest';
import { startFakeOllama } from '../../fakes/ollama/ollama.ts';
import { describeGateway, FRIENDS, openGatewayFixture, WAIT } from '../setup.ts';
import { lastUserText } from '../../fakes/model/spoken-text.ts';

const people = FRIENDS.values();

describeGateway('the agent', { telegram: true }, (fixture) => {
  /** The stored answer to a message in a new session, once its turn has ended. */
  const ask = async (id: string, content: string): Promise<{ content: string; isError: boolean }> => {
    await fixture().post(id, content);
    return await vi.waitFor(async () => {
      const answer = (await fixture().messages(`http:${id}`)).find(({ role }) => role === 'assistant');
      if (answer === undefined) throw new Error('no answer yet');
      return answer;
    }, WAIT);
  };
  /** The last thing the model was told in the turn about this message. */
  const heard = async (said: string): Promise<string> => {
    const { body } = await fixture().modelCall(said);
    return body.messages
      .filter(({ role }) => role === 'tool')
      .map(({ content }) => content)
      .join('\n');
  };
  const callsAbout = (said: string): number =>
    fixture().ollama.calls.filter(({ body }) => lastUserText(body) === said).length;
  const listDir = { name: 'list_dir', args: { path: '.' } };

  it('ends a model that loops on tools, with what it did and how to continue (N-42, B-08, B-49)', async () => {
    fixture().ollama.answer({ toolCalls: [listDir] }, { when: 'loop for ever', times: 99 });
    const { content, isError } = await ask('loops', 'loop for ever');
    expect(callsAbout('loop for ever')).toBe(20);
    expect(content).toMatch(/stopped after 20 steps.*list_dir ×20.*go on/s);
    expect(isError).toBe(false);
  });

  it('tells the model about invalid arguments and unknown tools (B-48)', async () => {
    const toolCalls = [
      { name: 'list_dir', args: { path: 7, surprise: true } },
      { name: 'rm_rf', args: {} },
      { name: 'read_file', args: { path: '../../../etc/passwd' } },
    ];
    fixture().ollama.answer({ toolCalls }, { when: 'wrong tools' });
    expect((await ask('wrong', 'wrong tools')).content).toBe('echo: wrong tools');
    const results = await heard('wrong tools');
    expect(results).toMatch(/path/);
    expect(results).toContain('rm_rf');
    expect(results).not.toContain('root:');
    expect(results.split('\n').length).toBeGreaterThanOrEqual(3);
  });

  it('reports an empty answer (B-47)', async () => {
    fixture().ollama.answer({ text: '' }, { when: 'say nothing' });
    fixture().ollama.answer({ text: '' }, { when: 'say nothing' });
    expect(await ask('empty', 'say nothing')).toMatchObject({
      content: expect.stringContaining('empty answer'),
      isError: true,
    });
  });

  it("asks again when the model's stream breaks in the middle, and keeps only the whole answer", async () => {
    const broken = {
      text: 'half an ans',
      failure: { kind: 'error_line', after: 2, error: 'CUDA error' },
    } as const;
    fixture().ollama.answer(broken, { when: 'break once' });
    fixture().ollama.answer('the whole answer', { when: 'break once' });
    expect((await ask('broken', 'break once')).content).toBe('the whole answer');
  });

  it('reports what happened when the model breaks twice, and the process keeps running (B-47)', async () => {
    const broken = {
      text: 'half an ans',
      failure: { kind: 'error_line', after: 2, error: 'CUDA error' },
    } as const;
    fixture().ollama.answer(broken, { when: 'break twice', times: 2 });
    const { content, isError } = await ask('twice', 'break twice');
    expect(content).toContain('could not be answered');
    expect(isError).toBe(true);
    expect((await ask('alive', 'still there?')).content).toBe('echo: still there?');
    // The gateway's apology is not text from the model.
    await fixture().post('twice', 'again');
    const { body } = await fixture().modelCall('again');
    expect(JSON.stringify(body.messages)).not.toContain('could not be answered');
  });

  it('carries hostile text to the model, the store and the screen intact', async () => {
    const hostile = `a\u0000b \ud800 c <script>&amp;</script> \`\`\` ${'👩‍👩‍👧‍👦'.repeat(3)} ‮evil`;
    const clean = `a\u2400b \ufffd c <script>&amp;</script> \`\`\` ${'👩‍👩‍👧‍👦'.repeat(3)} ‮evil`;
    expect((await ask('hostile', hostile)).content).toBe(`echo: ${clean}`);
    const chat = people.next().value ?? '';
    fixture().telegram.says(chat, hostile, chat);
    await vi.waitFor(() => expect(fixture().telegram.screen(chat).join('')).toContain('evil'), WAIT);
    expect(fixture().telegram.screen(chat).join('')).toContain('<script>&');
  });

  it('keeps the same chat id on two channels separate: two sessions, two histories (B-03)', async () => {
    const chat = people.next().value ?? '';
    const { telegram } = fixture();
    telegram.says(chat, `the word is apple ${chat}`, chat);
    await vi.waitFor(() => expect(telegram.screen(chat)).toHaveLength(1), WAIT);
    await ask(chat, `the word is pear ${chat}`);
    await fixture().post(chat, `which word over HTTP ${chat}?`);
    telegram.says(chat, `which word on Telegram ${chat}?`, chat);
    const said = async (question: string): Promise<string> =>
      JSON.stringify((await fixture().modelCall(question)).body.messages);
    expect(await said('over HTTP')).toContain('pear');
    expect(await said('over HTTP')).not.toContain('apple');
    expect(await said('on Telegram')).toContain('apple');
    expect(await said('on Telegram')).not.toContain('pear');
    await fixture().idle(`telegram:${chat}`);
    const sessions = await fixture().sql`select key from session where key like ${`%:${chat}`} order by key`;
    expect(sessions.map(({ key }) => key)).toEqual([`http:${chat}`, `telegram:${chat}`]);
  });

  it('keeps 50 concurrent chats separate: no word of one reaches another (B-06)', async () => {
    const chats = Array.from({ length: 25 }, () => people.next().value ?? '');
    const sessions = Array.from({ length: 25 }, (_, n) => `apart-${n}`);
    fixture().ollama.answer(
      { toolCalls: [listDir] },
      {
        when: (body) => /canary/.test(JSON.stringify(body)) && body.messages.at(-1)?.role === 'user',
        times: 50,
      },
    );
    for (const chat of chats) fixture().telegram.says(chat, `canary-${chat}-t`, chat);
    const answers = await Promise.all(sessions.map((id) => ask(id, `canary-${id}-h`)));
    for (const [n, { content }] of answers.entries()) expect(content).toBe(`echo: canary-${sessions[n]}-h`);
    for (const chat of chats) {
      await vi.waitFor(
        () => expect(fixture().telegram.screen(chat)).toEqual([`echo: canary-${chat}-t`]),
        WAIT,
      );
    }
    const canary = /canary-[\w-]+-[th]/g;
    for (const { body } of fixture().ollama.calls) {
      expect(new Set(JSON.stringify(body.messages).match(canary) ?? []).size).toBeLessThanOrEqual(1);
    }
  });
});

it('explains what to do when no model server answers, in the log, the health and the chat', async () => {
  const gone = await startFakeOllama();
  await gone.close();
  const [chat = '', other = ''] = FRIENDS;
  const file = { access: { telegram: { allow: [chat, other] }, owners: { telegram: [chat] } } };
  const env = { OLLAMA_HOST: gone.url };
  const fixture = await openGatewayFixture({ telegram: true, file, env });
  try {
    fixture.telegram.says(other, 'anybody there?', other);
    fixture.telegram.says(chat, 'anybody there?', chat);
    await vi.waitFor(
      () => expect(fixture.telegram.screen(chat).join('')).toMatch(/model.*OLLAMA_HOST|ollama serve/s),
      WAIT,
    );
    // A user who does not run the gateway sees nothing of its settings.
    await vi.waitFor(
      () => expect(fixture.telegram.screen(other).join('')).toContain('is not available right now'),
      WAIT,
    );
    expect(fixture.telegram.screen(other).join('')).not.toMatch(/OLLAMA_HOST|127\.0\.0\.1/);
    const { model, ready } = await fixture.gateway.health();
    expect(ready).toBe(true);
    expect(model).toMatchObject({ state: 'down', detail: expect.stringMatching(/OLLAMA_HOST|ollama/) });
    expect(fixture.log.join('')).toContain('no_model_available');
    fixture.telegram.says(chat, '/stop', chat);
    await vi.waitFor(() => expect(fixture.telegram.screen(chat)).toContain('Stopped.'), WAIT);
  } finally {
    await fixture.close();
  }
});
