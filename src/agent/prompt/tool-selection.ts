/** Which tools a call offers: all that fit a share of the window, the others through one pair. The same for every call. */
import { SPAWN_TOOL } from '../../protocol/agent/subagents.ts';
import { isMcpTool, PLAN_TOOL, SWITCH_PROFILE } from '../../protocol/agent/profile.ts';
import { SEARCH_KNOWLEDGE } from '../../protocol/knowledge.ts';
import type { ToolSchema } from '../../protocol/agent/provider.ts';
import type { Tool } from '../../protocol/agent/tool.ts';
import { isJsonObject } from '../../lib/json/json.ts';
import { pairSchemas } from '../tools/tool-pair.ts';
import { type PreparedProfile, schemaTokens, summaryOf } from './prepared-profile.ts';

/** Largest share of the window that the definitions of tools may take. */
export const TOOL_SHARE = 0.35;
/** Longest description of a tool in its short form, in UTF-16 units. */
const MAX_SHORT_CHARS = 160;

/** The gateway's own tools in the order in which a small window gets them; any other follows, those of MCP servers last. */
const CORE: readonly string[] = [
  PLAN_TOOL,
  // It is offered only where there are documents: they were given to be asked.
  SEARCH_KNOWLEDGE,
  'todo',
  'memory',
  'read_file',
  'list_dir',
  'write_file',
  'edit_file',
  'web_search',
  'web_fetch',
  'cron',
  'exec',
  'message',
  'send_file',
  'ask',
  SPAWN_TOOL,
  'scratchpad',
  SWITCH_PROFILE,
];

/** What a call offers. */
export interface ToolSelection {
  /** The same list for the same tools and limit, so that the prompt keeps its start. */
  schemas: readonly ToolSchema[];
  /** Estimated tokens of the schemas. */
  tokens: number;
  /** Names of the tools that are not among the schemas. */
  hidden: readonly string[];
}

/** Of a model that cannot call tools. */
export const NO_TOOLS: ToolSelection = { schemas: [], tokens: 0, hidden: [] };

const selections = new WeakMap<readonly ToolSchema[], Map<number, ToolSelection>>();

/**
 * The definitions that take at most `limit` estimated tokens: all as they are, else with short descriptions, else the
 * most important ones and a pair that finds and calls the others; none where not even the pair fits. Tools that a
 * caller of the API brings are its own: they are all offered, unchanged, whatever they take.
 */
export function selectTools(prepared: PreparedProfile, limit: number): ToolSelection {
  const { schemas, toolTokens } = prepared;
  if (schemas.length === 0) return NO_TOOLS;
  if (toolTokens <= limit) return { schemas, tokens: toolTokens, hidden: [] };
  const cached = selections.get(schemas)?.get(limit);
  if (cached !== undefined) return cached;
  const selected = select(prepared, limit);
  const byLimit = selections.get(schemas) ?? new Map<number, ToolSelection>();
  selections.set(schemas, byLimit.set(limit, selected));
  return selected;
}

function select({ schemas, tools }: PreparedProfile, limit: number): ToolSelection {
  const callerTools = schemas.filter(({ name }) => !tools.has(name));
  const candidates = schemas.flatMap((schema) => {
    const tool = tools.get(schema.name);
    return tool === undefined ? [] : [candidateOf(tool, schema)];
  });
  const fits = (list: readonly ToolSchema[]): boolean => schemaTokens([...list, ...callerTools]) <= limit;
  const offered = withoutPair(candidates, fits) ?? withPair(candidates, fits);
  const all = [...offered, ...callerTools];
  const names = new Set(offered.map(({ name }) => name));
  const hiddenNames = candidates.flatMap(({ tool }) => (names.has(tool.name) ? [] : [tool.name]));
  return { schemas: all, tokens: schemaTokens(all), hidden: hiddenNames };
}

/** A tool with both forms of its definition. */
interface Candidate {
  tool: Tool;
  full: ToolSchema;
  short: ToolSchema;
}

/**
 * All tools, those of servers in their short form; the gateway's own, too, where there is no room for their full form
 * next to the pair. Undefined when that does not fit.
 */
function withoutPair(
  candidates: readonly Candidate[],
  fits: (list: readonly ToolSchema[]) => boolean,
): ToolSchema[] | undefined {
  const mixed = candidates.map(({ tool, full, short }) => (isMcpTool(tool.name) ? short : full));
  if (fits(mixed)) return mixed;
  const short = candidates.map((each) => each.short);
  return !fits(withTaken(candidates, gatewaysOf(candidates), true)) && fits(short) ? short : undefined;
}

/** The most important tools and the pair, in the order of the definitions; nothing where not even the pair fits. */
function withPair(
  candidates: readonly Candidate[],
  fits: (list: readonly ToolSchema[]) => boolean,
): ToolSchema[] {
  if (!fits(withTaken(candidates, [], false))) return [];
  const inFull = fits(withTaken(candidates, gatewaysOf(candidates), true));
  let selection: Candidate[] = [];
  for (const unit of unitsOf(candidates))
    if (fits(withTaken(candidates, [...selection, ...unit], inFull))) selection = [...selection, ...unit];
  return withTaken(candidates, selection, inFull);
}

