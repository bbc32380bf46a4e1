/** A plan as one message: its content, and that it always fits. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { render as renderDiscord } from '../../channels/discord/render.ts';
import { renderTelegram } from '../../channels/telegram/render.ts';
import { MAX_ADDED_STEPS } from '../../src/protocol/agent/plan-edits.ts';
import { renderPlan, STEP_MARKS } from '../../src/delivery/render-plan.ts';
import { cancelPlan, MAX_PLAN_STEPS, type PlanStep } from '../../src/protocol/agent/plan.ts';
import { plan, step } from '../fakes/gateway/shown-plans.ts';

const targets = [
  ['telegram', { render: renderTelegram, maxLength: 4_096 }],
  ['discord', { render: renderDiscord, maxLength: 2_000 }],
] as const;

describe('the rendered plan', () => {
  it.each(targets)('shows goal, steps, their states, executors and attempts on %s (N-26)', (_, target) => {
    const steps: PlanStep[] = [
      step(0, { status: 'done', executor: { kind: 'tool', tool: 'web_search' } }),
      step(1, { status: 'failed', executor: { kind: 'agent', profileId: 'researcher' }, attempts: 2 }),
      step(2, { status: 'skipped' }),
      step(3, { status: 'running', attempts: 1, corrections: 3, revision: 'The first page was\nempty.' }),
      step(4),
    ];
    expect(renderPlan(plan(steps), target, 'Retrying step 4.').plain).toBe(
      [
        'Plan: Plan a trip to Lisbon',
        '2 of 5 steps done',
        '',
        '✔ 1. Do thing number 1 — web_search',
        '✖ 2. Do thing number 2 — ◆ researcher · attempt 2',
        '↷ 3. Do thing number 3',
        '▶ 4. Do thing number 4',
        '↳ The first page was empty.',
        '☐ 5. Do thing number 5',
        '',
        'Corrections left: 7 of 10',
        'Retrying step 4.',
      ].join('\n'),
    );
  });

  it.each(targets)('fits a message of %s, however long the plan and whatever its text', (_, target) => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 900 }),
      fc.stringMatching(/^[*_~`|<>&[\]()#\\ ]{0,900}$/),
      fc.constant('```\n# **x** [a](javascript:alert(1)) <b>&amp;'.repeat(20)),
    );
    const statuses = fc.constantFrom(...(Object.keys(STEP_MARKS) as PlanStep['status'][]));
    const why = fc.option(text, { nil: undefined });
    const facts = { description: text, status: statuses, revision: why, corrections: fc.nat(1) };
    const steps = fc.array(fc.record(facts), { maxLength: MAX_PLAN_STEPS + MAX_ADDED_STEPS });
    fc.assert(
      fc.property(steps, text, why, why, (list, goal, reason, note) => {
        const made = plan(
          list.map((one, index) =>
            step(index, { ...one, executor: { kind: 'tool', tool: one.description } }),
          ),
          { goal, reason },
        );
        const page = renderPlan(made, target, note);
        expect(page.length).toBeLessThanOrEqual(target.maxLength);
        expect(page.plain).toContain('Plan: ');
      }),
      { numRuns: 60 },
    );
  });

  it.each(targets)(
    'contains every step of the longest possible plan on %s, each with long text',
    (_, target) => {
      const long = 'so many words about one thing '.repeat(30);
      const steps = Array.from({ length: MAX_PLAN_STEPS + MAX_ADDED_STEPS }, (__, index) =>
        step(index, { description: long, revision: long, status: 'failed', attempts: 3 }),
      );
      const page = renderPlan(cancelPlan(plan(steps, { goal: long }), 'Nothing helped.'), target, long);
      expect(page.length).toBeLessThanOrEqual(target.maxLength);
      expect(page.plain.match(/✖ \d+\. so many/g)).toHaveLength(steps.length);
      expect(page.plain).toContain('Nothing helped.');
    },
  );

  it.each([0, 200])('shows a plan of %i steps in one message', (count) => {
    for (const [, target] of targets) {
      const page = renderPlan(plan(count), target);
      expect(page.length).toBeLessThanOrEqual(target.maxLength);
      expect(page.plain).toContain(`0 of ${count} steps done`);
    }
  });
});
