/** A profile: how the agent behaves in a session, with its defaults (N-31…N-41). */
import { z } from 'zod';

/** Ids of profiles, which are also names of folders. */
export const PROFILE_ID = /^[a-z0-9_-]{1,32}$/;

/** The tool after which a turn reads its session's profile again (N-55). */
export const SWITCH_PROFILE = 'switch_profile';

/** The tool with which the model asks for a plan. */
export const PLAN_TOOL = 'plan';
/** The tools with which the model follows a plan. */
const PLAN_KEEPING = ['todo', 'scratchpad'];

/**
 * The tools of a profile that names none; those of planning are added. What they read taints the conversation, and from
 * then on anything that could leak data asks first. Running programs (`exec`) is for profiles that name it.
 */
export const DEFAULT_TOOLS: readonly string[] = [
  'list_dir',
  'read_file',
  'write_file',
  'edit_file',
  'web_fetch',
  'web_search',
  'memory',
  'cron',
  'spawn_agent',
  'message',
  'send_file',
];

/** Flags and numbers of a profile; every field has a default. */
export const profileSchema = z.strictObject({
  /** `../profile.schema.json`, which the gateway writes for editors. */
  $schema: z.string().max(2_000).optional(),
  /** What it is for, in lists of profiles. */
  description: z.string().max(200).optional(),
  /** Who may choose it: `owners` (and tokens with the scope `admin`), or `everyone`. A session keeps the one it has. */
  usableBy: z.enum(['owners', 'everyone']).default('owners'),
  /** Model name, `<provider>/<model>` for one on a named server; unset = the gateway's model. */
  model: z.string().min(1).optional(),
  /** Models that answer instead, tried in this order, while that one is unreachable, unknown, refuses, or is out of memory. */
  fallbacks: z.array(z.string().min(1)).max(10).default([]),
  /** Iterations of the tool-calling loop in one turn (N-42, B-08). */
  maxIterations: z.int().min(1).max(200).default(20),
  /** Names of the tools the model may call. */
  enabledTools: z.array(z.string()).default([...DEFAULT_TOOLS]),
  /**
   * When a plan is made in three phases (N-14): never, when the model asks for one with the tool `plan`, or before
   * every answer. If plans are made, the profile has the tools for them.
   */
  planning: z.enum(['off', 'auto', 'always']).default('auto'),
  /** Wins over `planning`: `true` = `always`, `false` = `off`. */
  planningEnabled: z.boolean().optional(),
  /** Review of the analysis, when the analysis asks for it (N-17, N-33). */
  planningPhase2Enabled: z.boolean().default(false),
  /** Extended reasoning on every call of the loop (N-31). */
  thinkEnabled: z.boolean().default(true),
  /** Tell the model how many iterations are left (N-32). */
  iterationBudgetEnabled: z.boolean().default(true),
  /** Remind the model of its goal every `goalAnchoringInterval` iterations (N-34, N-35). */
  goalAnchoringEnabled: z.boolean().default(true),
  goalAnchoringInterval: z.int().min(1).max(200).default(5),
  /** Warn after `antiStallThreshold` iterations without progress in the todo list (N-36, N-37). */
  antiStallEnabled: z.boolean().default(true),
  antiStallThreshold: z.int().min(1).max(200).default(8),
  /** A todo is only `done` with a `validation` (N-38). */
  stepValidationEnabled: z.boolean().default(false),
  /** A failed todo makes the model plan again at the next iteration (N-39). */
  adaptiveReplanEnabled: z.boolean().default(false),
  /** Subagents under this profile plan, too (N-40). */
  subagentPlanningEnabled: z.boolean().default(false),
  /**
   * Profiles whose subagents have their own tools, even those that this one lacks; any other subagent has none that
   * this one lacks (N-11).
   */
  delegatesTo: z.array(z.string()).max(20).default([]),
  /** Tools of subagents under this profile; empty = `enabledTools` (N-11). */
  subagentTools: z.array(z.string()).default([]),
  /** Iterations of a subagent (B-33). */
  subagentMaxIterations: z.int().min(1).max(200).default(15),
  /** Summarize the oldest turns when the conversation fills this share of the prompt budget (N-67). */
  compressionEnabled: z.boolean().default(true),
  compressionThreshold: z.number().min(0.2).max(0.95).default(0.7),
  /** Context window in tokens; overrides the discovered one (B-30). */
  contextWindow: z.int().min(512).optional(),
  /** Tokens reserved for the answer; overrides the default (B-30). */
  maxTokens: z.int().min(16).optional(),
  temperature: z.number().min(0).max(2).optional(),
  /** Tool calls that wait for a human: dangerous ones always, with `caution` also those that change anything. */
  approvals: z.enum(['dangerous', 'caution']).default('dangerous'),
});

