/** A profile: how the agent behaves in a session, with its defaults (N-31…N-41). */
import { z } from 'zod';
import type { TextRef, TextTable } from '../texts/say.ts';
import type { ConfigChange } from '../settings.ts';
import type { ExecutionMode } from '../isomorphic/plan-types.ts';

/** Ids of profiles, which are also names of folders: none that an object has by itself, or that Windows reserves. */
export const PROFILE_ID = /^(?!(?:__proto__|constructor|aux|con|nul|prn|com\d|lpt\d)$)[a-z0-9_-]{1,32}$/;

/** Where descriptions of its fields are among those of all settings. */
export const PROFILE_SETTINGS = 'profiles';

/** The tool after which a turn reads its session's profile again (N-55). */
export const SWITCH_PROFILE = 'switch_profile';

/** The tool with which the model asks for a plan. */
export const PLAN_TOOL = 'plan';
/** The tools with which the model follows a plan. */
const PLAN_KEEPING = ['todo', 'scratchpad'];

/**
 * The tools of a profile that names none; those of planning are added. What they read taints the conversation: anything
 * that could leak data then asks first. Programs (`exec`) are for profiles that name them.
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
  'ask',
];

/** Flags and numbers of a profile; every field has a default. The descriptions are those of docs/configuration.md and of the form. */
export const profileSchema = z.strictObject({
  $schema: z
    .string()
    .max(2_000)
    .optional()
    .describe('`../../profile.schema.json`, which the gateway writes for editors'),
  description: z.string().max(200).optional().describe('short description, shown in lists'),
  usableBy: z
    .enum(['owners', 'everyone'])
    .default('owners')
    .describe(
      'who may choose it: `owners` (over HTTP: tokens with the scope `admin`) or `everyone`; a session keeps the profile it has',
    ),
  model: z.string().min(1).optional().describe("model name; unset = the gateway's model"),
  fallbacks: z
    .array(z.string().min(1))
    .max(10)
    .default([])
    .describe(
      'models that answer instead, tried in order, while that one is unreachable, unknown, refuses or is out of memory; the chat is told once, and once when it is back; no model may appear twice',
    ),
  maxIterations: z.int().min(1).max(200).default(20).describe('model calls in one turn'),
  enabledTools: z
    .array(z.string())
    .default([...DEFAULT_TOOLS])
    .describe('[tools](tools.md) the model may call; unset = those of the default profile'),
  skills: z
    .array(z.string().min(1).max(64))
    .max(100)
    .optional()
    .describe(
      '[skills](profiles-and-planning.md#skills) that its prompt lists, by their folders; unset = all',
    ),
  planning: z
    .enum(['off', 'auto', 'always'])
    .default('auto')
    .describe(
      'when a [plan](profiles-and-planning.md#planning) is made: `off`, `auto` (the model asks for one) or `always`',
    ),
  planningEnabled: z
    .boolean()
    .optional()
    .describe('wins over `planning`: `true` = `always`, `false` = `off`'),
  planningPhase2Enabled: z.boolean().default(false).describe('review the analysis where it asks for that'),
  thinkEnabled: z.boolean().default(true).describe('ask for extended reasoning on every call of the loop'),
  iterationBudgetEnabled: z.boolean().default(true).describe('tell the model how many iterations are left'),
  goalAnchoringEnabled: z.boolean().default(true).describe('remind the model of its goal'),
  goalAnchoringInterval: z.int().min(1).max(200).default(5).describe('iterations between two reminders'),
  antiStallEnabled: z.boolean().default(true).describe('warn the model when its todo list stalls'),
  antiStallThreshold: z
    .int()
    .min(1)
    .max(200)
    .default(8)
    .describe('iterations without progress before that warning'),
  stepValidationEnabled: z
    .boolean()
    .default(false)
    .describe('accept a todo as done only with a statement of how it was checked'),
  adaptiveReplanEnabled: z.boolean().default(false).describe('ask for a new plan after a todo failed'),
  subagentPlanningEnabled: z.boolean().default(false).describe('let subagents of this profile plan'),
  delegatesTo: z
    .array(z.string())
    .max(20)
    .default([])
    .describe('profiles whose subagents have their own tools, also those that this one lacks'),
  subagentTools: z.array(z.string()).default([]).describe('tools of its subagents; empty = `enabledTools`'),
  subagentMaxIterations: z.int().min(1).max(200).default(15).describe('model calls of a subagent'),
  compressionEnabled: z.boolean().default(true).describe('summarize the oldest turns of long conversations'),
  compressionThreshold: z
    .number()
    .min(0.2)
    .max(0.95)
    .default(0.7)
    .describe('share of the prompt budget at which that happens'),
  contextWindow: z
    .int()
    .min(512)
    .optional()
    .describe('context window in tokens; overrides what the server reports'),
  maxTokens: z.int().min(16).optional().describe('tokens kept free for the answer'),
  temperature: z.number().min(0).max(2).optional().describe('sampling temperature, 0 to 2'),
  approvals: z
    .enum(['dangerous', 'caution'])
    .default('dangerous')
    .describe(
      'which tool calls wait for a person: `dangerous` ones, or with `caution` also those that change anything',
    ),
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

/** When plans are made in a mode: one that runs plans makes `auto` ask at the beginning of each turn whether it needs one. */
export function planningIn(
  profile: Pick<ProfileSettings, 'planning' | 'planningEnabled'>,
  mode: ExecutionMode,
): ProfileSettings['planning'] {
  const planning = planningOf(profile);
  return planning === 'auto' && mode !== 'planner' ? 'always' : planning;
}

/** A profile's tools with those of planning, unless it has none of its own: then the model cannot ask for a plan. */
export function toolsOf(
  profile: Pick<ProfileSettings, 'planning' | 'planningEnabled' | 'enabledTools'>,
): string[] {
  const { enabledTools } = profile;
  const planning = planningOf(profile);
  const asks = planning === 'auto' && enabledTools.length > 0;
  const extraTools = asks ? [PLAN_TOOL, ...PLAN_KEEPING] : planning === 'always' ? PLAN_KEEPING : [];
  return [...new Set([...enabledTools, ...extraTools])];
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

/** Those of the `names` that a holder of `heldTools` has, too; either may say `mcp`. */
export function commonTools(names: readonly string[], heldTools: ReadonlySet<string>): string[] {
  const has = (name: string): boolean =>
    heldTools.has(name) || (isMcpTool(name) && heldTools.has(ALL_MCP_TOOLS));
  return names.flatMap((name) => {
    if (name === ALL_MCP_TOOLS && !heldTools.has(name)) return [...heldTools].filter(isMcpTool);
    return has(name) ? [name] : [];
  });
}

/** Whether someone may choose this profile: owners any, others those for everyone and their session's `current` one. */
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

/** A profile with what its files say. */
export interface ProfileReport {
  id: string;
  folder: string;
  /** Changes include it, so that an edit in between is detected. */
  version: string;
  /** It exists without any file, too. */
  isBuiltIn: boolean;
  hasFiles: boolean;
  /** JSON Schema of its `config.json`, with descriptions for its reader. */
  schema: Readonly<Record<string, unknown>>;
  /** What its `config.json` says, or would say: a first change of a built-in profile writes all of it. */
  written: unknown;
  /** The same with the defaults. */
  values: unknown;
  systemPrompt: string | null;
  subagentSystemPrompt: string | null;
  errors: readonly TextRef[];
}

/** Changes of a profile's files. */
export interface ProfileEdit {
  /** Of its `config.json`; comments stay. */
  changes: readonly ConfigChange[];
  /** null removes the file, so that the prompt is that of the profile `default`. */
  systemPrompt?: string | null | undefined;
  subagentSystemPrompt?: string | null | undefined;
}

/** The result of a change. */
export type ProfileChanged =
  | { kind: 'changed'; version: string }
  | { kind: 'unknown' }
  /** The files are no longer those that the version identifies. */
  | { kind: 'stale' }
  /** Nothing was written; each line names a field. */
  | { kind: 'refused'; problems: readonly TextRef[] };

/** The result of a deletion; of a built-in profile only its files go, and it is as it was without them. */
export type ProfileRemoved =
  | { kind: 'removed'; isBuiltIn: boolean }
  | { kind: 'unknown' }
  | { kind: 'stale' }
  /** It is a built-in profile without files. */
  | { kind: 'built_in' };

/** Changes files in the home, for the next turn. Throws `GatewayError` (`unwritable`, `usage`). */
export interface ProfileFiles {
  /** With its settings described by `texts`; undefined when there is no such profile. */
  profile(id: string, texts: TextTable): ProfileReport | undefined;
  /** A new one, as the profile `default` without its folder; refused for a name that is taken or none. */
  createProfile(id: string): Promise<ProfileChanged>;
  /** All changes or none. */
  changeProfile(id: string, version: string, edit: ProfileEdit): Promise<ProfileChanged>;
  removeProfile(id: string, version: string): Promise<ProfileRemoved>;
}
