/** How the OpenAI-compatible provider reports failures: each names the variable to change and never shows the key. */
import { inspect } from 'node:util';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ConfigError } from '../../../src/protocol/errors.ts';
import { MAX_LADDER_CALLS } from '../../../src/providers/ladder.ts';
import { collectChat } from '../../fakes/agent/collect-chat.ts';
import { drain } from '../../contracts/model/provider.ts';
import type { LlamaFailure } from '../../fakes/llama-server/reply.ts';
import { startRawServer } from '../../fakes/network/raw-server.ts';
import { createLlamaPairs } from './setup.ts';
import { never, question } from '../request.ts';

const pairs = createLlamaPairs();
afterEach(() => pairs.closeAll());

const KEY = 'sk-very-secret-0123456789';

async function errorAfter(failure: LlamaFailure, apiKey?: string) {
  const { fake, openai } = await pairs.start({ apiKey });
  fake.answer({ text: 'a b', failure }, { times: MAX_LADDER_CALLS });
  return (await drain(openai.streamChat(question('hi'), never))).error;
}

const refuse = (status: number, error: unknown): LlamaFailure => ({
  kind: 'refuse',
  status,
  body: typeof error === 'string' ? error : JSON.stringify({ error }),
});

describe('a failure of an OpenAI-compatible server', () => {
  it.each([
    [400, { message: "This model's maximum context length is 8192", code: 'context_length_exceeded' }],
    [400, { code: 400, message: 'request exceeds it', type: 'exceed_context_size_error', n_ctx: 512 }],
  ])('%i %j is an overflow (B-11)', async (status, error) => {
    const code = 'context_overflow';
    expect(await errorAfter(refuse(status, error))).toMatchObject({ code, retryable: false });
  });

  it.each([
    [429, { message: 'slow down', type: 'rate_limit' }, 'rate_limited', true],
    [429, '<html>slow down</html>', 'rate_limited', true],
    [500, { message: 'slot failed', type: 'server_error', code: 500 }, 'unavailable', false],
    [500, { message: 'Internal Server Error', type: 'server_error' }, 'unavailable', true],
    [503, { message: 'slot failed', type: 'server_error', code: 503 }, 'unavailable', true],
    [501, { message: 'no', type: 'not_supported_error', code: 501 }, 'bad_request', false],
    [400, { message: 'bad tools', type: 'invalid_request_error' }, 'bad_request', false],
    [404, { message: 'The model `fake` does not exist', code: 'model_not_found' }, 'unknown_model', false],
    [404, '<html>nginx</html>', 'bad_response', false],
  ])('%i %j becomes %s', async (status, error, code, retryable) => {
    expect(await errorAfter(refuse(status, error))).toMatchObject({ code, retryable });
  });

  it('is "unavailable, later" while the model is loading, and the next call finds it loaded', async () => {
    const { fake, openai } = await pairs.start({}, { loading: true });
    const { error } = await drain(openai.streamChat(question('hi'), never));
    expect(error).toMatchObject({ code: 'unavailable', retryable: true });
    expect(String(error)).toContain('Loading model');
    fake.change({ loading: false });
    expect((await collectChat(openai.streamChat(question('hi'), never))).content).toBe('echo: hi');
  });

  it.each(['data', 'error'] as const)('reported mid-stream in a field "%s" keeps its text', async (field) => {
    const error = { code: 500, message: 'out of memory', type: 'server_error' };
    const met = await errorAfter({ kind: 'error', after: 1, error, field });
    expect(met).toMatchObject({ code: 'out_of_memory', message: expect.stringContaining('out of memory') });
  });

  it.each(['no event', 'data: {"half":', 'data: 7', 'data: []', '<html>'])(
    'is %j, which is garbage and not silence, and prints nothing',
    async (bytes) => {
      const printed = [vi.spyOn(console, 'error'), vi.spyOn(console, 'warn')];
      const error = await errorAfter({ kind: 'bytes', after: 1, bytes: `${bytes}\n\n` });
      expect(error).toMatchObject({ code: 'bad_response' });
      for (const spy of printed) expect(spy).not.toHaveBeenCalled();
      vi.restoreAllMocks();
    },
  );

  it('names OPENAI_BASE_URL when nothing listens there, or the address lacks its /v1', async () => {
    const nobody = pairs.providerAt({ baseUrl: 'http://127.0.0.1:1/v1' });
    expect(String((await drain(nobody.streamChat(question('hi'), never))).error)).toContain(
      'OPENAI_BASE_URL',
    );
    const { fake } = await pairs.start();
    const short = pairs.providerAt({ baseUrl: fake.url.replace('/v1', '') });
    await expect(short.models(never)).rejects.toThrow(/OPENAI_BASE_URL.*\/v1/);
  });

  it('names a model the server has when the requested one is unknown', async () => {
    const { openai } = await pairs.start();
    await expect(openai.capabilities('gone', never)).rejects.toThrow('openai/fake');
  });

  it('is not awaited longer than the server may take to list its models', async () => {
    const raw = await startRawServer();
    const openai = pairs.providerAt({ baseUrl: `${raw.url}/v1`, answerWithinMs: 50 });
    const late = { code: 'unavailable', message: expect.stringContaining('0.05 s') };
    await expect(openai.models(never)).rejects.toMatchObject(late);
    await raw.close();
  });
});

