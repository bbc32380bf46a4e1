/** What a running tool emits is visible immediately; what it emits after its call has ended is not. */
import { expect, it } from 'vitest';
import { z } from 'zod';
import type { EventBody } from '../../../src/protocol/event.ts';
import {
  defineTool,
  type Tool,
  type ToolContext,
  type ToolResult,
} from '../../../src/protocol/agent/tool.ts';
import { describeStore } from '../../database.ts';
import { asks, says, ScriptedProvider } from '../../fakes/agent/scripted-provider.ts';
import { openScenario } from '../../fakes/agent/turn-setup.ts';

const notice = (text: string): EventBody => ({ type: 'notice', code: 'probe', text });
const noticesIn = (events: readonly EventBody[]): string[] =>
  events.flatMap((event) => (event.type === 'notice' ? [event.text] : []));

function probe(execute: (ctx: ToolContext) => Promise<ToolResult>): Tool {
  return defineTool({
    name: 'probe',
    description: 'For tests.',
    parameters: z.strictObject({}),
    effect: 'pure',
    risk: () => 'safe',
    results: 'operator',
    reach: () => 'session',
    execute: (_args, ctx) => execute(ctx),
  });
}

describeStore('events of a tool', (databases) => {
  it('are emitted while it runs, in order (N-56)', async () => {
    const seenWhileRunning: string[][] = [];
    const tool = probe(async (ctx) => {
      ctx.emit(notice('early'));
      seenWhileRunning.push(noticesIn(scenario.events));
      await Promise.resolve();
      ctx.emit(notice('late'));
      return { content: 'result' };
    });
    const provider = new ScriptedProvider(asks([{ name: 'probe', args: {} }]), says('ok'));
    const scenario = await openScenario(databases, { provider, tools: [tool] });
    await scenario.ask('Go');
    expect(seenWhileRunning).toEqual([['early']]);
    expect(noticesIn(scenario.events)).toEqual(['early', 'late']);
    const types = scenario.types();
    expect(types.lastIndexOf('notice')).toBeLessThan(types.indexOf('tool_result'));
  });

  it('are dropped once its call has been abandoned', async () => {
    const hold = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    const tool = probe(async (ctx) => {
      await hold.promise;
      ctx.emit(notice('late'));
      ended.resolve();
      return { content: 'late' };
    });
    const provider = new ScriptedProvider(asks([{ name: 'probe', args: {} }]), says('ok'));
    const scenario = await openScenario(databases, { provider, tools: [tool], limits: { toolMs: 1 } });
    await scenario.ask('Go');
    hold.resolve();
    await ended.promise;
    expect(noticesIn(scenario.events)).toEqual([]);
  });
});
