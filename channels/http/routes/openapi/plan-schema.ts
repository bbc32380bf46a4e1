/** Schemas of plans, as events and answers contain them (a test compares the types). */
import { z } from 'zod';
import { isTextKey, type TextRef } from '../../../../src/contracts/texts/say.ts';

const executor = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('tool'), tool: z.string() }),
  z.object({ kind: z.literal('agent'), profileId: z.string() }),
  z.object({ kind: z.literal('self') }),
]);

/** A text by its key, which each reader sees in their language. */
export const keptText: z.ZodType<TextRef> = z
  .object({
    key: z.string().refine(isTextKey),
    values: z.lazy(() => z.record(z.string(), z.union([z.string(), z.number(), keptText]))).optional(),
  })
  .meta({ id: 'KeptText' });

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
    reason: z.string().optional().describe('why it was cancelled, in English or as the model wrote it'),
    why: keptText.optional().describe('the same by the key of its text, where the gateway itself says it'),
    version: z.int().optional().describe('rises with each change that a person makes'),
    runs: z.int().optional(),
    language: z.string().optional().describe('of its card in chats, if it is not English'),
    origin: z
      .object({ planId: z.string(), run: z.int() })
      .optional()
      .describe('of a run: the plan that is run'),
  })
  .meta({ id: 'Plan' });
