/** A tool that asks before it runs a script of the session, as far as tests are concerned. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { defineTool, type Tool } from '../../../src/protocol/agent/tool.ts';

interface Script {
  script: string;
  note?: string | undefined;
}

/**
 * Adds to `ran` what the script said when it ran. With `uses` it may run any file; with `filesIn` it finds
 * the files that a script names.
 */
export function scriptTool(name: string, ran: string[], more: Pick<Tool<Script>, 'uses' | 'filesIn'> = {}) {
  return defineTool<Script>({
    name,
    description: 'Runs a script of the workspace.',
    parameters: z.strictObject({ script: z.string(), note: z.string().optional() }),
    effect: 'unsafe',
    risk: () => 'dangerous',
    warning: () => 'runs a script',
    results: 'operator',
    reach: () => 'outside',
    files: ({ script }) => [script],
    ...more,
    async execute({ script }, { workspace }) {
      const text = await readFile(path.join(workspace, script), 'utf8');
      ran.push(text);
      return { content: `ran ${text}` };
    },
  });
}
