/** Calls that may change files of a session run one at a time, including those of its subagents. */
import { setTimeout } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../../src/protocol/agent/tool.ts';
import { spawnAgent } from '../../../src/tools/spawn-agent.ts';
import { describeStore } from '../../database.ts';
import { ReplayProvider } from '../../fakes/agent/replay-provider.ts';
import { asks, says } from '../../fakes/agent/scripted-provider.ts';
import { openScenario } from '../../fakes/agent/turn-setup.ts';

describeStore('concurrent calls of subagents', (databases) => {
  it('change files of their session one after another', async () => {
    const order: string[] = [];
    const save = defineTool<{ name: string }>({
      name: 'save',
      description: 'Saves a file, slowly.',
      parameters: z.strictObject({ name: z.string() }),
      effect: 'idempotent',
      risk: () => 'safe',
      results: 'operator',
      reach: () => 'session',
      files: ({ name }) => [name],
      async execute({ name }) {
        order.push(`${name} begins`);
        await setTimeout(100);
        order.push(`${name} ends`);
        return { content: 'saved' };
      },
    });
    const task = (name: string) => ({ name: 'spawn_agent', args: { task: `Save ${name}` } });
    const provider = new ReplayProvider({
      'Do it': [asks([task('a'), task('b')]), says('Done.')],
      'Save a': [asks([{ name: 'save', args: { name: 'a' } }]), says('A.')],
      'Save b': [asks([{ name: 'save', args: { name: 'b' } }]), says('B.')],
    });
    const scenario = await openScenario(databases, { provider, tools: [spawnAgent, save] });
    expect((await scenario.ask('Do it')).turn?.final?.content).toBe('Done.');
    expect(order).toHaveLength(4);
    expect(order.filter((line) => line.endsWith('begins')).map((line) => line[0])).toEqual(
      order.filter((line) => line.endsWith('ends')).map((line) => line[0]),
    );
    expect(order[1]).toMatch(/ends$/);
  });
});
