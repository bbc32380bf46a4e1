/** What a turn does when the model, a tool or the user ends it early, on a real store. */
import { expect, it } from 'vitest';
import { MAX_CALLS_RUN } from '../../../src/agent/deps.ts';
import { LaneAbort } from '../../../src/protocol/bus.ts';
import { GatewayError, ProviderError, ToolError } from '../../../src/protocol/errors.ts';
import { listDir } from '../../../src/tools/files/list-dir.ts';
import { readFile } from '../../fakes/tool-options.ts';
import { describeStore } from '../../database.ts';
import { effectTools, startEffects } from '../../fakes/agent/effect-tools.ts';
import { plan } from '../../fakes/gateway/shown-plans.ts';
import { asks, fails, fallsSilent, says, ScriptedProvider } from '../../fakes/agent/scripted-provider.ts';
import { openScenario } from '../../fakes/agent/turn-setup.ts';
import { inEnglish } from '../../../src/protocol/texts/say.ts';

const tools = [listDir, readFile];

const down = new ProviderError('unavailable', 'Start Ollama, or set OLLAMA_HOST.', { retryable: true });
const broken = new ProviderError('bad_response', 'The stream was cut off.');
const overflow = new ProviderError('context_overflow', 'The prompt is too long.');
/** The user asking, in a private chat: errors name settings. */
const owners = ['telegram:42'];
const quick = { retryBaseMs: 2, modelWaitMs: 60 };

