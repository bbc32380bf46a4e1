/** Sessions with model servers that refuse every call with a tool whose schema they cannot read, beside an MCP server with such tools. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { scripted } from '../../fakes/mcp/servers.ts';
import { llamaSchemas, ollamaSchemas } from '../../fakes/model/schema-rules.ts';
import { isTurnCall, lastUserText } from '../../fakes/model/spoken-text.ts';
import {
  type ServerRule,
  startStrictServer,
  type StrictAnswer,
  type StrictServer,
} from '../../fakes/model/strict-server.ts';
import type { UpstreamBody } from '../../fakes/model/scripted-upstream.ts';
import { type GatewayFixture, openGatewayFixture, WAIT } from '../setup.ts';

/** Startup with an embedded database takes seconds, and longer on a busy machine. */
const START_MS = 90_000;

function answer(body: UpstreamBody): StrictAnswer {
  const asked = lastUserText(body);
  if (body['tools'] === undefined) return { text: 'A title' };
  if (body.messages.at(-1)?.role === 'tool' || !asked.includes('look')) return { text: `heard: ${asked}` };
  return { toolCalls: [{ name: 'list_dir', args: { path: '.' } }] };
}

const TURNS = [
  { text: 'hello', calls: 1 },
  { text: 'look around', calls: 2 },
  { text: 'look again', calls: 2 },
  { text: 'thanks', calls: 1 },
] as const;

const CASES: [name: string, wire: 'openai' | 'ollama', rule: ServerRule][] = [
  ['Ollama', 'ollama', ollamaSchemas],
  ['llama-server', 'openai', llamaSchemas],
];

describe.each(CASES)('a session with %s beside odd MCP tools', { timeout: START_MS }, (_name, wire, rule) => {
  let server: StrictServer;
  let gateway: GatewayFixture;
  beforeAll(async () => {
    server = await startStrictServer([rule], answer);
    const env: Record<string, string> =
      wire === 'openai'
        ? { OPENAI_BASE_URL: server.openaiUrl, MODEL: 'openai/fake', OLLAMA_HOST: '' }
        : { OLLAMA_HOST: server.ollamaUrl, MODEL: 'fake' };
    const file = { mcp: { servers: { notes: scripted(['rust', 'untyped', 'echo']) } } };
    gateway = await openGatewayFixture({ env, file });
    await vi.waitFor(() => {
      if (!gateway.log.join('').includes('mcp_server_up')) throw new Error('the server is not up yet');
    }, WAIT);
  }, START_MS);
  afterAll(async () => {
    await gateway.close();
    await server.close();
  });

  it('answers four turns without a refusal, with these tools offered', async () => {
    for (const { text, calls } of TURNS) {
      const before = server.calls.length;
      const turnId = await gateway.post('odd', text);
      await vi.waitFor(async () => {
        const rows = await gateway.messages('http:odd');
        const own = rows.find((row) => row.turnId === turnId && row.role === 'assistant');
        expect(own?.content).toContain(`heard: ${text}`);
      }, WAIT);
      expect(server.calls.slice(before).filter(isTurnCall)).toHaveLength(calls);
    }
    expect(server.refused).toEqual([]);
    expect(JSON.stringify(server.calls.at(-1)?.['tools'])).toContain('notes__rust');
  });
});
