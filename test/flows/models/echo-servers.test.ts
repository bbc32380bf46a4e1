/**
 * Sessions and API calls with model servers that refuse a history without what they sent with it: thoughts and
 * signatures. Each turn is answered, also after a restart, with as many calls as on any other server.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { noThoughts, signatures, thoughtsOfAll, thoughtsOfCalls } from '../../fakes/model/echo-rules.ts';
import { isTurnCall, lastUserText } from '../../fakes/model/spoken-text.ts';
import {
  type ServerRule,
  startStrictServer,
  type StrictAnswer,
  type StrictServer,
} from '../../fakes/model/strict-server.ts';
import type { UpstreamBody } from '../../fakes/model/scripted-upstream.ts';
import { type GatewayFixture, openGatewayFixture, OWNER, WAIT } from '../setup.ts';

/** Startup with an embedded database takes seconds, and longer on a busy machine. */
const START_MS = 90_000;

/** Two tools at once where the message says "look"; only the first call is signed, as Gemini does it. */
function answer(body: UpstreamBody): StrictAnswer {
  const asked = lastUserText(body);
  const pieces = [{ reasoning_content: 'Let me ' }, { reasoning_content: `think: ${asked}.` }];
  if (body['tools'] === undefined) return { text: 'A title', pieces };
  if (body.messages.at(-1)?.role === 'tool' || !asked.includes('look'))
    return { text: `heard: ${asked}`, pieces };
  const call = { name: 'list_dir', args: { path: '.' } };
  const extra = { extra_content: { google: { thought_signature: `signed: ${asked}` } } };
  return { pieces, toolCalls: [{ ...call, extra }, call] };
}

/** What each turn says, and how often the model is called for it. */
const TURNS = [
  { text: 'hello', calls: 1 },
  { text: 'look around', calls: 2 },
  { text: 'look again', calls: 2 },
  { text: 'thanks', calls: 1 },
] as const;

const CASES: [name: string, rules: readonly ServerRule[]][] = [
  ['DeepSeek V3.2', [thoughtsOfCalls]],
  ['DeepSeek V4', [thoughtsOfAll]],
  ['Gemini 3', [signatures]],
];

describe.each(CASES)('a session with %s', { timeout: START_MS }, (_name, rules) => {
  let server: StrictServer;
  let gateway: GatewayFixture;
  beforeAll(async () => {
    server = await startStrictServer(rules, answer, 'someone');
    const env = { OPENAI_BASE_URL: server.openaiUrl, MODEL: 'openai/fake', OLLAMA_HOST: '' };
    gateway = await openGatewayFixture({ env });
  }, START_MS);
  afterAll(async () => {
    await gateway.close();
    await server.close();
  });

  it('answers four turns, two of them with tools, without a refusal and without a second try', async () => {
    for (const [nth, { text, calls }] of TURNS.entries()) {
      const before = server.calls.length;
      const turnId = await gateway.post('strict', text);
      await vi.waitFor(async () => {
        const rows = await gateway.messages('http:strict');
        const own = rows.find((row) => row.turnId === turnId && row.role === 'assistant');
        expect(own?.content).toContain(`heard: ${text}`);
      }, WAIT);
      const turnCalls = server.calls.slice(before).filter(isTurnCall);
      expect(turnCalls).toHaveLength(calls);
      if (nth === 1) await gateway.restart();
    }
    expect(server.refused).toEqual([]);
  });

  it('sends each thought and each signature with the call that it came with', () => {
    const last = server.calls.findLast(isTurnCall);
    const called = last?.messages.filter((message) => 'tool_calls' in message) ?? [];
    expect(called).toHaveLength(2);
    for (const [index, text] of ['look around', 'look again'].entries()) {
      expect(called[index]?.['reasoning_content']).toMatch(new RegExp(`^Let me think: ${text}`));
      const google = { thought_signature: expect.stringMatching(new RegExp(`^signed: ${text}`)) };
      expect(called[index]).toHaveProperty('tool_calls.0.extra_content', { google });
      expect(called[index]).not.toHaveProperty('tool_calls.1.extra_content');
    }
  });
});

const completion = z.object({
  choices: z.array(
    z.object({ message: z.looseObject({ tool_calls: z.array(z.looseObject({ id: z.string() })) }) }),
  ),
});

