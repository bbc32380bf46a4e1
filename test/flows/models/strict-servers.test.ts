/**
 * Sessions with model servers that are strict about the shape of a conversation: a plain turn, a tool, a turn that fails
 * behind its tool call, and a plain turn after it. Each is answered, with as many calls as on any other server.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  type ServerRule,
  startStrictServer,
  STRICT_SERVERS,
  type StrictAnswer,
  type StrictServer,
} from '../../fakes/model/strict-server.ts';
import { isTurnCall, lastNote, lastUserText, textOf } from '../../fakes/model/spoken-text.ts';
import type { UpstreamBody } from '../../fakes/model/scripted-upstream.ts';
import { type GatewayFixture, openGatewayFixture, WAIT } from '../setup.ts';

/** Startup with an embedded database takes seconds, and longer on a busy machine. */
const START_MS = 90_000;

/** Two tools at once where the message names them; after `break`, the results are answered by a failure. */
function answer(body: UpstreamBody): StrictAnswer {
  if (body['tools'] === undefined) return { text: 'A title' };
  const asked = lastUserText(body);
  const isAfterTool = body.messages.at(-1)?.role === 'tool';
  if (isAfterTool && asked.includes('break')) {
    return { refusal: { status: 402, body: { error: { message: 'Insufficient balance', code: 402 } } } };
  }
  if (isAfterTool || !asked.includes('look')) return { text: `heard: ${asked}` };
  const call = { name: 'list_dir', args: { path: '.' } };
  return { toolCalls: [call, call] };
}

/** What each turn says, how often the model is called for it, and whether it is answered. */
const TURNS = [
  { text: 'hello', calls: 1, answered: true },
  { text: 'look around', calls: 2, answered: true },
  { text: 'look and break', calls: 2, answered: false },
  { text: 'and a plain question', calls: 1, answered: true },
] as const;

const CASES: [name: keyof typeof STRICT_SERVERS, wire: 'openai' | 'ollama'][] = [
  ['Qwen 3.5 on llama-server', 'openai'],
  ['Qwen 3.8 on Ollama', 'ollama'],
  ['Mistral Small on vLLM', 'openai'],
  ['Ministral on llama-server', 'openai'],
  ['the API of Mistral', 'openai'],
  ['the API of Mistral', 'ollama'],
];

describe.each(CASES)('a session with %s (%s)', { timeout: START_MS }, (name, wire) => {
  let server: StrictServer;
  let gateway: GatewayFixture;
  beforeAll(async () => {
    const rules: readonly ServerRule[] = STRICT_SERVERS[name];
    server = await startStrictServer(rules, answer);
    const env: Record<string, string> =
      wire === 'openai'
        ? { OPENAI_BASE_URL: server.openaiUrl, MODEL: 'openai/fake', OLLAMA_HOST: '' }
        : { OLLAMA_HOST: server.ollamaUrl, MODEL: 'fake' };
    gateway = await openGatewayFixture({ env });
  }, START_MS);
  afterAll(async () => {
    await gateway.close();
    await server.close();
  });

  it('answers four turns, one of which fails, without a refusal and without a second try', async () => {
    for (const { text, calls, answered } of TURNS) {
      const before = server.calls.length;
      const turnId = await gateway.post('strict', text);
      const rows = await vi.waitFor(async () => {
        const all = await gateway.messages('http:strict');
        const own = all.filter((row) => row.turnId === turnId && row.role === 'assistant');
        if (own.length === 0) throw new Error('no answer yet');
        return own;
      }, WAIT);
      expect(rows.at(-1)?.content.includes(`heard: ${text}`)).toBe(answered);
      const turnCalls = server.calls.slice(before).filter(isTurnCall);
      expect(turnCalls).toHaveLength(calls);
    }
    expect(server.refused).toEqual([]);
  });

  it('reads the note of each turn, and what the marks of notes are', () => {
    for (const body of server.calls.filter(isTurnCall)) {
      expect(lastNote(body)).toMatch(/It is \w+day, /);
      const [system] = body.messages;
      expect(system?.role).toBe('system');
      const mark = /\[[0-9a-f]{16}: note\]/.exec(system === undefined ? '' : textOf(system))?.[0] ?? '';
      expect(textOf(body.messages.at(-1) ?? { role: 'none' })).toContain(`${mark}\nIt is `);
    }
  });
});
