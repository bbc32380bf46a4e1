/** How a subagent that a turn waits for ends: its limits, failures and stops, and how many can exist. */
import { expect, it, vi } from 'vitest';
import { LaneAbort } from '../../../src/protocol/bus.ts';
import { ProviderError } from '../../../src/protocol/errors.ts';
import {
  MAX_SUBAGENTS_AT_ONCE,
  MAX_SUBAGENTS_PER_TURN,
  SUBAGENT_TOKENS,
} from '../../../src/protocol/agent/subagents.ts';
import { defineTool } from '../../../src/protocol/agent/tool.ts';
import { spawnAgent } from '../../../src/tools/spawn-agent.ts';
import { describeStore } from '../../database.ts';
import { ReplayProvider } from '../../fakes/agent/replay-provider.ts';
import { asks, fails, fallsSilent, says, type ScriptStep } from '../../fakes/agent/scripted-provider.ts';
import { parts, probe, resultOf, spawn } from '../../fakes/agent/spawning.ts';
import { openScenario } from '../../fakes/agent/turn-setup.ts';

describeStore('the end of a subagent', (databases) => {
  it('reports that it did not complete normally: at its iteration limit, when the model fails, when it crashes (N-05, B-33)', async () => {
    const { tool } = probe();
    const loop = Array.from({ length: 20 }, () => asks([{ name: 'probe', args: {} }]));
    const broken = defineTool({ ...tool, name: 'broken' });
    const failures: [readonly ScriptStep[], RegExp][] = [
      [loop, /15 steps, the limit/],
      [
        [fails(new ProviderError('bad_response', 'The server at 10.0.0.9 refused.'))],
        /The model sent a broken answer/,
      ],
      [[], /The subagent failed/],
    ];
    for (const [child, why] of failures) {
      const provider = new ReplayProvider(parts(child));
      const scenario = await openScenario(databases, { provider, tools: [spawnAgent, tool, broken] });
      const { turn } = await scenario.ask('Do it');
      expect(turn).toMatchObject({ reason: 'completed', final: { content: 'I ask.\n\nAll done.' } });
      expect(resultOf(scenario.events)).toMatchObject([
        { isError: true, result: expect.stringMatching(why) },
      ]);
      expect(JSON.stringify(resultOf(scenario.events))).not.toContain('10.0.0.9');
      expect(scenario.ofAgents.at(-1)).toMatchObject({
        type: 'subagent_completed',
        completedNormally: false,
      });
      expect(provider.about('The task').length).toBeLessThanOrEqual(15);
    }
  });

  it('ends at its token limit, between two model calls, and reports it', async () => {
    const spent = (promptTokens: number) => ({ usage: { promptTokens, completionTokens: 1, modelMs: 1 } });
    const looks = asks([{ name: 'probe', args: {} }]);
    const edge: [number, string, number][] = [
      [SUBAGENT_TOKENS - 2, 'In time.', 1],
      [SUBAGENT_TOKENS - 1, `${SUBAGENT_TOKENS} tokens`, 0],
    ];
    for (const [tokens, result, calls] of edge) {
      const { tool, seen } = probe();
      const provider = new ReplayProvider(parts([{ ...looks, ...spent(tokens) }, says('In time.')]));
      const scenario = await openScenario(databases, { provider, tools: [spawnAgent, tool] });
      await scenario.ask('Do it');
      expect(resultOf(scenario.events)).toMatchObject([
        { isError: calls === 0, result: expect.stringContaining(result) },
      ]);
      expect(seen).toHaveLength(calls);
    }
  });

  it('ends at its time limit, and reports it (N-05)', async () => {
    const provider = new ReplayProvider(parts([fallsSilent('Hm')]));
    const scenario = await openScenario(databases, {
      provider,
      tools: [spawnAgent],
      limits: { subagentMs: 50 },
    });
    await scenario.ask('Do it');
    expect(resultOf(scenario.events)).toMatchObject([
      { isError: true, result: expect.stringContaining('out of time') },
    ]);
    expect(provider.active).toBe(0);
  });

  it('ends immediately with its parent when the parent is stopped, and emits its end', async () => {
    const provider = new ReplayProvider(parts([fallsSilent('Half')]));
    const scenario = await openScenario(databases, { provider, tools: [spawnAgent] });
    const { head, turnId } = await scenario.say('Do it');
    const stop = new AbortController();
    const running = scenario.run(head, stop.signal);
    await vi.waitFor(() => expect(scenario.ofAgents.at(-1)?.type).toBe('stream_chunk'), { timeout: 10_000 });
    stop.abort(new LaneAbort('stopped'));
    await running;
    expect(await scenario.store.ledger.turn(turnId)).toMatchObject({ reason: 'stopped' });
    expect(provider.active).toBe(0);
    expect(scenario.ofAgents.at(-1)).toMatchObject({ type: 'subagent_completed', completedNormally: false });
    expect(scenario.events.at(-1)).toMatchObject({ type: 'turn_ended' });
  });

  it('runs the calls of one answer concurrently, four at once, without mixing up their work (N-07, N-57)', async () => {
    const tasks = Array.from({ length: MAX_SUBAGENTS_AT_ONCE + 2 }, (_, n) => `Task ${n}`);
    let open = 0;
    const all = Promise.withResolvers<void>();
    const meet = async (): Promise<void> => {
      open += 1;
      if (open === MAX_SUBAGENTS_AT_ONCE) all.resolve();
      await all.promise;
    };
    const provider = new ReplayProvider({
      'Do it': [asks(tasks.map((task) => spawn(task))), says('Done.')],
      ...Object.fromEntries(tasks.map((task) => [task, [{ ...says(task, ' is', ' done'), before: meet }]])),
    });
    const scenario = await openScenario(databases, { provider, tools: [spawnAgent] });
    await scenario.ask('Do it');
    expect(provider.peak).toBe(MAX_SUBAGENTS_AT_ONCE);
    const results = scenario.events.flatMap((event) => (event.type === 'tool_result' ? [event.result] : []));
    expect(results.toSorted()).toEqual(tasks.map((task) => `${task} is done`));
    for (const { agentId, ...event } of scenario.ofAgents) {
      if (event.type !== 'subagent_spawned') continue;
      const own = scenario.ofAgents.filter((other) => other.agentId === agentId);
      const text = own.flatMap((one) => (one.type === 'stream_chunk' ? [one.delta] : [])).join('');
      expect(text).toBe(`${event.task} is done`);
    }
    // The model reads each result with the call it belongs to.
    const read = provider
      .about('Do it')
      .at(-1)
      ?.messages.filter(({ role }) => role === 'tool');
    expect(read?.map(({ content }) => content)).toEqual(tasks.map((task) => `${task} is done`));
  });

  it('is refused beyond the limit of one turn, with a result for the model', async () => {
    const tasks = Array.from({ length: MAX_SUBAGENTS_PER_TURN + 1 }, (_, n) => `Task ${n}`);
    const provider = new ReplayProvider({
      'Do it': [
        asks(tasks.slice(0, 9).map((task) => spawn(task))),
        asks(tasks.slice(9).map((task) => spawn(task))),
        says('Done.'),
      ],
      ...Object.fromEntries(tasks.map((task) => [task, [says('ok')]])),
    });
    const scenario = await openScenario(databases, { provider, tools: [spawnAgent] });
    await scenario.ask('Do it');
    const refused = resultOf(scenario.events).filter((event) => 'isError' in event && event.isError);
    expect(refused).toMatchObject([
      { result: expect.stringContaining(`at most ${MAX_SUBAGENTS_PER_TURN} subagents`) },
    ]);
    expect(scenario.ofAgents.filter((event) => event.type === 'subagent_spawned')).toHaveLength(
      MAX_SUBAGENTS_PER_TURN,
    );
  });
});
