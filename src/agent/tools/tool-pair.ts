/**
 * The pair of tools that stands for all those that a small window has no room for: `find_tool` looks them up, `use_tool`
 * calls one. A call through the pair becomes a call of the tool itself before anything judges, journals or shows it.
 */
import { z } from 'zod';
import { isJsonObject, parseJson } from '../../lib/json/json.ts';
import { mergeSources, type Source } from '../../protocol/agent/risk.ts';
import type { ToolCall, ToolSchema } from '../../protocol/agent/provider.ts';
import { defineTool, type Tool } from '../../protocol/agent/tool.ts';
import type { PreparedProfile } from '../prompt/prepared-profile.ts';

export const FIND_TOOL = 'find_tool';
export const USE_TOOL = 'use_tool';

/** Tools that one search returns. */
export const MAX_FOUND_TOOLS = 5;
/** Length of the definitions that one search returns, in UTF-16 units; the first is returned in any case. */
const MAX_FOUND_CHARS = 6_000;
/** Names that a search without a match lists. */
const MAX_LISTED_NAMES = 80;
/** Weight of a word that is found in the name of a tool; one in its description or its parameters counts 1. */
const NAME_WEIGHT = 3;

const findArgs = z.object({ query: z.string().describe('What the tool should do, in a few words.') });
const useArgs = z.object({
  name: z.string().describe('As find_tool returns it.'),
  arguments: z.looseObject({}).optional().describe('As its parameters say.'),
});

/** The definitions of the pair; `others` says in a few words which tools it stands for. */
export function pairSchemas(others: string): ToolSchema[] {
  return [
    {
      name: FIND_TOOL,
      description: `There are more tools than those listed here: ${others}. Find one of them by what it does.`,
      parameters: parametersOf(findArgs),
    },
    {
      name: USE_TOOL,
      description: `Call a tool that ${FIND_TOOL} has found.`,
      parameters: parametersOf(useArgs),
    },
  ];
}

function parametersOf(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...parameters } = z.toJSONSchema(schema, { io: 'input' });
  return parameters;
}

const pairs = new WeakMap<ReadonlyMap<string, Tool>, ReadonlyMap<string, Tool>>();

/** The tools that a call may mean: those of the profile; for a call of the pair, the pair. */
export function callableTools(
  { tools, schemas }: PreparedProfile,
  { name }: ToolCall,
): ReadonlyMap<string, Tool> {
  if (tools.has(name) || (name !== FIND_TOOL && name !== USE_TOOL)) return tools;
  const cached = pairs.get(tools);
  if (cached !== undefined) return cached;
  const pair = new Map([findTool(tools, schemas), useTool()].map((tool) => [tool.name, tool]));
  pairs.set(tools, pair);
  return pair;
}

/** The call of a tool that the model made through `use_tool`; any other call is returned unchanged. */
export function directCall(call: ToolCall, tools: { has(name: string): boolean }): ToolCall {
  const { name, arguments: argument, ...flat } = call.args;
  const isThrough = call.name === USE_TOOL && !tools.has(USE_TOOL) && call.malformed === undefined;
  if (!isThrough || typeof name !== 'string' || !tools.has(name)) return call;
  const direct = { id: call.id, name, viaUseTool: true as const };
  const args = typeof argument === 'string' ? parseJson(argument) : (argument ?? flat);
  return isJsonObject(args)
    ? { ...direct, args }
    : { ...direct, args: {}, malformed: typeof argument === 'string' ? argument : JSON.stringify(argument) };
}

/** A call as the model made it, for its history. */
export function callAsMade({ viaUseTool, ...call }: ToolCall): ToolCall {
  if (viaUseTool === undefined) return call;
  const { id, name, args } = call;
  return { id, name: USE_TOOL, args: { name, arguments: args } };
}

/** What both have in common: they read definitions, and change nothing. */
const HARMLESS = {
  effect: 'pure' as const,
  risk: () => 'safe' as const,
  results: 'operator' as const,
  reach: () => 'session' as const,
};

function findTool(tools: ReadonlyMap<string, Tool>, schemas: readonly ToolSchema[]): Tool {
  return defineTool({
    ...HARMLESS,
    name: FIND_TOOL,
    description: 'Find a tool by what it does.',
    parameters: findArgs,
    execute: async ({ query }) => {
      const matches = search(schemas, query);
      if (matches.length === 0) return { content: namesText(query, [...tools.keys()]) };
      const sources = matches.reduce<readonly Source[]>((all, { name }) => {
        const source = tools.get(name)?.describedBy;
        return source === undefined ? all : mergeSources(all, [source]);
      }, []);
      return { content: definitionsText(matches, tools), sources, from: 'the descriptions of tools' };
    },
  });
}

/** Runs only for a tool that does not exist. */
function useTool(): Tool {
  return defineTool({
    ...HARMLESS,
    name: USE_TOOL,
    description: 'Call a tool by its name.',
    parameters: useArgs,
    execute: async ({ name }) => ({
      content: `There is no tool ${JSON.stringify(name.slice(0, 100))}. Look for one with ${FIND_TOOL}.`,
      isError: true,
    }),
  });
}

/** The best matches, best first: by how many words of the query are in the name, the description or the parameters. */
function search(schemas: readonly ToolSchema[], query: string): ToolSchema[] {
  const words = wordsOf(query);
  const scored = schemas.map((schema) => {
    const name = schema.name.toLowerCase();
    const text = `${schema.description} ${JSON.stringify(schema.parameters)}`.toLowerCase();
    const score = words.reduce(
      (sum, word) => sum + (name.includes(word) ? NAME_WEIGHT : 0) + (text.includes(word) ? 1 : 0),
      0,
    );
    return { schema, score };
  });
  return scored
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score)
    .slice(0, MAX_FOUND_TOOLS)
    .map(({ schema }) => schema);
}

/** Words of three and more letters, without the ending of a plural, and numbers; all words when there are none of these. */
function wordsOf(query: string): string[] {
  const words = query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const long = words.filter((word) => word.length > 2 || /\d|\P{ASCII}/u.test(word));
  return [...new Set((long.length > 0 ? long : words).map((word) => word.replace(/(?<=.{3})s$/, '')))];
}

/** The whole result is marked as text of others where it has some: here, descriptions need no marks of their own. */
function definitionsText(schemas: readonly ToolSchema[], tools: ReadonlyMap<string, Tool>): string {
  let text = '';
  for (const { name, description, parameters } of schemas) {
    const part = `${name}: ${tools.get(name)?.description ?? description}\nParameters: ${JSON.stringify(parameters)}`;
    if (text !== '' && text.length + part.length > MAX_FOUND_CHARS) break;
    text += text === '' ? part : `\n\n${part}`;
  }
  return text;
}

function namesText(query: string, names: readonly string[]): string {
  const more = names.length > MAX_LISTED_NAMES ? `, and ${names.length - MAX_LISTED_NAMES} more` : '';
  const listed = names.slice(0, MAX_LISTED_NAMES).join(', ');
  return `No tool matches ${JSON.stringify(query.slice(0, 200))}. The tools are: ${listed}${more}.`;
}