export type ProfileSettings = z.infer<typeof profileSchema>;

/** When turns under this profile are planned. */
export function planningOf({
  planning,
  planningEnabled,
}: Pick<ProfileSettings, 'planning' | 'planningEnabled'>): ProfileSettings['planning'] {
  if (planningEnabled === undefined) return planning;
  return planningEnabled ? 'always' : 'off';
}

/**
 * The tools of a profile, including those that come with planning; without any tool of its own, the model cannot ask
 * for a plan.
 */
export function toolsOf(
  profile: Pick<ProfileSettings, 'planning' | 'planningEnabled' | 'enabledTools'>,
): string[] {
  const { enabledTools } = profile;
  const planning = planningOf(profile);
  const asks = planning === 'auto' && enabledTools.length > 0;
  const added = asks ? [PLAN_TOOL, ...PLAN_KEEPING] : planning === 'always' ? PLAN_KEEPING : [];
  return [...new Set([...enabledTools, ...added])];
}

/** In a list of a profile's tools: every tool the MCP servers currently offer. */
export const ALL_MCP_TOOLS = 'mcp';
/** The tools with which the model reads resources of MCP servers; they come with the servers' tools. */
export const MCP_RESOURCE_TOOLS: readonly string[] = ['list_resources', 'read_resource'];

/** True for the name of a tool that exists because of an MCP server: `<server>__<tool>`, or one for its resources. */
export function isMcpTool(name: string): boolean {
  return name.includes('__') || MCP_RESOURCE_TOOLS.includes(name);
}

/** The tools that a list of names means, each once; `all` are the existing ones. */
export function namedTools(names: readonly string[], all: readonly string[]): string[] {
  return [...new Set(names.flatMap((name) => (name === ALL_MCP_TOOLS ? all.filter(isMcpTool) : [name])))];
}

/** Those of the `names` that a holder of `held` has, too; either may say `mcp`. */
export function commonTools(names: readonly string[], held: ReadonlySet<string>): string[] {
  const has = (name: string): boolean => held.has(name) || (isMcpTool(name) && held.has(ALL_MCP_TOOLS));
  return names.flatMap((name) => {
    if (name === ALL_MCP_TOOLS && !held.has(name)) return [...held].filter(isMcpTool);
    return has(name) ? [name] : [];
  });
}

/**
 * Whether someone may choose this profile: an owner any, others one for everyone, and the `current` one of their
 * session.
 */
export function mayUseProfile(
  profile: Pick<Profile, 'id' | 'usableBy'> | undefined,
  { owner, current }: { owner: boolean; current: string | undefined },
): boolean {
  return owner || (profile !== undefined && (profile.usableBy === 'everyone' || profile.id === current));
}

/** A profile with its prompts; `persona` is the gateway's, `systemPrompt` the profile's own (N-68). */
export interface Profile extends ProfileSettings {
  id: string;
  persona: string;
  systemPrompt: string;
  /** Instead of `systemPrompt` in a subagent (N-09). */
  subagentSystemPrompt: string;
}
