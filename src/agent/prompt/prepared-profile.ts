/** The parts that all calls of a profile share, made once: its system prompt and the schemas of its tools (N-68, N-72). */
import { z } from 'zod';
import { estimateTokens } from '../../lib/tokens.ts';
import type { Profile } from '../../contracts/profile.ts';
import type { ToolSchema } from '../../contracts/provider.ts';
import type { Tool } from '../../contracts/tool.ts';

export interface PreparedProfile {
  /** Persona and the profile's own prompt; goes first in every call and is never stored. */
  system: { content: string; tokens: number };
  tools: ReadonlyMap<string, Tool>;
  schemas: readonly ToolSchema[];
  /** Estimated tokens of the schemas. */
  toolTokens: number;
}

/**
 * Gives the preparation of a profile, made at its first use. It is kept by the profile object itself: a reload makes a
 * new object, so a stale prompt cannot be served. `allow` leaves tools out (a stateless completion has only `pure` ones).
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

/** `persona`, a rule, the profile's own prompt (N-68); an empty part leaves no rule behind. */
export function systemPrompt(profile: Profile): string {
  return [profile.persona, profile.systemPrompt].filter((part) => part !== '').join('\n\n---\n\n');
}

function toolSchema(tool: Tool): ToolSchema {
  const { $schema: _, ...parameters } = z.toJSONSchema(tool.parameters, { io: 'input' });
  return { name: tool.name, description: tool.description, parameters };
}
