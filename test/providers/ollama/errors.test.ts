/** How the Ollama provider reports failures: each named, with what to do about it, and no secret in any message. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ConfigError } from '../../../src/protocol/errors.ts';
import { collectChat } from '../../fakes/agent/collect-chat.ts';
import { MAX_LADDER_CALLS } from '../../../src/providers/ladder.ts';
import { MAX_LINE_BYTES } from '../../../src/providers/answers/read-answer.ts';
import { drain } from '../../contracts/model/provider.ts';
import type { Failure } from '../../fakes/ollama/ollama.ts';
import { createPairs } from './setup.ts';
import { never, question } from '../request.ts';

const pairs = createPairs();
afterEach(() => pairs.closeAll());

async function errorAfter(failure: Failure) {
  const { fake, ollama } = await pairs.start();
  fake.answer({ text: 'a b', failure }, { times: MAX_LADDER_CALLS });
  return (await drain(ollama.streamChat(question('hi'), never))).error;
}

describe('a failure of Ollama', () => {
  it('explains how to fetch a missing model', async () => {
    const { ollama } = await pairs.start();
    const { error } = await drain(ollama.streamChat(question('hi', { model: 'gone:7b' }), never));
    expect(error).toMatchObject({
      code: 'unknown_model',
      message: expect.stringContaining('ollama pull gone:7b'),
    });
  });

  it.each(['http://127.0.0.1:1', 'http://no-such-host.invalid:11434'])(
    'says what to start when nothing listens at %s',
    async (baseUrl) => {
      const { error } = await drain(pairs.providerAt({ baseUrl }).streamChat(question('hi'), never));
      expect(error).toMatchObject({ code: 'unavailable', retryable: true });
      expect(String(error)).toContain('OLLAMA_HOST');
      expect(String(error)).toContain('ollama serve');
    },
  );

  it.each([
    [503, 'server busy, please try again.  maximum pending requests exceeded', 'unavailable', true],
    [500, 'llama runner process has terminated', 'unavailable', false],
    [500, 'internal server error', 'unavailable', true],
    [499, 'request canceled', 'unavailable', true],
    [400, 'invalid option provided', 'bad_request', false],
    [
      400,
      'the prompt is longer than the context length currently available to the model; 9 > 4',
      'context_overflow',
      false,
    ],
    [404, "model 'fake' not found", 'unknown_model', false],
  ])('maps status %i "%s" to %s', async (status, error, code, retryable) => {
    expect(await errorAfter({ kind: 'status', status, error })).toMatchObject({ code, retryable });
  });

  it('reports when OLLAMA_HOST points to something that is not Ollama', async () => {
    const error = await errorAfter({ kind: 'status', status: 404, error: 'nginx', html: true });
    expect(error).toMatchObject({ code: 'bad_response', message: expect.stringContaining('OLLAMA_HOST') });
  });

  it('repeats the text of an error line, and recognizes an overflow in it', async () => {
    const broken = await errorAfter({ kind: 'error_line', after: 1, error: 'unexpected EOF' });
    expect(broken).toMatchObject({
      code: 'bad_response',
      message: expect.stringContaining('unexpected EOF'),
    });
    const full = await errorAfter({ kind: 'error_line', after: 1, error: 'exceed_context_size_error' });
    expect(full).toMatchObject({ code: 'context_overflow' });
  });

  it.each(['no json', '{"done":', '[]', '7', 'null', '{}{}', '<html>'])(
    'treats %j as garbage, not as silence',
    async (bytes) => {
      const printed = vi.spyOn(console, 'warn');
      const error = await errorAfter({ kind: 'bytes', after: 1, bytes: `${bytes}\n` });
      expect(error).toMatchObject({ code: 'bad_response' });
      expect(printed).not.toHaveBeenCalled();
      printed.mockRestore();
    },
  );

  it('accepts a line of 1 MiB and refuses one byte more, complete or not', async () => {
    const head = '{"message":{"content":"';
    const tail = '"}}';
    const full = `${head}${'x'.repeat(MAX_LINE_BYTES - head.length - tail.length)}${tail}`;
    expect(await errorAfter({ kind: 'bytes', after: 1, bytes: `${full}\n` })).toBeUndefined();
    const over = expect.objectContaining({
      code: 'bad_response',
      message: expect.stringContaining('1048576'),
    });
    expect(await errorAfter({ kind: 'bytes', after: 1, bytes: `${full} \n` })).toEqual(over);
    expect(await errorAfter({ kind: 'bytes', after: 1, bytes: 'x'.repeat(MAX_LINE_BYTES + 1) })).toEqual(
      over,
    );
  });

  it('is silently retried once when a kept connection was closed before any byte', async () => {
    const { fake, ollama } = await pairs.start();
    await collectChat(ollama.streamChat(question('warm'), never));
    fake.answer({ failure: { kind: 'reset' } });
    fake.answer('still here');
    expect((await collectChat(ollama.streamChat(question('again'), never))).content).toBe('still here');
    expect(fake.calls).toHaveLength(3);
    fake.answer({ failure: { kind: 'reset' } }, { times: 2 });
    const { error } = await drain(ollama.streamChat(question('twice'), never));
    expect(error).toMatchObject({ code: 'unavailable', retryable: true });
  });

  it('does not show when the server closes idle connections between 100 calls', async () => {
    const { fake, ollama } = await pairs.start();
    for (let call = 0; call < 100; call += 1) {
      fake.closeIdle();
      expect((await collectChat(ollama.streamChat(question(`${call}`), never))).content).toBe(
        `echo: ${call}`,
      );
    }
  });

  it('shows no password of OLLAMA_HOST, and sends it as a header', async () => {
    const { fake } = await pairs.start();
    const baseUrl = fake.url.replace('http://', 'http://me:s3cret@');
    expect((await collectChat(pairs.providerAt({ baseUrl }).streamChat(question('hi'), never))).content).toBe(
      'echo: hi',
    );
    expect(fake.authorizations.at(-1)).toBe(`Basic ${Buffer.from('me:s3cret').toString('base64')}`);
    const nobody = pairs.providerAt({ baseUrl: 'http://me:s3cret@127.0.0.1:1' });
    const { error } = await drain(nobody.streamChat(question('hi'), never));
    expect(String(error)).toContain('127.0.0.1:1');
    expect(String(error)).not.toContain('s3cret');
  });

  it('refuses an OLLAMA_HOST that is not an address when it is created', () => {
    expect(() => pairs.providerAt({ baseUrl: 'http://[nobody' })).toThrow(ConfigError);
    expect(() => pairs.providerAt({ baseUrl: 'http://[nobody' })).toThrow('OLLAMA_HOST');
  });

  it.each([
    '127.0.0.1:PORT',
    ':PORT',
    '0.0.0.0:PORT',
    'localhost:PORT',
    ' http://127.0.0.1:PORT/ ',
    'http://127.0.0.1:PORT/v1',
    'http://127.0.0.1:PORT/v1/',
    '127.0.0.1:PORT/api',
  ])('understands OLLAMA_HOST=%s the way other tools do', async (spelled) => {
    const { fake } = await pairs.start();
    const baseUrl = spelled.replace('PORT', new URL(fake.url).port);
    expect(await pairs.providerAt({ baseUrl }).models(never)).toEqual(['fake:latest', 'plain:latest']);
  });

  it.each([
    ['10.0.0.2', '10.0.0.2:11434'],
    ['10.0.0.2:11434', '10.0.0.2:11434'],
    ['https://ollama.test', 'https://ollama.test'],
    ['https://proxy.test/ollama/v1', 'https://proxy.test/ollama '],
  ])('reads OLLAMA_HOST=%s as %s', async (baseUrl, address) => {
    const provider = pairs.providerAt({ baseUrl, answerWithinMs: 20 });
    await expect(provider.models(never)).rejects.toThrow(address);
  });
});
