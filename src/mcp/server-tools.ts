/** The tools of one server as gateway tools: which are accepted, under which names, and how their calls are judged. */
import { z } from 'zod';
import type { McpSource } from '../protocol/agent/risk.ts';
import { defineTool, type Tool, type ToolContext, type ToolResult } from '../protocol/agent/tool.ts';
import { isJsonObject, isTooDeep } from '../lib/json/json.ts';
import { schemaProblem, UNFOLLOWABLE } from '../lib/json/json-schema.ts';
import { wireSchema } from '../lib/json/wire-schema.ts';
import { oneLine } from '../lib/text.ts';
import type { McpServerSettings } from './settings.ts';
import { createHash } from 'node:crypto';
import { textRef } from '../protocol/texts/say.ts';

/** Longest name of a tool that model servers accept. */
export const MAX_TOOL_NAME_CHARS = 64;

const HASH_CHARS = 6;

/** Longest schema of a tool's arguments, in bytes of JSON: it is part of every model call. */
export const MAX_SCHEMA_BYTES = 16 * 1024;
/** Longest description, in UTF-16 units; a longer one is cut. */
export const MAX_DESCRIPTION_CHARS = 1_500;
/** Maximum number of tools accepted from one server; the limit for all servers together is lower than twice this. */
export const MAX_SERVER_TOOLS = 64;
/** Maximum number of tools named as simplified, and of things that each lacks. */
const MAX_SIMPLIFIED_SHOWN = 8;
const MAX_LOSSES_SHOWN = 4;
/** Maximum number of notices kept; further ones are counted. */
const MAX_NOTICES = 10;

const listedTool = z.looseObject({
  name: z.string().min(1).max(1_000),
  description: z.string().default(''),
  /** Some servers leave out the type, which can be no other. */
  inputSchema: z.looseObject({ type: z.literal('object').default('object') }),
  annotations: z
    .looseObject({ readOnlyHint: z.boolean().optional(), openWorldHint: z.boolean().optional() })
    .optional()
    .catch(undefined),
  execution: z.looseObject({ taskSupport: z.string().optional() }).optional().catch(undefined),
});
type ListedTool = z.infer<typeof listedTool>;

/** Calls a tool of the server under its original name. */
type CallTool = (tool: string, args: Record<string, unknown>, ctx: ToolContext) => Promise<ToolResult>;

/** The result of reading a server's list. */
export interface TakenTools {
  tools: readonly Tool[];
  /** What was left out or cut, and why; for operators. */
  notices: readonly string[];
}

/** Accepts the tools in a list that the server sent; leaves out unusable ones with a notice. Never throws. */
export function takeTools(
  settings: McpServerSettings,
  listed: readonly unknown[],
  call: CallTool,
): TakenTools {
  const notices: string[] = [];
  const usable = readTools(settings, listed, notices);
  if (usable.length > MAX_SERVER_TOOLS) {
    const excess = usable.length - MAX_SERVER_TOOLS;
    notices.push(
      `${excess} tools are left out: a server may have ${MAX_SERVER_TOOLS}; "tools" can choose which.`,
    );
  }
  const accepted = usable.slice(0, MAX_SERVER_TOOLS);
  notices.push(...simplified(accepted));
  const names = toolNames(
    settings.name,
    accepted.map(({ name }) => name),
  );
  const tools = accepted.map((tool, index) => toTool(settings, tool, names[index] ?? tool.name, call));
  const more = notices.length - MAX_NOTICES;
  return {
    tools,
    notices: more > 0 ? [...notices.slice(0, MAX_NOTICES), `and ${more} more notices`] : notices,
  };
}

function readTools(
  { tools: allowlist }: McpServerSettings,
  listed: readonly unknown[],
  notices: string[],
): ListedTool[] {
  const tools: ListedTool[] = [];
  for (const item of listed) {
    const { success, data } = listedTool.safeParse(item);
    if (!success) {
      notices.push(
        `${toolOf(item)} is left out: it has no ${nameOf(item) === undefined ? 'name' : 'schema of an object'}.`,
      );
      continue;
    }
    if (allowlist !== undefined && !allowlist.includes(data.name)) continue;
    const problem = problemOf(data, tools);
    if (problem === undefined) tools.push(data);
    else notices.push(`The tool ${displayName(data.name)} is left out: ${problem}.`);
  }
  for (const name of allowlist ?? []) {
    if (
      !tools.some((tool) => tool.name === name) &&
      !notices.some((text) => text.includes(displayName(name)))
    ) {
      notices.push(`The server has no tool ${displayName(name)}, which "tools" names.`);
    }
  }
  return tools;
}

function nameOf(item: unknown): string | undefined {
  return isJsonObject(item) && typeof item['name'] === 'string' && item['name'] !== ''
    ? item['name']
    : undefined;
}