describe('a client of the API without a session', { timeout: START_MS }, () => {
  let server: StrictServer;
  let gateway: GatewayFixture;
  const details = [
    { type: 'reasoning.encrypted', data: 'e30=', id: 'x', format: 'google-gemini-v1', index: 0 },
  ];
  const tools = [{ type: 'function', function: { name: 'list_dir', parameters: { type: 'object' } } }];
  const user = { role: 'user', content: 'look' };
  const ask = async (messages: readonly unknown[], more: object = {}): Promise<Response> =>
    await gateway.call('/v1/chat/completions', {
      method: 'POST',
      token: OWNER,
      json: { model: 'openai/fake', messages, tools, ...more },
    });
  beforeAll(async () => {
    server = await startStrictServer(
      [thoughtsOfCalls, signatures],
      (body) => {
        const { pieces = [], ...rest } = answer(body);
        return { ...rest, pieces: [...pieces, { reasoning_details: details }] };
      },
      'someone',
    );
    const env = { OPENAI_BASE_URL: server.openaiUrl, MODEL: 'openai/fake', OLLAMA_HOST: '' };
    gateway = await openGatewayFixture({ env });
  }, START_MS);
  afterAll(async () => {
    await gateway.close();
    await server.close();
  });

  it('gets what the server sent, and it goes back with its history as it came', async () => {
    const first = completion.parse(await (await ask([user])).json()).choices[0]?.message;
    expect(first).toMatchObject({ reasoning_content: 'Let me think: look.', reasoning_details: details });
    expect(first?.tool_calls[0]).toMatchObject({
      extra_content: { google: { thought_signature: 'signed: look' } },
    });
    const results = (first?.tool_calls ?? []).map(({ id }) => ({
      role: 'tool',
      tool_call_id: id,
      content: 'seen',
    }));
    const second = await ask([user, first, ...results]);
    expect(second.status).toBe(200);
    expect(await second.text()).toContain('heard: look');
    const sent = server.calls.at(-1)?.messages.find(({ role }) => role === 'assistant');
    const { refusal: _, ...rest } = { refusal: null, ...first };
    expect(sent).toMatchObject(rest);
    expect(server.refused).toEqual([]);
  });

  it('gets the same in the deltas of a stream', async () => {
    const stream = await (await ask([user], { stream: true })).text();
    expect(stream).toContain(`"delta":{"reasoning_details":${JSON.stringify(details)}}`);
    expect(stream).toContain('"extra_content":{"google":{"thought_signature":"signed: look"}}');
  });
});

describe('a history that DeepSeek began', { timeout: START_MS }, () => {
  it('continues with a server that refuses thoughts', async () => {
    const deepseek = await startStrictServer([thoughtsOfAll], answer, 'someone');
    const groq = await startStrictServer(
      [noThoughts],
      ({ messages }) => ({ text: `read ${messages.length}` }),
      'someone',
    );
    const providers = {
      deepseek: { kind: 'openai', baseUrl: deepseek.openaiUrl },
      groq: { kind: 'openai', baseUrl: groq.openaiUrl },
    };
    const env = { MODEL: 'deepseek/fake', OLLAMA_HOST: '' };
    const gateway = await openGatewayFixture({ env, file: { providers } });
    const answerTo = async (text: string): Promise<string> => {
      const turnId = await gateway.post('moved', text);
      return await vi.waitFor(async () => {
        const rows = await gateway.messages('http:moved');
        const own = rows.find((row) => row.turnId === turnId && row.role === 'assistant');
        if (own === undefined) throw new Error('no answer yet');
        return own.content;
      }, WAIT);
    };
    try {
      expect(await answerTo('look around')).toContain('heard: look around');
      await gateway.call('/v1/sessions/http:moved', {
        method: 'PATCH',
        token: OWNER,
        json: { model: 'groq/fake' },
      });
      expect(await answerTo('and now?')).toMatch(/^read \d/);
      expect([...deepseek.refused, ...groq.refused]).toEqual([]);
      expect(groq.calls.length).toBeGreaterThan(0);
    } finally {
      await gateway.close();
      await deepseek.close();
      await groq.close();
    }
  });
});
