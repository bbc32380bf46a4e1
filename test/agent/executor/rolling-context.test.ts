/** What is remembered of earlier steps, and that nothing waits for it. */
import { describe, expect, it } from 'vitest';
import {
  RollingContext,
  STEP_LIMIT,
  type StepEntry,
  SUMMARIZE_BATCH,
  SUMMARIZE_TRIGGER,
  SUMMARY_LIMIT,
} from '../../../src/agent/plans/rolling-context.ts';
import { testStep } from '../../fakes/agent/plans.ts';

function add(context: RollingContext, index: number, isError = false): void {
  context.addStep(testStep(index), { content: `result ${index + 1}`, isError, attemptIndex: 0 });
}

const shown = (context: RollingContext): string[] => context.entries.map(({ step }) => step.id);

describe('the rolling context of a plan', () => {
  it('summarizes the three oldest steps in one sentence at the fifth step (S-07)', async () => {
    const batches: string[][] = [];
    const context = new RollingContext(async (entries) => {
      batches.push(entries.map(({ step }) => step.id));
      return 'The first three\nparts are done.';
    });
    for (let n = 0; n < SUMMARIZE_TRIGGER - 1; n += 1) add(context, n);
    await context.settled();
    expect(batches).toEqual([]);
    add(context, SUMMARIZE_TRIGGER - 1);
    await context.settled();
    expect(batches).toEqual([['s1', 's2', 's3']]);
    expect(shown(context)).toEqual(['s4', 's5']);
    expect(context.toContextString()).toMatch(/^Earlier: The first three parts are done\.\n\[s4\]/);
  });

  it('accepts a step while a summary is being generated (S-47)', async () => {
    const sentence = Promise.withResolvers<string>();
    const context = new RollingContext(() => sentence.promise);
    for (let n = 0; n < 7; n += 1) add(context, n);
    expect(shown(context)).toHaveLength(7);
    sentence.resolve('Long ago.');
    await context.settled();
    expect(context.toContextString()).toContain('Earlier: Long ago.');
    expect(shown(context).length).toBeLessThan(SUMMARIZE_TRIGGER);
  });

  it('keeps at most ten steps in full, however long the summary takes (S-06)', async () => {
    const sentence = Promise.withResolvers<string>();
    const context = new RollingContext(() => sentence.promise);
    for (let n = 0; n < STEP_LIMIT + 1; n += 1) add(context, n);
    expect(shown(context)).toHaveLength(STEP_LIMIT);
    expect(shown(context)[0]).toBe('s2');
    expect(context.toContextString()).toContain('1 earlier runs of steps are not remembered');
    sentence.resolve('Done.');
    await context.settled();
    expect(shown(context).at(-1)).toBe(`s${STEP_LIMIT + 1}`);
  });

  it('drops the oldest steps when they cannot be summarized (S-08)', async () => {
    const fails: ((entries: readonly StepEntry[]) => Promise<string>)[] = [
      async () => {
        throw new Error('no model');
      },
      () => {
        throw new Error('not even a promise');
      },
      async () => '  ',
    ];
    for (const summarize of fails) {
      const context = new RollingContext(summarize);
      for (let n = 0; n < SUMMARIZE_TRIGGER; n += 1) add(context, n);
      await context.settled();
      expect(shown(context)).toEqual(['s4', 's5']);
      expect(context.toContextString()).toContain(`${SUMMARIZE_BATCH} earlier runs`);
    }
  });

  it('adds steps, gives their text and counts consecutive failures (S-09)', () => {
    const context = new RollingContext(async () => 'x');
    expect(context.toContextString()).toBe('');
    add(context, 0, true);
    add(context, 1, true);
    expect(context.consecutiveFailures).toBe(2);
    expect(context.toContextString()).toContain('[s2] Do part 2: FAILED\nresult 2');
    add(context, 2);
    expect(context.consecutiveFailures).toBe(0);
  });

  it('keeps at most ten sentences', async () => {
    const context = new RollingContext(async () => 'One more.');
    for (let n = 0; n < 100; n += 1) {
      add(context, n);
      await context.settled();
    }
    expect(context.toContextString().match(/Earlier:/g)).toHaveLength(SUMMARY_LIMIT);
    expect(context.toContextString()).toMatch(/^\(\d+ earlier runs/);
  });
});
