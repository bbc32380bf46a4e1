/** The tools of a plug-in as the gateway's: what its manifest lists, judged like those of an MCP server that nobody vouches for. */
import { z } from 'zod';
import { schemaProblem, UNFOLLOWABLE } from '../lib/json/json-schema.ts';
import { clipEnd } from '../lib/text.ts';
import { ToolError, toGatewayError } from '../protocol/errors.ts';
import type { McpSource } from '../protocol/agent/risk.ts';
import { defineTool, type Tool, type ToolContext, type ToolResult } from '../protocol/agent/tool.ts';
import type { PluginManifest, PluginToolFacts } from '../protocol/plugin.ts';
import { textRef } from '../protocol/texts/say.ts';
import type { CallOptions } from './plugin-process.ts';

/** Longest run of a call when the manifest names none, in milliseconds. */
const USUAL_LIMIT_MS = 60_000;
/** Longest result, in UTF-16 units; the caller cuts what the model gets. */
const MAX_RESULT_CHARS = 1_000_000;

const resultShape = z.union([
  z.string().transform((content) => ({ content })),
  z.object({ content: z.string(), isError: z.boolean().optional() }),
]);

/** Calls the plug-in's process. */
export type CallPlugin = (method: string, args: readonly unknown[], options: CallOptions) => Promise<unknown>;

/** Its tools, under the names `<plug-in>__<tool>`. */
export function toolsOf(manifest: PluginManifest, call: CallPlugin): Tool[] {
  return (manifest.tools ?? []).map((facts) => toTool(manifest, facts, call));
}

function toTool({ name: plugin, label }: PluginManifest, facts: PluginToolFacts, call: CallPlugin): Tool {
  const { name, description, parameters, effect = 'unsafe', limitMs = USUAL_LIMIT_MS } = facts;
  const source: McpSource = `mcp:${plugin}`;
  return defineTool({
    name: `${plugin}__${name}`,
    description,
    schema: parameters,
    server: plugin,
    describedBy: source,
    parameters: argumentsOf(parameters),
    // What it says of itself decides what a restart does, never what needs approval.
    effect,
    limitMs,
    risk: () => 'dangerous',
    warning: () => textRef('risk.plugin_call', { tool: name, plugin: label }),
    results: source,
    reach: () => 'outside',
    async execute(args: Record<string, unknown>, context) {
      return { ...(await execute(name, args, context, limitMs, call)), from: `the plug-in ${label}` };
    },
  });
}

async function execute(
  tool: string,
  args: Record<string, unknown>,
  context: ToolContext,
  limitMs: number,
  call: CallPlugin,
): Promise<ToolResult> {
  const { callKey, userId, address, signal } = context;
  let value: unknown;
  try {
    value = await call('tool', [tool, args, { callKey, userId, address }], {
      limitMs,
      signal,
      onProgress: (text) => context.progress(clipEnd(text, 200)),
    });
  } catch (cause) {
    const { code, message, retryable } = toGatewayError(cause);
    throw new ToolError(code === '' ? 'failed' : code, message, { retryable, cause });
  }
  const { data } = resultShape.safeParse(value);
  if (data === undefined)
    throw new ToolError('bad_result', `The tool ${tool} answered neither text nor { content }.`);
  return { ...data, content: data.content.slice(0, MAX_RESULT_CHARS).toWellFormed() };
}

/** Arguments are checked as far as the schema is supported here; the plug-in checks them, too. */
function argumentsOf(schema: Readonly<Record<string, unknown>>): z.ZodType<Record<string, unknown>> {
  return z.record(z.string(), z.unknown()).superRefine((args, issues) => {
    const problem = schemaProblem(schema, args);
    if (problem !== undefined && !problem.startsWith(UNFOLLOWABLE))
      issues.addIssue({ code: 'custom', message: problem });
  });
}
