/** How risky a step is before it runs: judged by its tool and arguments, anew whenever they change (S-17). */
import type { Tool } from '../../contracts/tool.ts';
import type { Classify } from './edits.ts';

/**
 * Judges steps by the tools they call. What cannot be judged beforehand (arguments nobody knows yet, or a tool that is
 * none) is `caution`: each call is judged again when it is made, and a dangerous one waits for a human there. Never throws.
 */
export function classifyFor(tools: ReadonlyMap<string, Tool>): Classify {
  return ({ executor, args }) => {
    if (executor.kind !== 'tool') return 'safe';
    const tool = tools.get(executor.tool);
    const checked = tool?.parameters.safeParse(args ?? {});
    if (tool === undefined || checked?.success !== true) return 'caution';
    return tool.risk(checked.data);
  };
}