function toolOf(item: unknown): string {
  const name = nameOf(item);
  return name === undefined ? 'A tool' : `The tool ${displayName(name)}`;
}

/** Names the tools whose schemas model servers get in a simpler form, and what these lack. */
function simplified(tools: readonly ListedTool[]): string[] {
  const simplifications = tools.flatMap(({ name, inputSchema }) => {
    const { losses } = wireSchema(inputSchema);
    return losses.length === 0
      ? []
      : [`${displayName(name)} (${losses.slice(0, MAX_LOSSES_SHOWN).join(', ')})`];
  });
  if (simplifications.length === 0) return [];
  const more = simplifications.length - MAX_SIMPLIFIED_SHOWN;
  const list = [
    ...simplifications.slice(0, MAX_SIMPLIFIED_SHOWN),
    ...(more > 0 ? [`and ${more} more`] : []),
  ].join(', ');
  return [`Model servers get a simpler schema of ${list}; arguments are checked against the original.`];
}

function problemOf(
  { name, inputSchema, execution }: ListedTool,
  previous: readonly ListedTool[],
): string | undefined {
  if (previous.some((tool) => tool.name === name)) return 'the server lists two with this name';
  if (isTooDeep(inputSchema)) return 'its schema is nested too deep';
  const bytes = Buffer.byteLength(JSON.stringify(inputSchema));
  if (bytes > MAX_SCHEMA_BYTES) {
    return `its schema has ${Math.ceil(bytes / 1_024)} KiB, and ${MAX_SCHEMA_BYTES / 1_024} KiB are allowed`;
  }
  return execution?.taskSupport === 'required'
    ? 'it runs only as a task, which this gateway does not support'
    : undefined;
}

function displayName(name: string): string {
  return `"${oneLine(name).slice(0, 80).toWellFormed()}"`;
}

function toTool(
  { name: server, trusted, timeoutMs }: McpServerSettings,
  listed: ListedTool,
  name: string,
  call: CallTool,
): Tool {
  const source: McpSource = `mcp:${server}`;
  const { description, inputSchema, annotations } = listed;
  // What a server says about its tools counts only if the operator vouches for it.
  const reads = trusted && annotations?.readOnlyHint === true;
  const isClosed = reads && annotations?.openWorldHint === false;
  const { $schema: _, ...schema } = inputSchema;
  return defineTool({
    name,
    description: descriptionOf(server, listed.name, description),
    schema,
    server,
    describedBy: trusted ? undefined : source,
    parameters: argumentsOf(schema),
    effect: reads ? 'pure' : 'unsafe',
    limitMs: timeoutMs,
    risk: () => (isClosed ? 'safe' : reads ? 'caution' : 'dangerous'),
    warning: () => textRef('risk.mcp_call', { tool: displayName(listed.name), server }),
    results: source,
    reach: () => (isClosed ? 'session' : 'outside'),
    async execute(args: Record<string, unknown>, ctx) {
      return { ...(await call(listed.name, args, ctx)), from: `the MCP server ${server}` };
    },
  });
}

function descriptionOf(server: string, tool: string, description: string): string {
  const clean = description.trim();
  if (clean === '') return `${displayName(tool)} of the MCP server ${server}.`;
  return clean.length <= MAX_DESCRIPTION_CHARS
    ? clean
    : `${clean.slice(0, MAX_DESCRIPTION_CHARS).toWellFormed()}…`;
}

/** Arguments are checked as far as the schema is supported here; the server checks them, too. */
function argumentsOf(schema: Record<string, unknown>): z.ZodType<Record<string, unknown>> {
  return z.record(z.string(), z.unknown()).superRefine((args, issues) => {
    const problem = schemaProblem(schema, args);
    if (problem !== undefined && !problem.startsWith(UNFOLLOWABLE))
      issues.addIssue({ code: 'custom', message: problem });
  });
}

/**
 * A different name for each tool, in order. A name that had to be changed so much that it might collide ends in a digest
 * of the original, so that it does not depend on the other tools. Never throws.
 */
export function toolNames(server: string, tools: readonly string[]): string[] {
  const names = new Set<string>();
  return tools.map((tool) => {
    const clean = `${server}__${tool.replaceAll(/[^A-Za-z0-9_-]/g, '_')}`;
    const fits = clean.length <= MAX_TOOL_NAME_CHARS && !names.has(clean);
    let name = fits ? clean : withDigest(clean, tool);
    for (let n = 2; names.has(name); n += 1) name = withDigest(clean, `${tool} ${n}`);
    names.add(name);
    return name;
  });
}

function withDigest(clean: string, tool: string): string {
  const digest = createHash('sha256').update(tool).digest('hex').slice(0, HASH_CHARS);
  return `${clean.slice(0, MAX_TOOL_NAME_CHARS - HASH_CHARS - 1)}_${digest}`;
}
