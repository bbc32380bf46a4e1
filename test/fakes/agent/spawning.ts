/** What tests of subagents need repeatedly: a call that spawns one, a tool that looks, a turn that asks one. */
import { z } from 'zod';
import type { EventBody } from '../../../src/protocol/event.ts';
import { defineTool, type ToolContext } from '../../../src/protocol/agent/tool.ts';
import { asks, says, type ScriptStep } from './scripted-provider.ts';

/** The call that spawns a subagent. */
export const spawn = (task: string, more: Record<string, unknown> = {}) => ({
  name: 'spawn_agent',
  args: { task, ...more },
});

/** A tool that only records where it was called. */
export function probe() {
  const seen: ToolContext[] = [];
  const tool = defineTool({
    name: 'probe',
    description: 'Looks at where it is called from.',
    parameters: z.strictObject({}),
    effect: 'pure',
    risk: () => 'safe',
    results: 'operator',
    reach: () => 'session',
    execute: async (_args, ctx: ToolContext) => {
      // As it is now: what changes it later must be visible.
      seen.push({ ...ctx });
      return { content: 'seen' };
    },
  });
  return { tool, seen };
}

/** The scripts of a turn that asks one subagent and then reports its result. */
export const parts = (child: readonly ScriptStep[], more: Record<string, unknown> = {}) => ({
  'Do it': [asks([spawn('The task', more)], 'I ask.'), says('All done.')],
  'The task': child,
});

/** What the turn received from its subagents. */
export const resultOf = (events: readonly EventBody[]) =>
  events.filter((event) => event.type === 'tool_result' && event.name === 'spawn_agent');
