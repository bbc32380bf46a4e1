/** The tool `plan`: the model asks for a plan, made during the call and read from the next step on (N-14). */
import { z } from 'zod';
import { MAX_GOAL_CHARS } from '../protocol/agent/plan.ts';
import { PLAN_TOOL } from '../protocol/agent/profile.ts';
import { defineTool } from '../protocol/agent/tool.ts';

const parameters = z.strictObject({
  goal: z
    .string()
    .trim()
    .min(1)
    .max(MAX_GOAL_CHARS)
    .describe('What the user wants to have in the end, in one or two sentences.'),
});

export const plan = defineTool({
  name: PLAN_TOOL,
  description:
    'Make a plan before a task of several steps (research, work on files, anything with parts that build on each other). ' +
    'The user sees its steps tick off. Not for a question that you can answer at once or with one or two tool calls.',
  parameters,
  // Not pure, because a completion without a session has nowhere to keep a plan.
  effect: 'idempotent',
  risk: () => 'safe',
  results: 'operator',
  reach: () => 'session',
  // A plan names its turn.
  changes: () => [],
  // The turn replaces this by what has become of the plan.
  execute: () => Promise.resolve({ content: 'No plan can be made here. Continue without one.' }),
});
