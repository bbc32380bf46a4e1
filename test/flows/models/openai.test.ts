/** Which model server a gateway uses, from its environment to an answer over HTTP. */
import { rm } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig, secretsOf } from '../../../src/config.ts';
import { startGateway } from '../../../src/gateway.ts';
import { createLog, redactor } from '../../../src/ops/log.ts';
import { makeEmbeddedHome } from '../../database.ts';
import { startFakeLlama } from '../../fakes/llama-server/llama-server.ts';
import { startFakeOllama } from '../../fakes/ollama/ollama.ts';

const OWNER = 'owner-token-of-the-gateway-0123456789';
const KEY = 'sk-very-secret-0123456789';

/** A start with an embedded database takes seconds, and more on a busy machine. */
const START_MS = 90_000;

describe('a gateway with an OpenAI-compatible server', { timeout: START_MS }, () => {
  const open: { close(): Promise<void> }[] = [];
  let home = '';
  beforeEach(async () => void (home = await makeEmbeddedHome()));
  afterEach(async () => {
    for (const thing of open.splice(0).toReversed()) await thing.close();
    await rm(home, { recursive: true });
  });

  /** Starts a gateway with both servers running, asks it once, and returns the answer and what it logged. */
  async function ask(env: Record<string, string>): Promise<{ answer: string; log: string }> {
    const llama = await startFakeLlama({ apiKey: KEY });
    const ollama = await startFakeOllama({ fallback: 'I am Ollama' });
    open.push(llama, ollama);
    llama.answer('I am llama-server');
    const lines: string[] = [];
    const servers = { OLLAMA_HOST: ollama.url, OPENAI_BASE_URL: llama.url, OPENAI_API_KEY: KEY };
    const config = loadConfig({ GATEWAY_HOME: home, GATEWAY_TOKEN: OWNER, PORT: '0', ...servers, ...env });
    const write = (line: string): void => void lines.push(line);
    const log = createLog({ level: 'debug', redact: redactor(secretsOf(config)), write });
    const gateway = await startGateway(config, { log });
    open.push({ close: () => gateway.stop() });
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${OWNER}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'default', messages: [{ role: 'user', content: 'who are you?' }] }),
    });
    const answer = await response.text();
    await gateway.stop();
    return { answer, log: lines.join('\n') };
  }

  it.each([
    [{ MODEL: 'openai/fake' }, 'I am llama-server'],
    [{}, 'I am llama-server'],
    [{ MODEL: 'fake' }, 'I am Ollama'],
    [{ MODEL: 'fake', OLLAMA_HOST: '' }, 'I am llama-server'],
  ])('and %j reports %s, and never shows the key', async (env, said) => {
    const { answer, log } = await ask(env);
    expect(answer).toContain(said);
    expect(answer + log).not.toContain(KEY);
  });

  it('reports in the answer that the key is refused, by the name of its variable', async () => {
    const { answer } = await ask({ MODEL: 'openai/fake', OPENAI_API_KEY: 'wrong-key' });
    expect(answer).toContain('OPENAI_API_KEY');
    expect(answer).not.toContain('wrong-key');
  });

  it('does not start with a model of a server that is not configured', async () => {
    const config = loadConfig({ GATEWAY_HOME: home, MODEL: 'openai/fake', GATEWAY_TOKEN: OWNER });
    const log = createLog({ level: 'silent', redact: (line) => line, write: () => undefined });
    await expect(startGateway(config, { log })).rejects.toThrow('OPENAI_BASE_URL');
  });
});
