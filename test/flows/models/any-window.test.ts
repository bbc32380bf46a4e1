/** Models of any window answer, whole gateways in front of real fakes: small ones, hidden ones, and many tools on large ones. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { TOOL_SHARE } from '../../../src/agent/prompt/tool-selection.ts';
import { USE_TOOL } from '../../../src/agent/tools/tool-pair.ts';
import { TITLE_REQUEST } from '../../../src/agent/after-turn/title-worker.ts';
import { type FakeLlamaOptions, startFakeLlama } from '../../fakes/llama-server/llama-server.ts';
import { promptTokens } from '../../fakes/llama-server/request.ts';
import { scripted } from '../../fakes/mcp/servers.ts';
import type { FakeModel } from '../../fakes/ollama/ollama.ts';
import { estimateTokens } from '../../../src/lib/text.ts';
import { pendingSoon } from '../approvals/pending.ts';
import { type FixtureOptions, type GatewayFixture, openGatewayFixture, WAIT } from '../setup.ts';

/** A start with an embedded database takes seconds, and more on a busy machine. */
const START_MS = 120_000;

const model = (contextLength: number, name = 'fake:latest'): FakeModel => ({
  name,
  contextLength,
  capabilities: ['completion', 'tools'],
});

describe('a window', { timeout: START_MS }, () => {
  const open: { close(): Promise<void> }[] = [];
  afterEach(async () => {
    for (const thing of open.splice(0).toReversed()) await thing.close();
  });

  async function gateway(options: FixtureOptions = {}): Promise<GatewayFixture> {
    const fixture = await openGatewayFixture(options);
    open.push(fixture);
    return fixture;
  }
  /** Says something in a session and returns its answer, once nothing is pending. */
  async function ask(fixture: GatewayFixture, content: string, session = 'small'): Promise<string> {
    await fixture.post(session, content);
    await fixture.idle(`http:${session}`);
    return (await fixture.messages(`http:${session}`)).at(-1)?.content ?? '';
  }
  const shareOf = ({ ollama }: GatewayFixture, at = -1): number => {
    const body = ollama.calls.at(at)?.body;
    return estimateTokens(JSON.stringify(body?.tools ?? [])) / (body?.options?.num_ctx ?? 1);
  };

  it.each([4_096, 2_048])('of %i tokens answers "hi" with the tools that it has room for', async (window) => {
    const fixture = await gateway({ model: { models: [model(window)] } });
    expect(await ask(fixture, 'hi')).toBe('echo: hi');
    const names = fixture.ollama.calls[0]?.body.tools?.map((tool) => tool.function.name) ?? [];
    expect(names).toEqual(expect.arrayContaining(['plan', 'todo', 'memory', USE_TOOL]));
    expect(shareOf(fixture)).toBeLessThanOrEqual(TOOL_SHARE);
    const answer = await fixture.call('/v1/chat/completions', {
      json: { model: 'fake', messages: [{ role: 'user', content: 'hello' }] },
    });
    expect(answer.status).toBe(200);
  });

  it('of 6,144 tokens answers a message of 8,000 characters', async () => {
    const fixture = await gateway({ model: { models: [model(6_144)] } });
    expect(await ask(fixture, 'word '.repeat(1_600))).toContain('echo: word');
  });

  it('of 1,024 tokens says that it is too small in one sentence, and as 400 over HTTP', async () => {
    const fixture = await gateway({ model: { models: [model(1_024)] } });
    const content = 'word '.repeat(600);
    expect(await ask(fixture, content)).toMatch(/^Sorry, .*too long for the model/);
    const answer = await fixture.call('/v1/chat/completions', {
      headers: { 'x-session-id': 'api' },
      json: { model: 'default', messages: [{ role: 'user', content }] },
    });
    expect([answer.status, (await answer.json()).error?.code]).toEqual([400, 'context_length_exceeded']);
    expect(fixture.ollama.calls).toEqual([]);
  });

  it('of 131,072 tokens is not muted by two MCP servers of 60 tools, which stay within reach', async () => {
    const many = { ...scripted(['echo'], { FAKE_MANY: '60', FAKE_MANY_SENTENCES: '25' }), trusted: true };
    const file = { mcp: { servers: { big: many, large: many } } };
    const fixture = await gateway({ model: { models: [model(131_072)] }, file });
    await vi.waitFor(async () => {
      const { mcp } = await fixture.gateway.health();
      if (mcp['big']?.state !== 'up' || mcp['large']?.state !== 'up') throw new Error('one is not up yet');
    }, WAIT);
    expect(await ask(fixture, 'hi')).toBe('echo: hi');
    expect(shareOf(fixture)).toBeLessThanOrEqual(TOOL_SHARE);
    const names = fixture.ollama.calls[0]?.body.tools?.map((tool) => tool.function.name) ?? [];
    expect(names).toContain(USE_TOOL);
    expect(names.filter((name) => name.includes('__'))).toEqual([]);
    fixture.ollama.answer(
      { toolCalls: [{ name: USE_TOOL, args: { name: 'large__echo', arguments: { text: 'ahoy' } } }] },
      { when: 'say ahoy' },
    );
    fixture.ollama.answer('done', { when: 'say ahoy' });
    await fixture.post('big', 'say ahoy');
    const { id } = await pendingSoon(fixture, { tool: 'large__echo' });
    await fixture.call(`/v1/approvals/${id}`, { json: { decision: 'approved' } });
    await fixture.idle('http:big');
    expect(JSON.stringify(fixture.ollama.calls.at(-1)?.body.messages)).toContain('ahoy');
    expect((await fixture.messages('http:big')).at(-1)?.content).toBe('done');
  });

  it('grows within what the model reports before a message is refused, once, and does not shrink again', async () => {
    const fixture = await gateway({ model: { models: [model(32_768)] } });
    await ask(fixture, 'hi');
    expect(await ask(fixture, 'word '.repeat(9_000), 'long')).toContain('echo: word');
    expect(await ask(fixture, 'hello again')).toBe('echo: hello again');
    expect(fixture.ollama.calls.map(({ body }) => body.options?.num_ctx)).toEqual([16_384, 32_768, 32_768]);
    expect(fixture.ollama.loads.map(({ numCtx }) => numCtx)).toEqual([16_384, 32_768]);
  });

  it('of a model in the cloud is the one that it reports', async () => {
    const fixture = await gateway({ model: { models: [model(131_072, 'large:480b-cloud')] } });
    await ask(fixture, 'hi');
    expect(fixture.ollama.calls[0]?.body.options?.num_ctx).toBe(131_072);
  });

  it.each([
    ['names in its refusal', { overflow: 'n_ctx' }, 1],
    ['never names', { overflow: 'bare' }, 2],
    [
      'reports when it is asked',
      {
        overflow: 'bare',
        reports: { state: 'loaded', max_context_length: 131_072, loaded_context_length: 4_096 },
      },
      0,
    ],
  ] as const)(
    'of 4,096 tokens that LM Studio %s lets eight turns be answered',
    async (_how, lmStudio, refusals) => {
      const options: FakeLlamaOptions = { window: 4_096, lmStudio };
      const llama = await startFakeLlama(options);
      open.push(llama);
      const fixture = await gateway({ env: { OPENAI_BASE_URL: llama.url, MODEL: 'openai/fake' } });
      llama.answer('fine '.repeat(150), { times: 20 });
      for (let n = 1; n <= 8; n += 1) {
        expect(await ask(fixture, `question ${n} ${'about it '.repeat(60)}`)).toContain('fine');
      }
      const sizes = llama.calls.map(({ body }) => promptTokens(body));
      expect(sizes.filter((size) => size > 4_096).length).toBeLessThanOrEqual(refusals);
      expect(sizes.filter((size, at) => size === sizes[at - 1])).toEqual([]);
    },
  );

  it('of a server with one slot keeps what the server has read: the second turn reads only what is new', async () => {
    const llama = await startFakeLlama({ window: 16_384, slots: 1 });
    open.push(llama);
    const fixture = await gateway({ env: { OPENAI_BASE_URL: llama.url, MODEL: 'openai/fake' } });
    await ask(fixture, 'Are there night trains to Rome?');
    await vi.waitFor(() => expect(llama.titleCalls).toHaveLength(1), WAIT);
    await ask(fixture, 'And to Oslo?');
    const [first, second] = llama.calls.map(({ prefilled }) => prefilled ?? 0);
    const [title] = llama.titleCalls;
    expect(title?.body.messages.at(-1)?.content).toBe(TITLE_REQUEST);
    // The tools and the system message alone are more than 2,000 tokens.
    expect(first).toBeGreaterThan(2_000);
    expect(title?.prefilled).toBeLessThan(300);
    expect(second).toBeLessThan(300);
  });
});
