/** The tool `spawn_agent`: a task for a subagent, awaited or in the background (B-24, N-04). */
import { z } from 'zod';
import { ToolError } from '../protocol/errors.ts';
import {
  BACKGROUND_SUBAGENT_MS,
  MAX_SUBAGENTS_AT_ONCE,
  MAX_SUBAGENTS_PER_TURN,
  MAX_TASK_CHARS,
  SPAWN_TOOL,
  type SpawnOutcome,
  SUBAGENT_MS,
  SUBAGENT_TOKENS,
} from '../protocol/agent/subagents.ts';
import { defineTool, type ToolResult } from '../protocol/agent/tool.ts';

/** Longer than a subagent's own limit, so that it ends itself and says why. */
const LIMIT_MS = SUBAGENT_MS + 60_000;

/** The source's name for the model. */
const FROM = 'a subagent';

const parameters = z.strictObject({
  task: z
    .string()
    .min(1)
    .max(MAX_TASK_CHARS)
    .describe('Everything it needs to know: it sees nothing of this conversation.'),
  profile_id: z.string().min(1).max(100).optional().describe('Another profile; usually left out.'),
  background: z
    .boolean()
    .default(false)
    .describe('true: continue at once; its result comes later as a message.'),
});

const minutes = (ms: number): string => `${Math.round(ms / 60_000)} minutes`;

export const spawnAgent = defineTool({
  name: SPAWN_TOOL,
  description:
    'Give a task to a subagent, which works on it with its own tools and returns the result. Several calls in one ' +
    `answer work at the same time, at most ${MAX_SUBAGENTS_AT_ONCE} at once and ${MAX_SUBAGENTS_PER_TURN} in a turn. One has at most ` +
    `${minutes(SUBAGENT_MS)} (${minutes(BACKGROUND_SUBAGENT_MS)} in the background) and ${SUBAGENT_TOKENS} tokens. ` +
    'It works on the same files and lists as you, cannot ask anyone, and cannot make subagents.',
  parameters,
  effect: 'idempotent',
  risk: () => 'caution',
  results: 'local',
  // What a subagent does is judged call by call, including by what its turn has read.
  reach: () => 'session',
  // Its calls say what they change.
  changes: () => [],
  limitMs: LIMIT_MS,
  sideBySide: true,
  async execute({ task, profile_id: profileId, background }: z.infer<typeof parameters>, ctx) {
    if (ctx.spawn === undefined) throw new ToolError('unavailable', 'Subagents are not available here.');
    return toResult(await ctx.spawn({ task, profileId, background }));
  },
});

function toResult(outcome: SpawnOutcome): ToolResult {
  switch (outcome.kind) {
    case 'refused':
      return { content: `No subagent was made. ${outcome.text}`, isError: true, source: 'operator' };
    case 'started':
      return {
        content: `The subagent ${outcome.agentId} is working in the background. Its result will come as a message; do not wait for it.`,
        source: 'operator',
      };
    case 'finished':
      return outcome.completedNormally
        ? { content: outcome.text, sources: outcome.sources, from: FROM }
        : {
            content: `The subagent ended before it was finished:\n${outcome.text}`,
            isError: true,
            sources: outcome.sources,
            from: FROM,
          };
    default:
      return outcome satisfies never;
  }
}
