/** The tool `edit_file`: replaces one passage of a text file, which must be unique (B-18). */
import { z } from 'zod';
import { ToolError } from '../../protocol/errors.ts';
import { defineTool } from '../../protocol/agent/tool.ts';
import { openInside, refuseSkills } from './workspace.ts';
import { CHANGES_A_FILE, MAX_FILE_BYTES, saveFile } from './save-file.ts';

const parameters = z.strictObject({
  path: z.string().min(1).describe('File relative to the workspace.'),
  old_text: z
    .string()
    .min(1)
    .max(MAX_FILE_BYTES)
    .describe('The passage, exactly as it is in the file, once.'),
  new_text: z.string().max(MAX_FILE_BYTES).describe('What takes its place; empty removes it.'),
});

export const editFile = defineTool({
  name: 'edit_file',
  description: 'Replace a passage of a text file in the workspace. The passage must occur exactly once.',
  parameters,
  // A second run would not find the passage, or would find it inside the new text and apply it twice.
  effect: 'unsafe',
  ...CHANGES_A_FILE,
  async execute(args: z.infer<typeof parameters>, ctx) {
    refuseSkills(args.path);
    const text = await readText(ctx.workspace, args.path);
    const at = text.indexOf(args.old_text);
    if (at === -1) {
      const message = `The passage is not in "${args.path}": read the file and copy it exactly.`;
      throw new ToolError('not_found', message);
    }
    if (text.indexOf(args.old_text, at + 1) !== -1) {
      const message = `The passage is in "${args.path}" more than once: add lines around it until it is unique.`;
      throw new ToolError('not_unique', message);
    }
    const edited = text.slice(0, at) + args.new_text + text.slice(at + args.old_text.length);
    await saveFile(ctx.workspace, args.path, Buffer.from(edited, 'utf8'));
    return { content: `Replaced one passage of "${args.path}".` };
  },
});

/** The whole file. What is not UTF-8 is refused: writing it back would change bytes that no one asked to change. */
async function readText(workspace: string, filePath: string): Promise<string> {
  await using file = await openInside(workspace, filePath);
  if (file.stats.isDirectory()) throw new ToolError('not_a_file', `"${filePath}" is a folder.`);
  if (file.stats.size > MAX_FILE_BYTES) {
    const message = `Only files of up to ${MAX_FILE_BYTES} bytes can be edited; this one has ${file.stats.size}.`;
    throw new ToolError('too_large', message);
  }
  const bytes = await file.handle.readFile();
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw new ToolError('not_text', `"${filePath}" is not UTF-8 text.`, { cause: error });
  }
}