/** These tools and the pair for the others; the gateway's own `inFull`. */
function withTaken(
  candidates: readonly Candidate[],
  selection: readonly Candidate[],
  inFull: boolean,
): ToolSchema[] {
  const offered = candidates.filter((each) => selection.includes(each));
  const rest = candidates.filter((each) => !selection.includes(each));
  return [
    ...offered.map(({ tool, full, short }) => (inFull && !isMcpTool(tool.name) ? full : short)),
    ...pairSchemas(othersText(rest)),
  ];
}

function gatewaysOf(candidates: readonly Candidate[]): Candidate[] {
  return candidates.filter(({ tool }) => !isMcpTool(tool.name));
}

/** What is offered together: each of the gateway's tools alone, the tools of one server only as a whole, small ones first. */
function unitsOf(candidates: readonly Candidate[]): Candidate[][] {
  const gateways = gatewaysOf(candidates).toSorted((a, b) => rankOf(a.tool.name) - rankOf(b.tool.name));
  const servers = [...serversOf(candidates).values()].toSorted((a, b) => a.length - b.length);
  return [...gateways.map((each) => [each]), ...servers];
}

/** The tools of MCP servers by the name of their server, which the operator chose; those for resources come last. */
function serversOf(candidates: readonly Candidate[]): Map<string, Candidate[]> {
  const ofServers = candidates.filter(({ tool }) => isMcpTool(tool.name));
  return Map.groupBy(ofServers, ({ tool: { name } }) => {
    const end = name.indexOf('__');
    return end === -1 ? 'resources' : name.slice(0, end);
  });
}

function rankOf(name: string): number {
  const rank = CORE.indexOf(name);
  return rank === -1 ? CORE.length : rank;
}

/** Names of the gateway's own tools in a description of the others; the number of the rest follows. */
const MAX_NAMED_OTHERS = 8;

/** The tools that are left to the pair, in a few words. */
function othersText(others: readonly Candidate[]): string {
  const names = gatewaysOf(others).map(({ tool }) => tool.name);
  const rest = names.length - MAX_NAMED_OTHERS;
  return [
    ...names.slice(0, MAX_NAMED_OTHERS),
    ...(rest > 0 ? [`${rest} more`] : []),
    ...[...serversOf(others)]
      .slice(0, MAX_NAMED_OTHERS)
      .map(([server, tools]) => `${tools.length} of ${server}`),
  ].join(', ');
}

const shortForms = new WeakMap<ToolSchema, ToolSchema>();

function candidateOf(tool: Tool, full: ToolSchema): Candidate {
  const short = shortForms.get(full) ?? shortForm(tool, full);
  shortForms.set(full, short);
  return { tool, full, short };
}

/** The first sentence of what a tool does, and the names and types of its parameters; of others' texts only these. */
function shortForm(tool: Tool, { name, parameters }: ToolSchema): ToolSchema {
  const [sentence = ''] = /^[^]*?[.!?](?=\s|$)/.exec(tool.description) ?? [tool.description];
  const firstSentence = sentence.slice(0, MAX_SHORT_CHARS).toWellFormed();
  const description = tool.describedBy === undefined ? firstSentence : summaryOf(tool);
  return { name, description, parameters: bareSchema(parameters) };
}

/** Keywords that say more than the name and type of a parameter; arguments are checked against the whole schema. */
const EXTRA_KEYWORDS: ReadonlySet<string> = new Set([
  '$comment',
  'default',
  'description',
  'examples',
  'exclusiveMaximum',
  'exclusiveMinimum',
  'format',
  'maxItems',
  'maxLength',
  'maximum',
  'minItems',
  'minLength',
  'minimum',
  'pattern',
  'title',
]);
/** Keywords whose fields are names of parameters, not keywords. */
const NAME_MAPS: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions']);
/** Schemas that are nested deeper are kept as they are. */
const MAX_BARE_DEPTH = 12;

function bareSchema(schema: Record<string, unknown>, depth = MAX_BARE_DEPTH): Record<string, unknown> {
  const entries = Object.entries(schema).filter(([keyword]) => !EXTRA_KEYWORDS.has(keyword));
  return Object.fromEntries(
    entries.map(([keyword, value]) => [keyword, bareValue(keyword, value, depth - 1)]),
  );
}

/** The value of a keyword, with the schemas in it. */
function bareValue(keyword: string, value: unknown, depth: number): unknown {
  if (depth <= 0 || keyword === 'enum' || keyword === 'const') return value;
  if (Array.isArray(value)) return value.map((each) => (isJsonObject(each) ? bareSchema(each, depth) : each));
  if (!isJsonObject(value)) return value;
  if (!NAME_MAPS.has(keyword)) return bareSchema(value, depth);
  const schemas = Object.entries(value).map(([name, each]) => [
    name,
    isJsonObject(each) ? bareSchema(each, depth) : each,
  ]);
  return Object.fromEntries(schemas);
}
