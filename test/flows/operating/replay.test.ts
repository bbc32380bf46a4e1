/** A turn again on another model: its prompt as it was, tools answered from the journal, nothing stored but usage. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it, vi } from 'vitest';
import { NOT_RUN } from '../../../src/agent/replay/replay.ts';
import type { ReplayReport } from '../../../src/protocol/agent/replays.ts';
import { hashSecret } from '../../../src/security/token-lookup.ts';
import { riskyTools } from '../../fakes/agent/risky-tools.ts';
import type { ChatBody } from '../../fakes/ollama/ollama.ts';
import { lastUserText } from '../../fakes/model/spoken-text.ts';
import { describeGateway, WAIT } from '../setup.ts';

const ran: string[] = [];
const file = {
  prices: { currency: 'EUR', models: { 'other:latest': { input: 2, output: 4 } } },
};
const model = {
  models: ['fake:latest', 'other:latest'].map((name) => ({
    name,
    contextLength: 32_768,
    capabilities: ['completion', 'tools'] as const,
  })),
};
const options = { file, model, tools: riskyTools(ran, 'the sun shines'), env: { MODEL: 'fake:latest' } };

describeGateway('a replay', options, (fixture) => {
  const sent = (name: string, said: string): ChatBody[] =>
    fixture()
      .ollama.calls.map(({ body }) => body)
      .filter((body) => body.model === name && JSON.stringify(body.messages).includes(said));
  const on = (name: string, said: string) => (body: ChatBody) =>
    body.model === name && lastUserText(body).includes(said);
  const look = (word: string) => ({ toolCalls: [{ name: 'look', args: { word } }] });
  const ask = async (session: string, text: string): Promise<string> => {
    const turn = await fixture().post(session, text);
    await fixture().idle(`http:${session}`);
    return turn;
  };
  const replay = async (
    turn: string,
    json: unknown = { model: 'other' },
    token?: string,
  ): Promise<{ status: number; body: ReplayReport & { error?: { code: string; message: string } } }> => {
    const answer = await fixture().call(`/v1/turns/${turn}/replay`, { json, ...(token && { token }) });
    return { status: answer.status, body: await answer.json() };
  };

  it('sends the other model the same prompt, and gets its tools answered from the journal', async () => {
    await ask('sky', 'remember the colour blue');
    const { ollama } = fixture();
    ollama.answer(look('window'), { when: on('fake:latest', 'How is the weather?') });
    ollama.answer('Sunny.', { when: on('fake:latest', 'How is the weather?') });
    const turn = await ask('sky', 'How is the weather?');
    await ask('sky', 'a later question');
    const before = await fixture().sql`select * from context order by seq`;
    ran.length = 0;

    ollama.answer(look('window'), { when: on('other:latest', 'How is the weather?') });
    ollama.answer(look('cellar'), { when: on('other:latest', 'How is the weather?') });
    ollama.answer('It is sunny.', { when: on('other:latest', 'How is the weather?') });
    const { status, body } = await replay(turn);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      turnId: turn,
      session: 'http:sky',
      question: 'How is the weather?',
      original: { model: 'fake:latest', answer: 'Sunny.', iterations: 2, reason: 'completed' },
      replay: { model: 'other:latest', answer: 'It is sunny.', iterations: 3, reason: 'completed' },
      missing: [],
    });
    expect(body.original.cost).toBeUndefined();
    const { promptTokens, completionTokens, cost } = body.replay;
    expect(cost).toEqual({ amount: (2 * promptTokens + 4 * completionTokens) / 1e6, currency: 'EUR' });
    const [own, missing] = body.replay.calls;
    expect(own).toMatchObject({ name: 'look', args: { word: 'window' }, isError: false });
    expect(own?.result).toContain('the sun shines');
    expect(missing).toEqual({ name: 'look', args: { word: 'cellar' } });
    expect(ran).toEqual([]);

    const [first] = sent('fake:latest', 'How is the weather?');
    const [again, second, third] = sent('other:latest', 'How is the weather?');
    expect(again).toEqual({ ...first, model: 'other:latest' });
    expect(JSON.stringify(again?.messages)).toContain('remember the colour blue');
    expect(JSON.stringify(second?.messages)).toContain('the sun shines');
    expect(third?.messages.findLast(({ role }) => role === 'tool')?.content).toContain(NOT_RUN);

    expect(await fixture().sql`select * from context order by seq`).toEqual(before);
    const rows = await fixture()
      .sql`select purpose, model, turn_id, session from usage where purpose = 'replay'`;
    const row = { purpose: 'replay', model: 'other:latest', turn_id: null, session: null };
    expect(rows).toEqual([row, row, row]);
  });

  it('reads what the turn read, though that was summarized, reset and left out since', async () => {
    await ask('old', 'my name is Ada');
    const turn = await ask('old', 'What is my name?');
    const [first] = sent('fake:latest', 'What is my name?');
    await fixture().sql`
      with made as (insert into context (session, lane_seq, turn_id, iteration, kind, part, payload, tokens)
        values ('http:old', 2, 'summary:http:old', 2, 'summary', 0, '{"kind":"summary","content":"later"}', 5) returning seq)
      update context set summarized_by = made.seq from made where session = 'http:old' and kind <> 'summary'`;
    await fixture().call('/v1/sessions/http:old/messages', { json: { content: '/new' } });
    await replay(turn);
    const [again] = sent('other:latest', 'What is my name?');
    expect(again).toEqual({ ...first, model: 'other:latest' });
  });

  it('of a turn whose profile, tools and prompt are gone says so, and answers', async () => {
    const folder = path.join(fixture().home, 'profiles', 'guide');
    await mkdir(folder, { recursive: true });
    await writeFile(path.join(folder, 'config.json'), '{"enabledTools": ["look", "read_file"]}');
    await writeFile(path.join(folder, 'system_prompt.md'), 'Guide people through the town.');
    const command = async (content: string): Promise<string> => {
      const answer = await fixture().call('/v1/sessions/http:town/messages', { json: { content } });
      return String((await answer.json()).reply);
    };
    await vi.waitFor(async () => expect(await command('/profile guide')).toContain('`guide`'), WAIT);
    const turn = await ask('town', 'Where is the mill?');
    const [first] = sent('fake:latest', 'Where is the mill?');
    await rm(folder, { recursive: true });
    const profiles = async () => (await (await fixture().call('/v1/choices')).json()).profiles;
    await vi.waitFor(async () => expect(JSON.stringify(await profiles())).not.toContain('guide'), WAIT);
    await fixture().sql`
      update tool_list set tools = jsonb_set(tools, '{0,name}', '"gone_tool"') where tools @> '[{"name":"look"}]'`;
    await fixture().sql`
      update turn_trace set attempts = jsonb_set(attempts, '{0,prompt,tools,0,name}', '"gone_tool"') where turn_id = ${turn}`;
    const { body } = await replay(turn);
    expect(body.replay.answer).toBe('echo: Where is the mill?');
    expect(body.missing).toEqual([
      'the profile guide no longer exists: the limits of default apply',
      'tools that are not there now are offered as they were: gone_tool',
    ]);
    const [again] = sent('other:latest', 'Where is the mill?');
    expect(again?.messages).toEqual(first?.messages);

    await fixture().sql`delete from turn_trace where turn_id = ${turn}`;
    const { body: later } = await replay(turn);
    expect(later.missing).toEqual([
      'the prompt is no longer stored: prompt and tools of default as they are today are used, without memories',
    ]);
    expect(later.original).toMatchObject({ model: 'fake:latest', profileId: '' });
  });

  it('takes the prompt and the tools of another profile as they are today', async () => {
    const turn = await ask('quiz', 'What is a quay?');
    const { body } = await replay(turn, { profileId: 'chat' });
    expect(body.replay).toMatchObject({ model: 'fake:latest', profileId: 'chat' });
    const [, again] = sent('fake:latest', 'What is a quay?');
    expect(again?.tools).toBeUndefined();
    expect((await replay(turn, { profileId: 'nobody' })).body.error?.message).toContain('nobody');
    expect((await replay(turn, {})).body.error?.message).toContain('name a model or a profile');
    expect((await replay(turn, { model: 'missing-model' })).body.error?.code).toBe('model_not_found');
  });

  it('reports an error of the model as the end of the replay', async () => {
    const turn = await ask('fail', 'Will it work?');
    const failure = { kind: 'error_line', after: 1, error: 'out of memory' } as const;
    fixture().ollama.answer({ text: 'Yes, but', failure }, { when: on('other:latest', 'Will it work?') });
    const { status, body } = await replay(turn);
    expect(status).toBe(200);
    expect(body.replay).toMatchObject({ reason: 'failed', answer: 'Yes, ' });
    expect(body.replay.error).toContain('out of memory');
  });

  it('ends when its client leaves', async () => {
    const turn = await ask('leave', 'Write a novel');
    fixture().ollama.answer({ text: 'once', hold: true }, { when: on('other:latest', 'Write a novel') });
    const leaving = new AbortController();
    const answer = fixture().call(`/v1/turns/${turn}/replay`, {
      json: { model: 'other' },
      signal: leaving.signal,
    });
    const call = await vi.waitFor(() => {
      const open = fixture().ollama.calls.findLast(({ body }) => on('other:latest', 'Write a novel')(body));
      if (open === undefined) throw new Error('the model was not asked yet');
      return open;
    }, WAIT);
    leaving.abort();
    await expect(answer).rejects.toThrow('aborted');
    expect((await call.closed).by).toBe('client');
  });

  it('is refused for turns that run, are unknown or belong to others, and for models one may not choose', async () => {
    fixture().ollama.answer({ text: 'late', hold: true }, { when: 'take your time' });
    const running = await fixture().post('slow', 'take your time');
    const call = await fixture().modelCall('take your time');
    expect(await replay(running)).toMatchObject({ status: 409, body: { error: { code: 'turn_not_ended' } } });
    call.release();
    await fixture().idle('http:slow');
    expect((await replay('nothing')).status).toBe(404);
    const friend = 'a-friend-who-chats-and-nothing-else';
    await fixture().store.access.putToken({ hash: hashSecret(friend), name: 'friend', scopes: ['chat'] });
    expect((await replay(running, { model: 'other' }, friend)).status).toBe(404);
    const answer = await fixture().call('/v1/sessions/http:mine/messages', {
      json: { content: 'hi' },
      token: friend,
    });
    const { turnId } = await answer.json();
    await fixture().idle('http:mine');
    expect(await replay(turnId, { model: 'other' }, friend)).toMatchObject({ status: 403 });
    expect(await replay(turnId, { model: 'default' }, friend)).toMatchObject({ status: 200 });
  });
});
