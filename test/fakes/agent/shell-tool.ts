/** A program in the session's folder, judged for an undo as `exec` is, without its sandbox: some machines of tests have none. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { z } from 'zod';
import { defineTool, type Tool } from '../../../src/protocol/agent/tool.ts';
import { createExec } from '../../../src/tools/exec/exec.ts';

const run = promisify(execFile);

/** Makes the tool `shell`, whose calls need no approval. */
export function shellTool(): Tool {
  const exec = createExec(() => undefined);
  return defineTool({
    name: 'shell',
    description: 'Run a line in a shell.',
    parameters: z.strictObject({ command: z.string() }),
    effect: exec.effect,
    risk: () => 'safe',
    reach: () => 'session',
    results: 'operator',
    changes: (args) => exec.changes?.(args) ?? [],
    uses: (args) => exec.uses?.(args) ?? 'anything',
    files: (args) => exec.files?.(args) ?? [],
    async execute({ command }, { workspace, signal }) {
      const { stdout } = await run('/bin/sh', ['-c', command], { cwd: workspace, signal });
      return { content: stdout === '' ? '(nothing)' : stdout };
    },
  });
}
