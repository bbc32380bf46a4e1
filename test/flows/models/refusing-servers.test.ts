/**
 * Sessions with model servers that refuse a part of each request: every turn is answered without it, at the cost of few
 * calls, and people and operators read what was left out.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { doctorCommand } from '../../../src/commands/doctor.ts';
import type { HealthReport } from '../../../src/protocol/gateway-api.ts';
import { MAX_LADDER_CALLS } from '../../../src/providers/ladder.ts';
import { signatures, thoughtsOfCalls } from '../../fakes/model/echo-rules.ts';
import {
  noDefaults,
  noPicture,
  noStreamOptions,
  noToolsAtAll,
  refuseAll,
} from '../../fakes/model/refusing-rules.ts';
import { lastUserText } from '../../fakes/model/spoken-text.ts';
import {
  type ServerRule,
  startStrictServer,
  STRICT_SERVERS,
  type StrictAnswer,
  type StrictServer,
} from '../../fakes/model/strict-server.ts';
import type { UpstreamBody } from '../../fakes/model/scripted-upstream.ts';
import { type GatewayFixture, openGatewayFixture, OWNER } from '../setup.ts';

/** Startup with an embedded database takes seconds, and longer on a busy machine. */
const START_MS = 90_000;
/** How long a refused answer may take, in milliseconds. */
const REFUSED_MS = 3_000;

/** A transparent pixel. */
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

let isRefusing = true;
const RULES: Record<string, readonly ServerRule[]> = {
  gemma: STRICT_SERVERS['Gemma 2 on vLLM'],
  llama: STRICT_SERVERS['Llama 3.1 on llama-server'],
  azure: [noStreamOptions],
  grammar: [noDefaults],
  plain: [noToolsAtAll],
  deepseek: [thoughtsOfCalls],
  gemini: [signatures],
  blind: [noPicture],
  stubborn: [refuseAll(() => isRefusing, { status: 400, body: { error: { message: 'Rejected: E-1.' } } })],
  broken: [refuseAll(() => isRefusing, { status: 500, body: { error: { message: 'Rejected: E-2.' } } })],
};

/** Two tools at once where the message says "look". */
function answer(body: UpstreamBody): StrictAnswer {
  const asked = lastUserText(body);
  const wantsTools = asked.includes('look') && body['tools'] !== undefined;
  if (body.messages.at(-1)?.role === 'tool' || asked.includes('result of the tool') || !wantsTools)
    return { text: `heard: ${asked.slice(-60)}` };
  const call = { name: 'list_dir', args: { path: '.' } };
  return { toolCalls: [call, call] };
}

const TURNS = ['hello', 'look around', 'look again', 'a plain question'];

/** What each turn costs in calls, and what is left out, by server. */
const CASES: [name: string, calls: number[], parts: string[]][] = [
  ['gemma', [2, 3, 2, 1], ['system_role', 'tool_exchanges']],
  // A failure counts as a refusal once it was repeated.
  ['llama', [1, 4, 2, 1], ['parallel_calls']],
  ['azure', [2, 2, 2, 1], ['field:stream_options']],
  ['grammar', [2, 2, 2, 1], ['tool_schemas']],
  ['plain', [2, 1, 1, 1], ['tools']],
  // Their models sent no thought and no signature.
  ['deepseek', [1, 3, 2, 1], ['missing_thoughts']],
  ['gemini', [1, 3, 2, 1], ['missing_signatures']],
];

