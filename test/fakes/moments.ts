/** Turns that take a while: a tool during which a test lets things happen, and the turn that follows another. */
import { z } from 'zod';
import type { LaneOutcome } from '../../src/protocol/bus.ts';
import type { LaneHead } from '../../src/protocol/store/lanes.ts';
import { defineTool } from '../../src/protocol/agent/tool.ts';

/** A tool that gives the scenario a moment: the test decides what happens while it runs. */
export const moment = (happens: () => Promise<void>) =>
  defineTool({
    name: 'moment',
    description: 'Passes a moment.',
    parameters: z.strictObject({}),
    effect: 'pure',
    risk: () => 'safe',
    results: 'operator',
    reach: () => 'session',
    execute: async () => {
      await happens();
      return { content: 'passed' };
    },
  });
/** The turn that a finished one claimed. */
export const nextTurn = (outcome: LaneOutcome): LaneHead | undefined =>
  outcome.kind === 'finished' ? outcome.step.heads.find(({ lane }) => lane.startsWith('in:')) : undefined;