describeStore('a turn that fails or is stopped', (databases) => {
  it('waits for an unreachable model server with an immediate notice, and continues when it is back (B-47)', async () => {
    const provider = new ScriptedProvider(fails(down), fails(down), says('Back.'));
    const limits = { ...quick, modelWaitMs: 10_000 };
    const scenario = await openScenario(databases, { provider, owners, limits });
    const { turn } = await scenario.ask('Hi');
    expect(turn).toMatchObject({ reason: 'completed', final: { content: 'Back.' } });
    expect(scenario.events.filter((event) => event.type === 'notice')).toMatchObject([
      { code: 'model_unavailable', text: expect.stringContaining('OLLAMA_HOST') },
    ]);
    expect(scenario.shown()).toBe('Back.');
  });

  it('gives up after a limited wait with a text that explains what to do, and runs the next message (B-47)', async () => {
    const provider = new ScriptedProvider();
    provider.down = down;
    const scenario = await openScenario(databases, { provider, owners, limits: quick });
    const { turn, outcome } = await scenario.ask('Hi');
    expect(turn).toMatchObject({ reason: 'failed', final: { isError: true } });
    expect(turn?.final?.content).toContain('Start Ollama, or set OLLAMA_HOST.');
    expect(scenario.shown()).toBe(turn?.final?.content);
    expect(outcome).toHaveProperty('step.heads.0.payload.message.isError', true);
    provider.down = undefined;
    provider.add(says('Here again.'));
    expect((await scenario.ask('Still there?')).turn?.final?.content).toBe('Here again.');
    expect(provider.requests[0]?.messages.map(({ role }) => role)).toEqual([
      'system',
      'user',
      'user',
      'system',
    ]);
  });

  it('does not retry a call that cannot succeed', async () => {
    const unknown = new ProviderError('unknown_model', 'Run: ollama pull llama3.2');
    const provider = new ScriptedProvider(fails(unknown));
    const scenario = await openScenario(databases, { provider, owners });
    expect((await scenario.ask('Hi')).turn?.final?.content).toContain('ollama pull');
  });

  it('retries a broken stream once, and resets its text', async () => {
    const scenario = await openScenario(databases, {
      provider: new ScriptedProvider(fails(broken, 'Half of', ' it'), says('All of it.')),
    });
    const { turn } = await scenario.ask('Hi');
    expect(turn).toMatchObject({ reason: 'completed', final: { content: 'All of it.', isError: false } });
    expect(scenario.types()).toContain('stream_reset');
    expect(scenario.shown()).toBe('All of it.');
  });

  it('retries an answer that broke before its first word once, immediately', async () => {
    const early = new ProviderError('bad_response', 'It said "abort".', { retryable: true });
    const provider = new ScriptedProvider(fails(early), fails(early));
    const scenario = await openScenario(databases, { provider, owners });
    const { turn } = await scenario.ask('Hi');
    expect(turn).toMatchObject({ reason: 'failed', final: { isError: true } });
    expect(turn?.final?.content).toContain('It said "abort".');
    expect(provider.requests).toHaveLength(2);
  });

  it('ends with the text so far and the reason when it breaks again, and remembers the text but not the reason', async () => {
    const provider = new ScriptedProvider(fails(broken, 'One'), fails(broken, 'Two'), says('Yes.'));
    const scenario = await openScenario(databases, { provider, owners });
    const { turn } = await scenario.ask('Hi');
    expect(turn).toMatchObject({ reason: 'failed', final: { isError: true } });
    expect(turn?.final?.content).toMatch(/^Two\n\nSorry, .*The stream was cut off\.$/);
    expect(scenario.shown()).toBe(turn?.final?.content);
    await scenario.ask('Go on');
    expect(provider.requests[2]?.messages.map(({ content }) => content).slice(1, 3)).toEqual(['Hi', 'Two']);
  });

  it('ends a silent call within its limits, with an explanation (N-61, N-62)', async () => {
    const provider = new ScriptedProvider(fallsSilent());
    const scenario = await openScenario(databases, {
      provider,
      owners,
      limits: { firstChunkMs: 30, chunkMs: 30 },
    });
    expect((await scenario.ask('Hi')).turn?.final?.content).toContain('LLM_STREAM_FIRST_CHUNK_TIMEOUT');
    provider.add(fallsSilent('One'), fallsSilent('Two'));
    expect((await scenario.ask('Hi')).turn?.final?.content).toContain('Two\n\nSorry');
    expect(provider.hungUp).toBe(3);
  });

  it('tells the user once, while it waits, that the model has not begun to answer', async () => {
    const provider = new ScriptedProvider(fallsSilent());
    const limits = { slowMs: 5, firstChunkMs: 2_000 };
    const scenario = await openScenario(databases, { provider, owners, limits });
    const { head } = await scenario.say('Hi');
    const stop = new AbortController();
    const running = scenario.run(head, stop.signal);
    const notices = () => scenario.events.filter((event) => event.type === 'notice');
    await expect
      .poll(notices)
      .toMatchObject([{ code: 'model_slow', text: expect.stringContaining('2 seconds') }]);
    stop.abort(new LaneAbort('stopped'));
    await running;
    expect(notices()).toHaveLength(1);
  });

  it('shortens an overflowing prompt once, and gives up the second time (B-11)', async () => {
    const long = 'x'.repeat(7_500);
    const provider = new ScriptedProvider(says('1'), says('2'), fails(overflow), says('3'));
    const scenario = await openScenario(databases, { provider, profile: { contextWindow: 8_192 } });
    await scenario.ask(`first ${long}`);
    await scenario.ask(`second ${long}`);
    expect((await scenario.ask('third')).turn?.final?.content).toBe('3');
    const lengths = provider.requests.map((request) => request.messages.length);
    expect(lengths[3]).toBeLessThan(lengths[2] ?? 0);
    expect(new Set(provider.requests.map((request) => request.contextWindow)).size).toBe(1);
    provider.add(fails(overflow), fails(overflow));
    expect((await scenario.ask('fourth')).turn?.final).toMatchObject({ isError: true });
  });

  it('refuses a message longer than the window with a clear sentence and no call (B-27)', async () => {
    const scenario = await openScenario(databases, { provider: new ScriptedProvider() });
    const { turn } = await scenario.ask('字'.repeat(20_000));
    expect(turn?.final?.content).toContain('too long for the model');
    expect(turn).toMatchObject({ reason: 'failed' });
  });

  it('marks an answer that reached its maximum length', async () => {
    const cut = { ...says('Once upon'), finishReason: 'length' as const };
    const provider = new ScriptedProvider(cut, says('a time'));
    const scenario = await openScenario(databases, { provider });
    expect((await scenario.ask('A tale')).turn?.final?.content).toBe(
      `Once upon\n\n${inEnglish('turn.cut_off')}`,
    );
    await scenario.ask('Go on');
    expect(provider.requests[1]?.messages[2]).toEqual({ role: 'assistant', content: 'Once upon' });
  });

  it(`runs ${MAX_CALLS_RUN} calls of an answer and gives the others an error result`, async () => {
    const effects = await startEffects();
    const call = { name: 'pure_probe', args: {} };
    const provider = new ScriptedProvider(asks(Array.from({ length: 200 }, () => call)), says('ok'));
    const scenario = await openScenario(databases, { provider, tools: effectTools(effects.url) });
    expect((await scenario.ask('Many')).turn?.final?.content).toBe('ok');
    expect(effects.counts().size).toBe(MAX_CALLS_RUN);
    const results = provider.requests[1]?.messages.filter(({ role }) => role === 'tool') ?? [];
    expect(results).toHaveLength(200);
    expect(results[MAX_CALLS_RUN - 1]?.content).toContain('ok');
    expect(results[MAX_CALLS_RUN]?.content).toContain('Not run');
    await effects.close();
  });

  it('reports unknown tools and wrong arguments to the model, and continues (B-48)', async () => {
    const calls = [
      { name: 'sudo', args: {} },
      { name: 'read_file', args: { path: 7 } },
      { name: 'read_file', args: {}, malformed: '{"path"' },
      { name: 'read_file', args: { path: '../../etc/passwd' } },
    ];
    const provider = new ScriptedProvider(asks(calls), says('I see.'));
    const scenario = await openScenario(databases, { provider, tools });
    expect((await scenario.ask('Try')).turn?.final?.content).toBe('I see.');
    const results = scenario.events.flatMap((event) => (event.type === 'tool_result' ? [event] : []));
    expect(results.map((result) => result.isError)).toEqual([true, true, true, true]);
    expect(results.map((result) => result.result).join('\n')).toMatch(/sudo[^]*path[^]*JSON[^]*leads out/);
  });

  it('reports to the model when the folder of the session cannot be opened, and runs nothing', async () => {
    const effects = await startEffects();
    const provider = new ScriptedProvider(asks([{ name: 'unsafe_probe', args: {} }]), says('Pity.'));
    const files = {
      open: () => Promise.reject(new ToolError('workspace', 'Check GATEWAY_HOME.')),
      share: async () => [],
      named: async () => [],
    };
    const scenario = await openScenario(databases, { provider, tools: effectTools(effects.url), files });
    expect((await scenario.ask('Try')).turn?.final?.content).toBe('Pity.');
    expect(provider.requests[1]?.messages.at(-2)?.content).toBe('Check GATEWAY_HOME.');
    expect(effects.counts().size).toBe(0);
    await effects.close();
  });

  it('stops in the middle of a stream, and keeps and marks the text so far (N-58, N-43)', async () => {
    const provider = new ScriptedProvider(fallsSilent('So far'), says('Next.'));
    const scenario = await openScenario(databases, { provider });
    const { head, turnId } = await scenario.say('Long story');
    const stop = new AbortController();
    const running = scenario.run(head, stop.signal);
    await provider.silence();
    const began = performance.now();
    stop.abort(new LaneAbort('stopped'));
    expect(await running).toMatchObject({ kind: 'finished' });
    expect(performance.now() - began).toBeLessThan(1_000);
    expect(provider.hungUp).toBe(1);
    const turn = await scenario.store.ledger.turn(turnId);
    expect(turn).toMatchObject({
      reason: 'stopped',
      final: { content: `So far\n\n${inEnglish('turn.stopped')}` },
    });
    expect(scenario.events.at(-1)).toEqual({ type: 'turn_ended', reason: 'stopped' });
    await scenario.ask('And now?');
    expect(provider.requests[1]?.messages.map(({ content }) => content)).toContain('So far');
  });

  it('stops after a tool, and every call that was emitted gets its result (N-53, N-58)', async () => {
    const stop = new AbortController();
    const provider = new ScriptedProvider(
      asks([
        { name: 'list_dir', args: {} },
        { name: 'list_dir', args: {} },
      ]),
    );
    const stopping = tools.map((tool) => ({
      ...tool,
      execute: async () => {
        stop.abort(new LaneAbort('stopped'));
        return await new Promise<never>(() => undefined);
      },
    }));
    const scenario = await openScenario(databases, { provider, tools: stopping });
    const { head } = await scenario.say('Look');
    expect(await scenario.run(head, stop.signal)).toMatchObject({ kind: 'finished' });
    expect(scenario.types().filter((type) => type.startsWith('tool_'))).toEqual(['tool_call', 'tool_result']);
    expect(scenario.types().at(-1)).toBe('turn_ended');
  });

  it('ends a message that was stopped before it ran without asking the model (N-43)', async () => {
    const scenario = await openScenario(databases, { provider: new ScriptedProvider() });
    const { head, turnId } = await scenario.say('Forget it');
    const stopped = head && { ...head, stopped: true };
    expect(await scenario.run(stopped)).toMatchObject({ kind: 'finished' });
    const turn = await scenario.store.ledger.turn(turnId);
    expect(turn).toMatchObject({ reason: 'stopped', final: { content: inEnglish('turn.stopped') } });
  });

  it('explains to the user that a message became a dead letter', async () => {
    const scenario = await openScenario(databases, { provider: new ScriptedProvider() });
    const { head, turnId } = await scenario.say('Poison');
    if (head === undefined) throw new Error('There is no head.');
    const step = await scenario.agent.turns.onDeadLetter(
      head,
      new GatewayError('crashed', 'The gateway died 20 times.'),
    );
    expect(step.heads).toMatchObject([{ lane: 'out:telegram:42' }]);
    const turn = await scenario.store.ledger.turn(turnId);
    expect(turn).toMatchObject({ state: 'done', reason: 'failed', final: { isError: true } });
    expect(turn?.final?.content).toContain('The gateway died 20 times.');
    expect(scenario.types()).toEqual(['snapshot', 'turn_ended']);
    expect(await scenario.store.lanes.deadLetters(10)).toMatchObject([
      { error: 'The gateway died 20 times.' },
    ]);
  });

  it('cancels the plan of a message that became a dead letter, with an event (S-36)', async () => {
    const scenario = await openScenario(databases, { provider: new ScriptedProvider() });
    const { head, turnId } = await scenario.say('Poison');
    if (head === undefined) throw new Error('There is no head.');
    const { ledger } = scenario.store;
    const usage = { promptTokens: 1, completionTokens: 1, modelMs: 1 };
    const made = { plan: plan(2), card: 'card', todos: [], rows: [] };
    await ledger.storePlan(head, turnId, { made, userId: 'telegram:42', model: 'm', usage });
    await scenario.agent.turns.onDeadLetter(head, new GatewayError('crashed', 'The gateway died 20 times.'));
    expect(await ledger.planOf(turnId)).toMatchObject({ state: 'cancelled', reason: 'The turn failed.' });
    expect(scenario.types()).toEqual(['plan_cancelled', 'snapshot', 'turn_ended']);
  });

  it('ends and reports a message that cannot be read, so that the next one is answered', async () => {
    const scenario = await openScenario(databases, { provider: new ScriptedProvider(says('Fine.')) });
    const { head, turnId } = await scenario.say('Poison');
    const next = await scenario.say('Next');
    const poisoned = head && { ...head, payload: { turnId: 7 } };
    const failure = await scenario.run(poisoned).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'bad_payload', retryable: false });
    if (poisoned === undefined) throw new Error('There is no head.');
    const step = await scenario.agent.turns.onDeadLetter(
      poisoned,
      new GatewayError('bad_payload', 'unreadable'),
    );
    expect(await scenario.store.ledger.turn(turnId)).toMatchObject({
      state: 'done',
      reason: 'failed',
      final: { content: expect.stringMatching(/^Sorry, /), isError: true },
    });
    const toNext = step.heads.find(({ lane }) => lane === head?.lane);
    await scenario.run(toNext);
    expect((await scenario.store.ledger.turn(next.turnId))?.final?.content).toBe('Fine.');
  });
});
