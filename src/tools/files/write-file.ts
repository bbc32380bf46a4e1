/** The tool `write_file`: a whole text file in the session's workspace (B-17). */
import { z } from 'zod';
import { defineTool } from '../../protocol/agent/tool.ts';
import { refuseSkills } from './workspace.ts';
import { CHANGES_A_FILE, MAX_FILE_BYTES, saveFile } from './save-file.ts';

const parameters = z.strictObject({
  path: z.string().min(1).describe('File relative to the workspace; missing folders are made.'),
  content: z.string().max(MAX_FILE_BYTES).describe('The whole text of the file.'),
});

export const writeFile = defineTool({
  name: 'write_file',
  description: 'Write a text file in the workspace. An existing file is replaced.',
  parameters,
  effect: 'idempotent',
  ...CHANGES_A_FILE,
  async execute(args: z.infer<typeof parameters>, ctx) {
    refuseSkills(args.path);
    const content = Buffer.from(args.content, 'utf8');
    await saveFile(ctx.workspace, args.path, content);
    return { content: `Wrote ${content.length} bytes to "${args.path}".` };
  },
});
