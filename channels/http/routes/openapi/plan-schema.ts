/** Schemas of plans, as events and answers contain them (a test compares the types). */
import { z } from 'zod';

const executor = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('tool'), tool: z.string() }),
  z.object({ kind: z.literal('agent'), profileId: z.string() }),
  z.object({ kind: z.literal('self') }),
]);

/** A step of a plan. */
export const planStep = z
  .looseObject({
    id: z.string(),
    index: z.int().describe('place in the plan, from 0'),
    description: z.string(),
    executor,
    args: z.record(z.string(), z.unknown()).optional().describe('of a tool, once they are known'),
    risk: z.enum(['safe', 'caution', 'dangerous']),
    status: z.enum(['pending', 'running', 'done', 'failed', 'skipped']),
    validation: z.string().optional().describe('how it was checked that the step is done'),
    attempts: z.int(),
    corrections: z.int(),
    revision: z.string().optional().describe('why it was last corrected'),
  })
  .meta({ id: 'PlanStep' });

/** A plan. */
export const plan = z
  .looseObject({
    id: z.string(),
    goal: z.string(),
    milestones: z.array(z.string()),
    steps: z.array(planStep),
    mode: z.enum(['planner', 'agentic', 'teacher']),
    state: z.enum(['stored', 'running', 'paused', 'completed', 'cancelled']),
    originalLength: z.int(),
    reason: z.string().optional().describe('why it was cancelled'),
    version: z.int().optional().describe('rises with each change that a person makes'),
    runs: z.int().optional(),
    language: z.string().optional().describe('of its card in chats, if it is not English'),
    origin: z
      .object({ planId: z.string(), run: z.int() })
      .optional()
      .describe('of a run: the plan that is run'),
  })
  .meta({ id: 'Plan' });
