/** The parts that all calls of a profile share, prepared once: its system prompt and the schemas of its tools (N-68, N-72). */
import { z } from 'zod';
import { estimateTokens } from '../../lib/text.ts';
import { namedTools, type Profile, toolsOf } from '../../protocol/agent/profile.ts';
import { SPAWN_TOOL } from '../../protocol/agent/subagents.ts';
import { SEARCH_KNOWLEDGE } from '../../protocol/knowledge.ts';
import type { ToolSchema } from '../../protocol/agent/provider.ts';
import { describeSources, type Source } from '../../protocol/agent/risk.ts';
import type { Tool } from '../../protocol/agent/tool.ts';
import { withoutToolPrompts } from '../profiles/built-in.ts';
import type { PromptPart } from './bootstrap-files.ts';
import { markUntrustedStably } from './marks.ts';

export interface PreparedProfile {
  /** Persona and the profile's own prompt; first in every call and never stored. */
  system: PromptPart;
  /** The same for a model that cannot call tools: it promises none. */
  withoutTools: PromptPart;
  tools: ReadonlyMap<string, Tool>;
  schemas: readonly ToolSchema[];
  /** Estimated tokens of the schemas. */
  toolTokens: number;
  /** Folders of the skills that its prompt lists; undefined = all. */
  skills: readonly string[] | undefined;
  /** Sources of the descriptions and schemas that others wrote. */
  sources: readonly Source[];
  /** What this was made from, when a caller's options are in it. */
  base?: PreparedProfile | undefined;
}

/** Prepares a profile; `knows`: the chat has documents to search. */
export type Prepare = (profile: Profile, knows?: boolean) => PreparedProfile;

/**
 * Prepares a profile at its first use. The result is cached by the profile object and the list of tools: a reload creates a
 * new object and a change of the tools a new list, so a stale prompt or tool is never used. `allow` filters the tools (a stateless completion has only `pure` ones).
 */
export function createPreparation(
  source: { tools(): readonly Tool[] },
  allow: (tool: Tool) => boolean = () => true,
): Prepare {
  let list = source.tools();
  let prepare = preparationOf(list.filter(allow));
  return (profile, knows) => {
    const current = source.tools();
    if (current !== list) {
      list = current;
      prepare = preparationOf(current.filter(allow));
    }
    return prepare(profile, knows);
  };
}

/** Tokens that servers put around each definition (`{"type":"function","function":…}`), and templates print. */
const WRAPPER_TOKENS = 12;

/** Estimated tokens of definitions as the model reads them. */
export function schemaTokens(schemas: readonly ToolSchema[]): number {
  if (schemas.length === 0) return 0;
  return estimateTokens(JSON.stringify(schemas)) + schemas.length * WRAPPER_TOKENS;
}

/** The schemas of tools, each made once however often the list around it changes. */
const schemasMade = new WeakMap<Tool, ToolSchema>();

function schemaOf(tool: Tool): ToolSchema {
  const schema = schemasMade.get(tool) ?? toolSchema(tool);
  schemasMade.set(tool, schema);
  return schema;
}

function preparationOf(tools: readonly Tool[]): Prepare {
  const offered = new Map(tools.map((tool) => [tool.name, { tool, schema: schemaOf(tool) }]));
  const withKnowledge = new WeakMap<Profile, PreparedProfile>();
  const without = new WeakMap<Profile, PreparedProfile>();
  return (profile, knows = false) => {
    const prepared = knows ? withKnowledge : without;
    const existing = prepared.get(profile);
    if (existing !== undefined) return existing;
    // Documents are given to be asked, whatever else the profile may do.
    const others = namedTools(toolsOf(profile), [...offered.keys()]).filter(
      (name) => name !== SEARCH_KNOWLEDGE,
    );
    const enabled = [...others, ...(knows ? [SEARCH_KNOWLEDGE] : [])].flatMap(
      (name) => offered.get(name) ?? [],
    );
    const schemas = enabled.map(({ schema }) => schema);
    const preparation: PreparedProfile = {
      system: partOf(systemPrompt(profile)),
      withoutTools: partOf(systemPrompt(asTalker(profile))),
      tools: new Map(enabled.map(({ tool }) => [tool.name, tool])),
      schemas,
      toolTokens: schemaTokens(schemas),
      skills: profile.skills,
      sources: [...new Set(enabled.flatMap(({ tool }) => tool.describedBy ?? []))],
    };
    prepared.set(profile, preparation);
    return preparation;
  };
}

/**
 * `persona`, a horizontal rule, the profile's own prompt (N-68) including whom it may delegate to; no rule when one of
 * them is empty.
 */
export function systemPrompt(profile: Profile): string {
  const instructions = [profile.systemPrompt, delegates(profile)].filter((part) => part !== '').join('\n\n');
  return [profile.persona, instructions].filter((part) => part !== '').join('\n\n---\n\n');
}

/** The profile as seen by a model that cannot call tools: as the built-in profile `chat` is, with the words that people wrote. */
function asTalker(profile: Profile): Profile {
  return { ...profile, enabledTools: [], systemPrompt: withoutToolPrompts(profile.systemPrompt) };
}

function partOf(content: string): PromptPart {
  return { content, tokens: estimateTokens(content) };
}

function delegates({ delegatesTo, enabledTools }: Profile): string {
  if (delegatesTo.length === 0 || !enabledTools.includes(SPAWN_TOOL)) return '';
  return `Agents with other tools than yours, for profile_id of ${SPAWN_TOOL}: ${delegatesTo.join(', ')}.`;
}

function toolSchema(tool: Tool): ToolSchema {
  const { $schema: _, ...parameters } = tool.schema ?? z.toJSONSchema(tool.parameters, { io: 'input' });
  return {
    name: tool.name,
    description: descriptionFor(tool),
    parameters,
    ...(tool.server !== undefined && { server: tool.server }),
  };
}

/** The tool in lists of what a plan may use: for one that others describe, only its owner. */
export function summaryOf({ description, describedBy }: Tool): string {
  return describedBy === undefined ? description : `A tool of ${describeSources([describedBy])}.`;
}

/** What the model reads about a tool; text that others wrote is between marks. */
function descriptionFor({ name, description, describedBy }: Tool): string {
  if (describedBy === undefined) return description;
  return markUntrustedStably(`${describeSources([describedBy])}, about the tool ${name}`, description);
}
