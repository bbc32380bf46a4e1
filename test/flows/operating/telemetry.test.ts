/** Traces as an OpenTelemetry collector receives them from a whole gateway. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CollectedSpan, type FakeCollector, startFakeCollector } from '../../fakes/otlp/collector.ts';
import { type GatewayFixture, openGatewayFixture, WAIT } from '../setup.ts';

describe('traces for OpenTelemetry', () => {
  let collector: FakeCollector;
  let fixture: GatewayFixture;
  beforeAll(async () => {
    collector = await startFakeCollector();
    fixture = await openGatewayFixture({
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20collector-secret,x-tenant=parley',
      },
      file: { tools: { enabled: ['list_dir', 'spawn_agent'] } },
      model: { fallback: { text: 'A private answer.' } },
    });
  });
  afterAll(async () => {
    await fixture.close();
    await collector.close();
  });

  /** The spans of a turn, once the turn itself is among them. */
  const spansOf = async (turnId: string): Promise<CollectedSpan[]> => {
    const of = (): CollectedSpan[] =>
      collector.spans.filter(({ traceId }) =>
        collector.spans.some(
          (span) => span.traceId === traceId && span.attributes['parley.turn.id'] === turnId,
        ),
      );
    await expect.poll(() => of().map(({ name }) => name), WAIT).toContain('invoke_agent default');
    return of();
  };

  it("are one trace per turn with its model calls and tools, and without a word of anyone's text", async () => {
    fixture.ollama.answer({ toolCalls: [{ name: 'list_dir', args: { path: '.' } }] }, { when: 'my secret' });
    const spans = await spansOf(await fixture.post('traced', 'Look at my secret'));
    const byName = Object.groupBy(spans, ({ name }) => name);
    const [turn] = byName['invoke_agent default'] ?? [];
    const [attempt] = byName['attempt'] ?? [];
    const calls = byName['chat fake:latest'] ?? [];
    const [tool] = byName['execute_tool list_dir'] ?? [];
    expect(turn).toMatchObject({ parentId: '', attributes: { 'gen_ai.operation.name': 'invoke_agent' } });
    expect(turn?.attributes['gen_ai.conversation.id']).toBe('http:traced');
    expect(attempt?.parentId).toBe(turn?.spanId);
    expect(calls).toHaveLength(2);
    for (const span of [...calls, tool]) expect(span?.parentId).toBe(attempt?.spanId);
    expect(calls[0]?.attributes['gen_ai.usage.input_tokens']).toBeGreaterThan(0);
    const { hostname, port } = new URL(fixture.ollama.url);
    expect(calls.map(({ attributes }) => attributes)).toMatchObject([
      { 'gen_ai.provider.name': 'ollama', 'server.address': hostname, 'server.port': Number(port) },
      { 'gen_ai.response.finish_reasons': ['stop'] },
    ]);
    expect(spans.some(({ attributes }) => 'gen_ai.input.messages' in attributes)).toBe(false);
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
    for (const { startMs, endMs } of spans) {
      expect(startMs).toBeGreaterThanOrEqual((turn?.startMs ?? 0) - 1);
      expect(endMs).toBeLessThanOrEqual((turn?.endMs ?? 0) + 1);
    }
    const bytes = Buffer.concat(collector.bodies).toString('latin1');
    expect(bytes).not.toMatch(/secret|private/);
    expect(collector.headers).toMatchObject({
      authorization: 'Bearer collector-secret',
      'x-tenant': 'parley',
    });
  });

  it('hold the prompt of the newest call where the operator asks for it, without secrets', async () => {
    fixture.env['OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT'] = 'true';
    await fixture.restart();
    const spans = await spansOf(
      await fixture.post('told', 'A word for the collector: Bearer collector-secret'),
    );
    const [call] = spans.filter(({ name }) => name === 'chat fake:latest');
    const messages = JSON.parse(String(call?.attributes['gen_ai.input.messages'])) as { role: string }[];
    expect(messages[0]).toMatchObject({ role: 'system', parts: [{ type: 'text' }] });
    expect(JSON.stringify(messages)).toContain('A word for the collector');
    expect(JSON.stringify(messages)).not.toContain('collector-secret');
    delete fixture.env['OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT'];
    await fixture.restart();
  });

  it('stay one trace when another process finishes the turn', async () => {
    fixture.ollama.answer({ text: 'one two three four five six', perSecond: 2 }, { when: 'slowly' });
    const turnId = await fixture.post('resumed', 'slowly');
    await fixture.modelCall('slowly');
    await fixture.restart();
    const spans = await spansOf(turnId);
    const attempts = spans.filter(({ name }) => name === 'attempt');
    expect(attempts.map(({ attributes }) => attributes['parley.outcome'])).toEqual(['released', 'completed']);
    expect(new Set(attempts.map(({ parentId }) => parentId)).size).toBe(1);
    expect(spans.filter(({ name }) => name === 'invoke_agent default')).toHaveLength(1);
  });

  describe('of subagents', () => {
    const spawn = (task: string, more: Record<string, unknown> = {}) => ({
      toolCalls: [{ name: 'spawn_agent', args: { task, ...more } }],
    });
    const lists = { toolCalls: [{ name: 'list_dir', args: { path: '.' } }] };
    /** The spans below this one. */
    const below = (parent: CollectedSpan | undefined): string[] =>
      collector.spans
        .filter(({ parentId, traceId }) => parentId === parent?.spanId && traceId === parent?.traceId)
        .map(({ name }) => name)
        .toSorted();
    const agentsOf = (turnId: string): CollectedSpan[] =>
      collector.spans.filter(
        ({ attributes }) => attributes['parley.turn.id'] === turnId && 'parley.agent.id' in attributes,
      );

    it('that the turn waits for are below it, with their own calls and tools', async () => {
      fixture.ollama.answer(spawn('count the files'), { when: 'ask somebody' });
      fixture.ollama.answer(lists, { when: 'count the files' });
      const turnId = await fixture.post('asked', 'ask somebody');
      const spans = await spansOf(turnId);
      const [agent, ...others] = agentsOf(turnId);
      expect(others).toEqual([]);
      const turn = spans.find(({ parentId }) => parentId === '');
      expect(agent).toMatchObject({
        name: 'invoke_agent default',
        traceId: turn?.traceId,
        parentId: turn?.spanId,
        status: 0,
        links: [],
        attributes: {
          'gen_ai.operation.name': 'invoke_agent',
          'gen_ai.agent.name': 'default',
          'gen_ai.conversation.id': 'http:asked',
          'parley.outcome': 'completed',
        },
      });
      await expect
        .poll(() => below(agent), WAIT)
        .toEqual(['chat fake:latest', 'chat fake:latest', 'execute_tool list_dir']);
      const [call] = spans.filter(
        ({ parentId, name }) => parentId === agent?.spanId && name.startsWith('chat'),
      );
      expect(call?.attributes['gen_ai.usage.input_tokens']).toBeGreaterThan(0);
      const attempt = spans.find(({ name }) => name === 'attempt');
      expect(below(attempt)).toEqual(['chat fake:latest', 'chat fake:latest', 'execute_tool spawn_agent']);
      expect(agent?.endMs).toBeLessThanOrEqual((turn?.endMs ?? 0) + 1);
    });

    it('that fail say so by their code, without a word of the error', async () => {
      fixture.ollama.answer(spawn('break it'), { when: 'ask for trouble' });
      const refused = { kind: 'status', status: 400, error: 'a private reason' } as const;
      fixture.ollama.answer({ failure: refused }, { when: 'break it', times: Infinity });
      const turnId = await fixture.post('troubled', 'ask for trouble');
      await spansOf(turnId);
      expect(agentsOf(turnId)).toMatchObject([{ status: 2, attributes: { 'error.type': 'failed' } }]);
      expect(Buffer.concat(collector.bodies).toString('latin1')).not.toContain('private reason');
    });

    it('in the background have a trace of their own, which links to the turn that started them', async () => {
      fixture.ollama.answer(spawn('take your time', { background: true }), { when: 'start somebody' });
      fixture.ollama.answer(lists, { when: 'take your time' });
      const turnId = await fixture.post('started', 'start somebody');
      const turn = (await spansOf(turnId)).find(
        ({ parentId, attributes }) => parentId === '' && !('parley.agent.id' in attributes),
      );
      await expect.poll(() => agentsOf(turnId).length, WAIT).toBe(1);
      const [agent] = agentsOf(turnId);
      expect(agent?.traceId).not.toBe(turn?.traceId);
      expect(agent).toMatchObject({
        parentId: '',
        links: [{ traceId: turn?.traceId, spanId: turn?.spanId }],
      });
      await expect
        .poll(() => below(agent), WAIT)
        .toEqual(['chat fake:latest', 'chat fake:latest', 'execute_tool list_dir']);
    });

    it('that another process continues have one span for each run, in one trace', async () => {
      fixture.ollama.answer(spawn('write slowly', { background: true }), { when: 'start a slow one' });
      fixture.ollama.answer({ text: 'one two three four five six', perSecond: 2 }, { when: 'write slowly' });
      const turnId = await fixture.post('slowed', 'start a slow one');
      await fixture.modelCall('write slowly');
      await fixture.idle('http:slowed');
      await fixture.restart();
      await expect.poll(() => agentsOf(turnId).length, WAIT).toBe(2);
      const runs = agentsOf(turnId);
      expect(runs.map(({ attributes }) => attributes['parley.outcome'])).toEqual(['released', 'completed']);
      expect(new Set(runs.map(({ traceId }) => traceId)).size).toBe(1);
    });
  });

  it('cost an answer nothing when the collector refuses them, which is logged once', async () => {
    collector.status = 400;
    for (const id of ['away', 'gone']) {
      await fixture.post(id, 'Hello');
      await fixture.idle(`http:${id}`);
      expect((await fixture.messages(`http:${id}`)).at(-1)?.content).toBe('A private answer.');
    }
    const told = (): string[] => fixture.log.filter((line) => line.includes('spans_not_sent'));
    await expect.poll(() => told().length, WAIT).toBe(1);
    expect(fixture.log.join('')).not.toContain('collector-secret');
    collector.status = 200;
  });
});
