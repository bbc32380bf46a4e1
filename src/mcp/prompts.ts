/** The prompts of a server: texts with which a person can start a turn. */
import { z } from 'zod';
import type { McpPrompt } from '../contracts/mcp/servers.ts';
import { oneLine } from '../lib/text.ts';

/** Maximum number of prompts kept per server, and of arguments per prompt. */
const MAX_PROMPTS = 50;
const MAX_ARGUMENTS = 20;
/** Longest name and description that are kept, in UTF-16 units. */
const MAX_NAME_CHARS = 80;
const MAX_DESCRIPTION_CHARS = 200;

const name = z.string().min(1).max(MAX_NAME_CHARS).regex(/^\S+$/);
const listedPrompt = z.looseObject({
  name,
  description: z.string().default(''),
  arguments: z
    .array(z.looseObject({ name, required: z.boolean().default(false) }))
    .max(MAX_ARGUMENTS)
    .default([]),
});

/** The prompts in a list that the server sent; those whose name cannot be typed are left out. Never throws. */
export function readPrompts(server: string, listed: readonly unknown[]): McpPrompt[] {
  const found = listed.flatMap((given) => {
    const { success, data } = listedPrompt.safeParse(given);
    if (!success) return [];
    const description = oneLine(data.description).slice(0, MAX_DESCRIPTION_CHARS).toWellFormed();
    const known = data.arguments.map(({ name: argument, required }) => ({ name: argument, required }));
    return [{ server, name: data.name, description, arguments: known }];
  });
  return found.slice(0, MAX_PROMPTS);
}
