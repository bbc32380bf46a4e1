/** The plan's panel as read from the page, and as it must look for a stored plan. */
import type { Page } from 'playwright-core';
import {
  correctionsLeft,
  MAX_CORRECTIONS,
  type Plan,
  type PlanStep,
} from '../../../../../src/protocol/agent/plan.ts';

/** One row of a panel. */
export interface ShownStep {
  description: string;
  mark: string;
  attempts: number;
  /** The tool or the profile that runs it; '' if the agent does it itself. */
  executor: string;
  revision: string;
}

/** What the panel shows of a stored plan; transient notes are left out. */
export interface ShownPlan {
  goal: string;
  state: string;
  count: string;
  steps: ShownStep[];
  budget: string;
  reason: string;
}

const MARKS: Record<PlanStep['status'], string> = {
  pending: 'to do',
  running: 'running',
  done: 'done',
  failed: 'failed',
  skipped: 'skipped',
};

/** How the panel must look for this plan. */
export function panelOf(plan: Plan): ShownPlan {
  const finished = plan.steps.filter(({ status }) => status === 'done' || status === 'skipped').length;
  const left = correctionsLeft(plan);
  return {
    goal: plan.goal,
    state: plan.state,
    count: `${finished} of ${plan.steps.length}`,
    steps: plan.steps.map(({ index, description, status, attempts, executor, revision = '' }) => ({
      description: `${index + 1}. ${description}`,
      mark: MARKS[status],
      attempts: Math.max(1, attempts),
      executor:
        executor.kind === 'tool' ? executor.tool : executor.kind === 'agent' ? executor.profileId : '',
      revision,
    })),
    budget: left === MAX_CORRECTIONS ? '' : `Corrections left: ${left} of ${MAX_CORRECTIONS}`,
    reason: plan.state === 'cancelled' ? (plan.reason ?? '') : '',
  };
}

/** The newest panel on the page. Throws when there is none. */
export function readPanel(page: Page): Promise<ShownPlan> {
  return page.locator('.plan').last().evaluate(panelIn);
}

/** The panels shown since `recordPanels`, oldest first, without repeats. */
export function recordedPanels(page: Page): Promise<ShownPlan[]> {
  return page.evaluate<ShownPlan[]>('window.seen');
}

/** From now on the page records how its panel looks after each change. */
export async function recordPanels(page: Page): Promise<void> {
  await page.evaluate(`{
    const panelIn = ${panelIn.toString()};
    const seen = [];
    window.seen = seen;
    new MutationObserver(() => {
      const panel = [...document.querySelectorAll('.plan')].at(-1);
      if (panel === undefined || panel.querySelector('.plan-goal') === null) return;
      const shown = panelIn(panel);
      if (JSON.stringify(shown) !== JSON.stringify(seen.at(-1))) seen.push(shown);
    }).observe(document.getElementById('transcript'), {
      subtree: true, childList: true, characterData: true, attributes: true,
    });
  }`);
}

/** Reads one panel. It runs in the page, so it cannot use anything from this module. */
function panelIn(panel: Element): ShownPlan {
  const textOf = (of: Element, selector: string): string => of.querySelector(selector)?.textContent ?? '';
  const state = panel.classList;
  return {
    goal: textOf(panel, '.plan-goal'),
    state: ['running', 'paused', 'completed', 'cancelled'].find((one) => state.contains(one)) ?? '',
    count: textOf(panel, '.plan-count'),
    steps: [...panel.querySelectorAll('.step')].map((row) => ({
      description: textOf(row, '.step-text'),
      mark: row.querySelector('.step-mark')?.getAttribute('aria-label') ?? '',
      attempts: Number(/\d+/.exec(textOf(row, '.step-attempts'))?.[0] ?? 1),
      executor: textOf(row, '.step-by'),
      revision: textOf(row, '.step-revision'),
    })),
    budget: textOf(panel, '.plan-budget'),
    reason: state.contains('cancelled') ? textOf(panel, '.plan-note') : '',
  };
}