describe('the key', () => {
  it('is sent when set, and no authorization otherwise', async () => {
    const { fake, openai } = await pairs.start({ apiKey: KEY }, { apiKey: KEY });
    expect((await collectChat(openai.streamChat(question('hi'), never))).content).toBe('echo: hi');
    expect(new Set(fake.headers.map((headers) => headers.authorization))).toEqual(new Set([`Bearer ${KEY}`]));
    const { fake: open, openai: keyless } = await pairs.start();
    await collectChat(keyless.streamChat(question('hi'), never));
    expect(open.headers.map((headers) => headers.authorization)).toEqual([undefined, undefined]);
  });

  it('is named by its variable when refused, and never shown', async () => {
    const { openai } = await pairs.start({ apiKey: 'wrong' }, { apiKey: KEY });
    const { error } = await drain(openai.streamChat(question('hi'), never));
    expect(error).toMatchObject({ code: 'unauthorized', retryable: false });
    expect(String(error)).toContain('OPENAI_API_KEY');
    const echoed = [
      refuse(401, { message: `Incorrect API key provided: ${KEY}` }),
      refuse(500, { message: `no account for ${KEY}` }),
      refuse(400, KEY),
      { kind: 'error' as const, after: 1, error: { code: 500, message: KEY, type: 'server_error' } },
      { kind: 'bytes' as const, after: 1, bytes: `${KEY}\n\n` },
      { kind: 'bytes' as const, after: 1, bytes: `data: ${KEY}\n\n` },
      { kind: 'cut' as const, after: 1 },
    ];
    for (const failure of echoed) {
      expect(inspect(await errorAfter(failure, KEY), { depth: 10, showHidden: true })).not.toContain(KEY);
    }
  });

  it('is refused inside the address', () => {
    expect(() => pairs.providerAt({ baseUrl: `http://me:${KEY}@host/v1` })).toThrow(ConfigError);
    expect(() => pairs.providerAt({ baseUrl: `http://me:${KEY}@host/v1` })).toThrow('OPENAI_API_KEY');
    expect(() => pairs.providerAt({ baseUrl: 'no address' })).toThrow('OPENAI_BASE_URL');
  });
});

describe('the slots of a llama-server', () => {
  it('make a call wait without headers, and are free within a second of a stop (N-60)', async () => {
    const { fake, openai } = await pairs.start({}, { slots: 1 });
    fake.answer({ text: 'a b', failure: { kind: 'hang', after: 1 } });
    const stop = new AbortController();
    const first = drain(openai.streamChat(question('first'), stop.signal));
    const running = await fake.nextCall();
    const second = collectChat(openai.streamChat(question('second'), never));
    await fake.nextCall();
    expect(fake.active).toBe(1);
    const at = performance.now();
    stop.abort();
    expect((await first).error).toMatchObject({ code: 'aborted' });
    expect((await running.closed).at - at).toBeLessThan(1_000);
    expect((await second).content).toBe('echo: second');
  });
});
