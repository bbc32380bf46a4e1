/** The tool `spawn_agent`: what it requests from the turn, what the model learns of its limits and of the result. */
import { describe, expect, it } from 'vitest';
import {
  MAX_SUBAGENTS_AT_ONCE,
  MAX_SUBAGENTS_PER_TURN,
  MAX_TASK_CHARS,
  type SpawnOutcome,
  type SpawnRequest,
  SUBAGENT_MS,
  SUBAGENT_TOKENS,
} from '../../src/protocol/agent/subagents.ts';
import { spawnAgent } from '../../src/tools/spawn-agent.ts';
import { toolContext } from '../fakes/agent/tool-context.ts';

const run = async (args: unknown, outcome: SpawnOutcome) => {
  const requests: SpawnRequest[] = [];
  const spawn = async (request: SpawnRequest): Promise<SpawnOutcome> => {
    requests.push(request);
    return outcome;
  };
  const result = await spawnAgent.execute(spawnAgent.parameters.parse(args), toolContext({ spawn }));
  return { requests, result };
};

describe('the tool spawn_agent', () => {
  it('hands over a task, awaited or not, and returns its result (B-24)', async () => {
    const finished = {
      kind: 'finished',
      agentId: 'a',
      text: 'Found.',
      completedNormally: true,
      sources: [],
    } as const;
    expect(await run({ task: 'Look' }, finished)).toEqual({
      requests: [{ task: 'Look', profileId: undefined, background: false }],
      result: { content: 'Found.', sources: [], from: 'a subagent' },
    });
    const started = await run(
      { task: 'Look', background: true, profile_id: 'x' },
      { kind: 'started', agentId: 'a' },
    );
    expect(started.requests).toEqual([{ task: 'Look', profileId: 'x', background: true }]);
    expect(started.result.content).toContain('a is working in the background');
  });

  it('marks an unfinished or refused subagent as an error', async () => {
    const cut = {
      kind: 'finished',
      agentId: 'a',
      text: 'Out of time.',
      completedNormally: false,
      sources: [],
    } as const;
    expect((await run({ task: 'Look' }, cut)).result).toMatchObject({
      isError: true,
      content: expect.stringContaining('Out of time.'),
    });
    const refused = { kind: 'refused', text: 'Too many.' } as const;
    expect((await run({ task: 'Look' }, refused)).result).toEqual({
      isError: true,
      content: 'No subagent was made. Too many.',
      source: 'operator',
    });
  });

  it('tells the model its limits', () => {
    for (const bound of [
      MAX_SUBAGENTS_AT_ONCE,
      MAX_SUBAGENTS_PER_TURN,
      SUBAGENT_TOKENS,
      SUBAGENT_MS / 60_000,
    ]) {
      expect(spawnAgent.description).toContain(String(bound));
    }
    const fits = (length: number) => spawnAgent.parameters.safeParse({ task: 'x'.repeat(length) }).success;
    expect([fits(MAX_TASK_CHARS), fits(MAX_TASK_CHARS + 1), fits(0)]).toEqual([true, false, false]);
    // It ends on its own, and says why, before the gateway would end it.
    expect(spawnAgent.limitMs).toBeGreaterThan(SUBAGENT_MS);
  });

  it('reports where no subagent is allowed', async () => {
    const call = spawnAgent.execute({ task: 'Look', background: false }, toolContext());
    await expect(call).rejects.toThrow('not available here');
  });
});
