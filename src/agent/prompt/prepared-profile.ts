/** The parts that all calls of a profile share, prepared once: its system prompt and the schemas of its tools (N-68, N-72). */
import { z } from 'zod';
import { estimateTokens } from '../../lib/tokens.ts';
import type { Profile } from '../../contracts/profile.ts';
import type { ToolSchema } from '../../contracts/provider.ts';
import type { Tool } from '../../contracts/tool.ts';

export interface PreparedProfile {
  /** Persona and the profile's own prompt; first in every call and never stored. */
  system: { content: string; tokens: number };
  tools: ReadonlyMap<string, Tool>;
  schemas: readonly ToolSchema[];
  /** Estimated tokens of the schemas. */
  toolTokens: number;
}

/**
 * Prepares a profile at its first use. The result is cached by the profile object: a reload creates a new object, so a
 * stale prompt is never used. `allow` filters the tools (a stateless completion has only `pure` ones).
 */
export function createPreparation(
  tools: readonly Tool[],
  allow: (tool: Tool) => boolean = () => true,
): (profile: Profile) => PreparedProfile {
  const offered = new Map(tools.filter(allow).map((tool) => [tool.name, { tool, schema: toolSchema(tool) }]));
  const prepared = new WeakMap<Profile, PreparedProfile>();
  return (profile) => {
    const known = prepared.get(profile);
    if (known !== undefined) return known;
    const enabled = profile.enabledTools.flatMap((name) => offered.get(name) ?? []);
    const schemas = enabled.map(({ schema }) => schema);
    const content = systemPrompt(profile);
    const made: PreparedProfile = {
      system: { content, tokens: estimateTokens(content) },
      tools: new Map(enabled.map(({ tool }) => [tool.name, tool])),
      schemas,
      toolTokens: schemas.length === 0 ? 0 : estimateTokens(JSON.stringify(schemas)),
    };
    prepared.set(profile, made);
    return made;
  };
}

/** `persona`, a horizontal rule, the profile's own prompt (N-68); no rule when one of them is empty. */
export function systemPrompt(profile: Profile): string {
  return [profile.persona, profile.systemPrompt].filter((part) => part !== '').join('\n\n---\n\n');
}

function toolSchema(tool: Tool): ToolSchema {
  const { $schema: _, ...parameters } = z.toJSONSchema(tool.parameters, { io: 'input' });
  return { name: tool.name, description: tool.description, parameters };
}
