/** The tool `list_dir`: names, kinds and sizes in a folder of the session's workspace (B-19). */
import { lstat, opendir } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { ToolError } from '../../protocol/errors.ts';
import { defineTool } from '../../protocol/agent/tool.ts';
import { isSkill, openReadable } from './workspace.ts';

/** Entries in one answer; use `offset` to continue. */
export const MAX_ENTRIES = 200;
/** Entries examined in one folder; anything beyond is reported as "more". */
export const MAX_SCANNED = 10_000;

const parameters = z.strictObject({
  path: z.string().default('.').describe('Folder relative to the workspace; "." is the workspace itself.'),
  offset: z.int().min(0).default(0).describe('How many entries to skip, for folders with many.'),
});

export const listDir = defineTool({
  name: 'list_dir',
  description: `List the files and folders in a folder of the workspace, sorted by name, ${MAX_ENTRIES} at a time.`,
  parameters,
  effect: 'pure',
  risk: () => 'safe',
  reach: () => 'session',
  results: 'local',
  async execute(args: z.infer<typeof parameters>, ctx) {
    const source = isSkill(args.path) ? 'operator' : 'local';
    await using folder = await openReadable(ctx, args.path);
    if (!folder.stats.isDirectory()) {
      throw new ToolError('not_a_folder', `"${args.path}" is a file; read it with read_file.`);
    }
    const names = await namesIn(folder.place);
    const page = names.slice(args.offset, args.offset + MAX_ENTRIES);
    if (page.length === 0) {
      const content = names.length === 0 ? '(empty folder)' : `(only ${names.length} entries)`;
      return { content, source: 'operator' };
    }
    const lines = await Promise.all(page.map((name) => describeEntry(folder.place, name)));
    const next = args.offset + page.length;
    if (next < names.length) lines.push(`(${next} of ${names.length}; continue with "offset": ${next})`);
    else if (names.length === MAX_SCANNED)
      lines.push(`(only the first ${MAX_SCANNED} entries are looked at)`);
    return { content: lines.join('\n'), source, from: 'the names of files' };
  },
});

async function namesIn(place: string): Promise<string[]> {
  const names: string[] = [];
  for await (const entry of await opendir(place)) {
    names.push(entry.name);
    if (names.length === MAX_SCANNED) break;
  }
  return names.sort();
}

async function describeEntry(place: string, name: string): Promise<string> {
  const stats = await lstat(path.join(place, name)).catch((error: NodeJS.ErrnoException) => error.code);
  const label = JSON.stringify(name).slice(1, -1);
  if (typeof stats !== 'object') return `${label}  (gone: ${String(stats)})`;
  if (stats.isDirectory()) return `${label}/`;
  if (stats.isFile()) return `${label}  ${stats.size} bytes`;
  return `${label}  (${stats.isSymbolicLink() ? 'link' : 'special'}, not readable)`;
}
