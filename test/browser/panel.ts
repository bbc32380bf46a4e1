/** The plan's panel as people read it, and as it has to be for a plan that is stored. */
import type { Page } from 'playwright-core';
import { correctionsLeft, MAX_CORRECTIONS } from '../../src/contracts/plan.ts';
import type { Plan, PlanStep } from '../../src/contracts/plan.ts';

/** One row of a panel. */
export interface ShownStep {
  words: string;
  mark: string;
  attempts: number;
  /** The tool or the profile that carries it out; '' when the agent does. */
  by: string;
  revision: string;
}

/** All of a panel that its plan decides; what passes is not in it. */
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

/** How the panel of this plan has to look. */
export function panelOf(plan: Plan): ShownPlan {
  const behind = plan.steps.filter(({ status }) => status === 'done' || status === 'skipped').length;
  const left = correctionsLeft(plan);
  return {
    goal: plan.goal,
    state: plan.state,
    count: `${behind} of ${plan.steps.length}`,
    steps: plan.steps.map(({ index, description, status, attempts, executor, revision = '' }) => ({
      words: `${index + 1}. ${description}`,
      mark: MARKS[status],
      attempts: Math.max(1, attempts),
      by: executor.kind === 'tool' ? executor.tool : executor.kind === 'agent' ? executor.profileId : '',
      revision,
    })),
    budget: left === MAX_CORRECTIONS ? '' : `Corrections left: ${left} of ${MAX_CORRECTIONS}`,
    reason: plan.state === 'cancelled' ? (plan.reason ?? '') : '',
  };
}

/** The newest panel on the page, as it is read. Throws when there is none. */
export function readPanel(page: Page): Promise<ShownPlan> {
  return page.locator('.plan').last().evaluate(panelIn);
}

/** Every panel that was seen since `recordPanels`, oldest first, each once as long as it stayed the same. */
export function recordedPanels(page: Page): Promise<ShownPlan[]> {
  return page.evaluate<ShownPlan[]>('window.seen');
}

/** From now on the page writes down how its panel looks after each event that changes it. */
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

/** Reads one panel; it runs in the page and so needs nothing from outside. */
function panelIn(panel: Element): ShownPlan {
  const textOf = (of: Element, selector: string): string => of.querySelector(selector)?.textContent ?? '';
  const state = panel.classList;
  return {
    goal: textOf(panel, '.plan-goal'),
    state: ['running', 'paused', 'completed', 'cancelled'].find((one) => state.contains(one)) ?? '',
    count: textOf(panel, '.plan-count'),
    steps: [...panel.querySelectorAll('.step')].map((row) => ({
      words: textOf(row, '.step-words'),
      mark: row.querySelector('.step-mark')?.getAttribute('aria-label') ?? '',
      attempts: Number(/\d+/.exec(textOf(row, '.step-attempts'))?.[0] ?? 1),
      by: textOf(row, '.step-by'),
      revision: textOf(row, '.step-revision'),
    })),
    budget: textOf(panel, '.plan-budget'),
    reason: state.contains('cancelled') ? textOf(panel, '.plan-note') : '',
  };
}
