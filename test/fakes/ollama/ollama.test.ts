/** The fake Ollama is as strict as the real one and fails in the same ways, so that tests against it mean something. */
import { afterEach, describe, expect, it } from 'vitest';
import { type FakeOllama, type FakeOllamaOptions, startFakeOllama } from './ollama.ts';

const open: FakeOllama[] = [];
afterEach(async () => {
  for (const fake of open.splice(0)) await fake.close();
});

async function start(options: FakeOllamaOptions = {}): Promise<FakeOllama> {
  const fake = await startFakeOllama(options);
  open.push(fake);
  return fake;
}

function chat(fake: FakeOllama, body: object | string, signal?: AbortSignal): Promise<Response> {
  return fetch(`${fake.url}/api/chat`, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify({ model: 'fake', ...body }),
    ...(signal && { signal }),
  });
}

const user = (content: string): object => ({ role: 'user', content });

async function lines(response: Response): Promise<{ message: { content: string }; done: boolean }[]> {
  return (await response.text())
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

describe('the fake Ollama', () => {
  it('streams one object per line and ends with the counts', async () => {
    const fake = await start();
    const response = await chat(fake, { messages: [user('three small words')] });
    expect(response.headers.get('content-type')).toBe('application/x-ndjson');
    const all = await lines(response);
    expect(all.map((line) => line.message.content).join('')).toBe('echo: three small words');
    expect(all.at(-1)).toMatchObject({
      done: true,
      done_reason: 'stop',
      prompt_eval_count: 9,
      eval_count: 4,
    });
  });

  it.each([
    ['an empty body', '', 400, 'missing request body'],
    ['no JSON', '{', 400, 'invalid request body'],
    ['no model', { model: '' }, 400, 'model is required'],
    ['an unknown model', { model: 'missing' }, 404, "model 'missing' not found"],
    ['an unknown role', { messages: [{ role: 'robot', content: '' }] }, 400, 'role'],
    ['text as arguments', { messages: [assistantCalling('{}')] }, 400, 'arguments'],
    [
      'a tool result without a call',
      { messages: [{ role: 'tool', content: '', tool_name: 'f' }] },
      400,
      'answers no call',
    ],
    [
      'a tool without a schema',
      { tools: [{ type: 'function', function: { name: 'f' } }] },
      400,
      'parameters',
    ],
    [
      'tools where there are none',
      { model: 'plain', tools: [someTool()] },
      400,
      'plain:latest does not support tools',
    ],
    [
      'thinking where there is none',
      { model: 'plain', think: true },
      400,
      '"plain" does not support thinking',
    ],
  ])('refuses %s', async (_what, body, status, error) => {
    const response = await chat(await start(), body);
    expect(response.status).toBe(status);
    expect(await response.json()).toEqual({ error: expect.stringContaining(error) });
  });

  it('silently drops the oldest messages unless truncate is false, and then refuses with the error of llama-server', async () => {
    const fake = await start();
    const messages = [user('x'.repeat(400)), user('last')];
    const options = { num_ctx: 64 };
    const dropped = await chat(fake, { messages, options });
    expect((await lines(dropped)).map((line) => line.message.content).join('')).toBe('echo: last');
    expect(fake.calls[0]?.dropped).toBe(1);
    const refused = await chat(fake, { messages, options, truncate: false });
    expect(refused.status).toBe(400);
    const { error } = await refused.json();
    expect(JSON.parse(error)).toMatchObject({ error: { type: 'exceed_context_size_error', n_ctx: 64 } });
  });

  it('counts a changed num_ctx or shift as a reload', async () => {
    const fake = await start();
    for (const body of [
      { options: { num_ctx: 8_192 } },
      { options: { num_ctx: 8_192 } },
      { options: { num_ctx: 4_096 } },
      { options: { num_ctx: 4_096 }, shift: false },
    ]) {
      await (await chat(fake, { messages: [user('hi')], ...body })).text();
    }
    expect(fake.loads.map((load) => [load.numCtx, load.shift])).toEqual([
      [8_192, true],
      [4_096, true],
      [4_096, false],
    ]);
  });

  it('reports when the caller left, in a silent prefill and in the queue', async () => {
    const fake = await start({ parallel: 1 });
    fake.answer({ hold: true, text: 'late' });
    const leave = new AbortController();
    const first = chat(fake, { messages: [user('a')] }, leave.signal).catch(() => 'left');
    const running = await fake.nextCall();
    const second = chat(fake, { messages: [user('b')] }, leave.signal).catch(() => 'left');
    const queued = await fake.nextCall();
    const at = performance.now();
    leave.abort();
    expect(await Promise.all([first, second])).toEqual(['left', 'left']);
    for (const closed of [await running.closed, await queued.closed]) {
      expect(closed.by).toBe('client');
      expect(closed.at - at).toBeLessThan(1_000);
    }
    expect(fake.active).toBe(0);
  });

  it('answers 503 when the queue is full', async () => {
    const fake = await start({ parallel: 1, maxQueue: 0 });
    fake.answer({ hold: true });
    const held = chat(fake, { messages: [user('a')] });
    const call = await fake.nextCall();
    expect((await chat(fake, { messages: [user('b')] })).status).toBe(503);
    call.release();
    expect((await held).status).toBe(200);
  });

  it('paces tokens with the wait function it was given', async () => {
    const waits: number[] = [];
    const fake = await start({ wait: async (ms) => void waits.push(ms) });
    fake.answer({ text: ['a', 'b'], perSecond: 10 });
    await (await chat(fake, { messages: [user('go')] })).text();
    expect(waits).toHaveLength(3);
    expect(waits[0]).toBeGreaterThan(90);
  });

  it('counts the time a paced answer took', async () => {
    const fake = await start();
    fake.answer({ text: ['a', 'b'], perSecond: 100 });
    const last = (await lines(await chat(fake, { messages: [user('go')] }))).at(-1);
    expect(last).toHaveProperty(
      'eval_duration',
      expect.toSatisfy((nanos) => Number(nanos) > 20e6),
    );
  });
});

function someTool() {
  const parameters = { type: 'object', properties: {} };
  return { type: 'function' as const, function: { name: 'list_dir', description: 'd', parameters } };
}

function assistantCalling(args: unknown): object {
  return { role: 'assistant', content: '', tool_calls: [{ function: { name: 'f', arguments: args } }] };
}