describe('a gateway with model servers that refuse parts of requests', { timeout: START_MS }, () => {
  const servers: Record<string, StrictServer> = {};
  let gateway: GatewayFixture;
  beforeAll(async () => {
    const providers: Record<string, unknown> = {};
    for (const [name, rules] of Object.entries(RULES)) {
      const server = (servers[name] = await startStrictServer(rules, answer));
      providers[name] = { kind: 'openai', baseUrl: server.openaiUrl };
    }
    const file = { providers, afterTurn: { title: false, facts: false } };
    gateway = await openGatewayFixture({ env: { MODEL: 'gemma/fake', OLLAMA_HOST: '' }, file });
  }, START_MS);
  afterAll(async () => {
    await gateway.close();
    for (const server of Object.values(servers)) await server.close();
  });

  const callsOf = (name: string): readonly UpstreamBody[] => servers[name]?.calls ?? [];

  async function ask(
    name: string,
    content: unknown,
    session = name,
  ): Promise<{ status: number; text: string; calls: number }> {
    const before = callsOf(name).length;
    const answered = await gateway.call('/v1/chat/completions', {
      token: OWNER,
      headers: { 'x-session-id': session },
      json: { model: `${name}/fake`, messages: [{ role: 'user', content }] },
    });
    const body: { choices?: { message: { content: string } }[]; error?: { message: string } } =
      await answered.json();
    const text = body.choices?.[0]?.message.content ?? body.error?.message ?? '';
    return { status: answered.status, text, calls: callsOf(name).length - before };
  }

  /** Makes a session with the model of this server. */
  async function choose(session: string, name: string): Promise<void> {
    const json = { model: `${name}/fake` };
    const path = `/v1/sessions/http:${session}`;
    const changed = await gateway.call(path, { method: 'PATCH', token: OWNER, json });
    expect(changed.status).toBe(200);
  }

  async function traceOf(session: string): Promise<string> {
    const rows = await gateway.messages(`http:${session}`);
    const turnId = rows.at(-1)?.turnId;
    return await (await gateway.call(`/v1/turns/${turnId}/trace`, { token: OWNER })).text();
  }

  it.each(CASES)('answers four turns with the server "%s"', async (name, calls, parts) => {
    const counted: number[] = [];
    for (const text of TURNS) {
      const answered = await ask(name, text);
      expect(answered).toMatchObject({ status: 200, text: expect.stringContaining('heard: ') });
      counted.push(answered.calls);
    }
    expect(counted).toEqual(calls);
    await choose(name, name);
    const model = await gateway.call(`/v1/sessions/http:${name}/model`, { token: OWNER });
    expect(await model.json()).toMatchObject({ omissions: expect.arrayContaining(parts) });
    expect(await traceOf(name)).toContain('left out for its server');
  });

  it('names what is left out in /readyz, in /status and for the doctor', async () => {
    const health: Pick<HealthReport, 'model'> = await (await gateway.call('/readyz')).json();
    expect(health.model.omissions).toEqual(
      expect.arrayContaining([{ model: 'plain/fake', omissions: ['tools'] }]),
    );
    // A gateway on its own stores this every few seconds.
    const { nodes } = gateway.store;
    const [node] = await nodes.liveNodes();
    await nodes.saveNodeStatus(node?.instance ?? '', { url: '', model: health.model, channels: {} });
    const { text } = await doctorCommand([], { PATH: '', ...gateway.env }, { colours: false });
    expect(text).toMatch(
      /The server of plain\/fake refuses parts of requests, and is not sent them: all tools/,
    );
    const status = await gateway.call('/v1/sessions/http:plain/messages', {
      token: OWNER,
      json: { content: '/status' },
    });
    expect(await status.text()).toMatch(/not sent to its server: all tools/);
  });

  it('answers the plain question after a picture that the server refuses', async () => {
    const image_url = { url: `data:image/png;base64,${PIXEL}` };
    const seen = await ask('blind', [
      { type: 'text', text: 'what is it?' },
      { type: 'image_url', image_url },
    ]);
    expect(seen).toMatchObject({ status: 200, calls: 2 });
    expect(await traceOf('blind')).toContain('the newest pictures, which it could not read');
    for (const text of ['and a plain question', 'another one', 'the last one']) {
      expect(await ask('blind', text)).toMatchObject({ status: 200, calls: 1 });
    }
    const last = JSON.stringify(callsOf('blind').at(-1)?.messages);
    expect(last).toContain('came a picture that could not be read');
  });

  it.each(['stubborn', 'broken'])(
    'says one sentence when the server "%s" refuses everything, and the chat lives on',
    async (name) => {
      isRefusing = true;
      const begun = performance.now();
      const refused = await ask(name, 'look around');
      expect(performance.now() - begun).toBeLessThan(REFUSED_MS);
      expect(refused.calls).toBeLessThanOrEqual(MAX_LADDER_CALLS);
      expect(refused.text).toMatch(/^Sorry, .*Rejected: E-\d\./);
      expect(refused.text).not.toContain('127.0.0.1');
      isRefusing = false;
      expect(await ask(name, 'look again')).toMatchObject({ status: 200, calls: 2 });
    },
  );

  it('notifies a chat once of what is left out', async () => {
    await ask('plain', 'hello', 'told');
    expect(await traceOf('told')).toContain('does not accept everything that I send. Left out: all tools.');
    await ask('plain', 'again', 'told');
    const trace = await traceOf('told');
    expect(trace).toContain('left out for its server: all tools');
    expect(trace).not.toContain('does not accept everything');
  });
});
