/**
 * Names under which the model calls the tools of servers: `<server>__<tool>`, with the characters and length that
 * model servers accept.
 */
import { createHash } from 'node:crypto';

/** Longest name of a tool that model servers accept. */
export const MAX_TOOL_NAME_CHARS = 64;
const HASH_CHARS = 6;

/**
 * A name for each tool, in the given order; all are different. A name that must be changed so much that another tool
 * might get the same one ends in a digest of the server's original name, so that it stays the same whatever else the
 * server offers. Never throws.
 */
export function toolNames(server: string, tools: readonly string[]): string[] {
  const used = new Set<string>();
  return tools.map((tool) => {
    const clean = `${server}__${tool.replaceAll(/[^A-Za-z0-9_-]/g, '_')}`;
    const fits = clean.length <= MAX_TOOL_NAME_CHARS && !used.has(clean);
    let name = fits ? clean : withDigest(clean, tool);
    for (let n = 2; used.has(name); n += 1) name = withDigest(clean, `${tool} ${n}`);
    used.add(name);
    return name;
  });
}

function withDigest(clean: string, tool: string): string {
  const digest = createHash('sha256').update(tool).digest('hex').slice(0, HASH_CHARS);
  return `${clean.slice(0, MAX_TOOL_NAME_CHARS - HASH_CHARS - 1)}_${digest}`;
}
