/** Tools that end the process they run in: what no handler of the gateway can catch. */
import { z } from 'zod';
import { defineTool, type Tool } from '../../../src/protocol/agent/tool.ts';

/** How the process ends, by the tool's name. */
const ENDS = {
  exit_process: () => process.exit(7),
  throw_later: () =>
    void setImmediate(() => {
      throw new Error('nobody handles this');
    }),
};

/** One tool for each way. They are pure, so that the next process runs the same call again. */
export const endingTools: readonly Tool[] = Object.entries(ENDS).map(([name, end]) =>
  defineTool({
    name,
    description: 'Ends the process.',
    parameters: z.strictObject({}),
    effect: 'pure',
    risk: () => 'safe',
    reach: () => 'session',
    results: 'operator',
    execute: () => {
      end();
      return new Promise<never>(() => undefined);
    },
  }),
);
