/** The plan's panel in a real browser: what it shows of a plan, and its buttons. */
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { ApprovalRecord, PlanWait } from '../../../../../src/protocol/agent/approvals.ts';
import type { Plan } from '../../../../../src/protocol/agent/plan.ts';
import type { PlanAction, PlanAnswer } from '../../../../../src/protocol/agent/plan-store.ts';
import { pendingApproval } from '../../../../fakes/gateway/pending-approval.ts';
import type { FakeTurn } from '../../../../fakes/gateway/turn.ts';
import { plan, withStatus } from '../../../../fakes/gateway/shown-plans.ts';
import { WAIT } from '../browser/browser.ts';
import { describePageOnFakeGateway } from '../browser/describe-page.ts';
import { panelOf, readPanel } from './panel.ts';

const NARROW = { viewport: { width: 360, height: 740 }, colorScheme: 'dark' as const };
const RUNNING: Plan = withStatus(withStatus(plan(3, { mode: 'agentic' }), 0, 'done'), 1, 'running');

function approval(turn: FakeTurn, of: Plan, wait: PlanWait['wait']): ApprovalRecord {
  const id = `q-${wait}`;
  return {
    ...pendingApproval(turn, id, ''),
    callKey: id,
    toolCallId: id,
    tool: 'step 2',
    args: {},
    warning: wait === 'step' ? 'Now we mix the dough.' : 'The plan is paused before step 2.',
    plan: { id: of.id, stepId: 's1', wait },
  };
}

describePageOnFakeGateway("a plan's panel", (tab, fixture) => {
  beforeEach(() => fixture.open());

  const panel = () => tab.page.getByRole('group', { name: /^Plan/ });
  const button = (name: string) => panel().getByRole('button', { name, exact: true });
  const offered = (): Promise<string[]> => panel().getByRole('button').allInnerTexts();
  const offers = (...names: string[]): Promise<void> =>
    vi.waitFor(async () => expect(await offered()).toEqual(names), WAIT);
  const shows = (of: Plan): Promise<void> =>
    vi.waitFor(async () => expect(await readPanel(tab.page)).toEqual(panelOf(of)), WAIT);
  const focused = (): Promise<string> => tab.page.evaluate(() => document.activeElement?.textContent ?? '');

  async function follow(of: Plan): Promise<FakeTurn> {
    const turn = await fixture.ask('plan it');
    turn.follow(of);
    await shows(of);
    return turn;
  }
  /** The plan waits for a decision. */
  function waits(turn: FakeTurn, of: Plan, wait: PlanWait['wait']): void {
    fixture.api.gateway.pendingApprovals = [approval(turn, of, wait)];
    turn.emit({ type: 'approval_needed', approvalId: `q-${wait}` });
  }
  /** Records the button presses that reach the gateway; they are answered once `answer` resolves. */
  function recordPresses(): {
    actions: PlanAction[];
    steps: unknown[];
    answer: PromiseWithResolvers<PlanAnswer>;
  } {
    const actions: PlanAction[] = [];
    const steps: unknown[] = [];
    const answer = Promise.withResolvers<PlanAnswer>();
    fixture.api.gateway.actOnPlan = (_caller, _id, action, step) => {
      actions.push(action);
      steps.push(step);
      return answer.promise;
    };
    return { actions, steps, answer };
  }

  describe('shows', () => {
    it('why a step was changed, and how many corrections are left, with a warning when there are few (S-24, S-35)', async () => {
      const turn = await follow(RUNNING);
      expect(await panel().locator('.plan-budget').isVisible()).toBe(false);
      const changed = (corrections: number, revision: string): Plan => ({
        ...RUNNING,
        steps: RUNNING.steps.map((one) => (one.index === 1 ? { ...one, corrections, revision } : one)),
      });
      const once = changed(1, 'The <b>oven</b> was cold.');
      turn.emit({ type: 'plan_revised', plan: once, reason: 'The oven was cold.' });
      await shows(once);
      await panel().getByText('Corrections left: 9 of 10').waitFor();
      expect(await panel().locator('.plan-budget.few').count()).toBe(0);
      const often = changed(7, 'It is cold again.');
      turn.emit({ type: 'step_changed', step: often.steps[1]! });
      await shows(often);
      expect(await panel().locator('.plan-budget.few').innerText()).toBe('Corrections left: 3 of 10');
      turn.end();
    });

    it('why it was cancelled, even after a reload (S-36)', async () => {
      const turn = await follow(RUNNING);
      turn.emit({ type: 'plan_cancelled', reason: 'There is no oven here.' });
      const steps = RUNNING.steps.map((one) =>
        one.index === 1 ? { ...one, status: 'failed' as const } : one,
      );
      const cancelled: Plan = { ...RUNNING, steps, state: 'cancelled', reason: 'There is no oven here.' };
      turn.store(cancelled);
      turn.end();
      await shows(cancelled);
      await tab.page.reload();
      await shows(cancelled);
      expect(await offered()).toEqual([]);
    });

    it('the events that arrived while it was loading, not the older plan that was loaded (S-39)', async () => {
      const turn = await follow(RUNNING);
      const { gateway } = fixture.api;
      const read = gateway.plan.bind(gateway);
      const called = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      gateway.plan = async (caller, key) => {
        const answer = await read(caller, key);
        called.resolve();
        await released.promise;
        return answer;
      };
      turn.snapshot();
      await called.promise;
      const now = withStatus(RUNNING, 1, 'done');
      turn.store(now);
      turn.emit({ type: 'step_changed', step: now.steps[1]! });
      await shows(now);
      const answered = tab.page.waitForResponse((response) => response.url().endsWith('/plan'));
      released.resolve();
      await (await answered).finished();
      turn.say('Mixed.');
      await tab.page.locator('.md', { hasText: 'Mixed.' }).waitFor();
      expect(await readPanel(tab.page)).toEqual(panelOf(now));
      turn.end();
    });

    it('that the agent thinks about a failed step, to screen readers too, without moving the buttons (S-30, S-41, S-48)', async () => {
      const turn = await follow(RUNNING);
      const place = (): Promise<number> =>
        button('Stop').evaluate((stop) => stop.getBoundingClientRect().top);
      const before = await place();
      const failed = withStatus(RUNNING, 1, 'failed').steps[1]!;
      turn.emit({ type: 'step_changed', step: failed });
      turn.emit({ type: 'agent_thinking', step: failed });
      await panel().getByRole('status').getByText('Step 2 failed; thinking').waitFor();
      expect(await panel().locator('.step.analysed .step-mark svg').count()).toBe(1);
      expect(await place()).toBeCloseTo(before, 0);
      turn.end();
    });

    it('everything on 360 pixels in dark mode', async () => {
      await fixture.open(NARROW);
      const revision = 'The oven at the corner is cold today, so we ask the baker whether his is free.';
      const long = {
        corrections: 8,
        attempts: 3,
        revision,
        executor: { kind: 'tool', tool: 'x'.repeat(40) },
      } as const;
      const steps = RUNNING.steps.map((one) => (one.index === 1 ? { ...one, ...long } : one));
      const turn = await follow({ ...RUNNING, steps });
      turn.emit({ type: 'agent_thinking', step: { ...steps[1]!, status: 'failed' } });
      await offers('Pause', 'Skip step', 'Stop');
      await tab.screenshot('panel-narrow');
      const wider = await tab.page.evaluate(() => {
        const scroller = document.querySelector('#scroller');
        const inside = (scroller?.scrollWidth ?? 0) > (scroller?.clientWidth ?? 0);
        return inside || document.documentElement.scrollWidth > window.innerWidth;
      });
      expect(wider).toBe(false);
      turn.end();
    });
  });

  describe('has buttons', () => {
    it('for the actions that are possible now, and none once the plan has ended (S-02)', async () => {
      const turn = await follow(RUNNING);
      await offers('Pause', 'Skip step', 'Stop');
      turn.emit({ type: 'plan_paused' });
      await offers('Resume', 'Edit', 'Stop');
      expect(await button('Resume').isDisabled()).toBe(true);
      waits(turn, RUNNING, 'pause');
      await panel().getByText('The plan is paused before step 2.').waitFor();
      await vi.waitFor(async () => expect(await button('Resume').isDisabled()).toBe(false), WAIT);
      fixture.api.gateway.pendingApprovals = [];
      turn.emit({ type: 'approval_decided', approvalId: 'q-pause', decision: 'approved' });
      turn.emit({ type: 'plan_resumed' });
      await offers('Pause', 'Skip step', 'Stop');
      expect(await panel().getByText('is paused before').count()).toBe(0);
      turn.emit({ type: 'plan_completed' });
      await offers();
      turn.end();
    });

    it('only to stop a plan in planner mode', async () => {
      const turn = await follow({ ...RUNNING, mode: 'planner' });
      await offers('Stop');
      expect(await button('Stop').isDisabled()).toBe(false);
      turn.end();
    });

    it('to run a step that waits in teacher mode, with its explanation and without a separate approval card (S-02)', async () => {
      const teacher: Plan = { ...withStatus(plan(3), 0, 'done'), mode: 'teacher' };
      const turn = await follow(teacher);
      turn.store(teacher);
      waits(turn, teacher, 'step');
      await offers('Run', 'Skip step', 'Stop');
      await panel().getByText('Now we mix the dough.').waitFor();
      await panel().getByText('waiting for you').waitFor();
      await expect
        .poll(() => panel().locator('[aria-current=step]').allInnerTexts(), WAIT)
        .toEqual(['2. Do thing number 2']);
      expect(await tab.page.locator('.approval').count()).toBe(0);
      await tab.screenshot('panel-teacher');
      await tab.page.reload();
      await offers('Run', 'Skip step', 'Stop');
      const { actions, answer } = recordPresses();
      answer.resolve({ done: true, text: 'Running the step.' });
      await button('Run').click();
      await panel().getByText('Running the step.').waitFor();
      expect(actions).toEqual(['run']);
      turn.end();
    });

    it('for a plan, however many messages came after its turn', async () => {
      const teacher: Plan = { ...withStatus(plan(3), 0, 'done'), mode: 'teacher' };
      const turn = await follow(teacher);
      for (let n = 1; n <= 60; n += 1)
        fixture.api.gateway.commit(`http:${turn.message.chatId}`, `later-${n}`, 'user', `and ${n}`, false);
      fixture.api.gateway.pendingApprovals = [approval(turn, teacher, 'step')];
      await tab.page.reload();
      await offers('Run', 'Skip step', 'Stop');
      expect(await readPanel(tab.page)).toEqual(panelOf(teacher));
      turn.end();
    });

    it('that send one request however often they are pressed, until the plan has moved on', async () => {
      const turn = await follow(RUNNING);
      const { actions, steps, answer } = recordPresses();
      await button('Pause').dblclick();
      await button('Pause').press('Enter');
      await vi.waitFor(() => expect(actions).toEqual(['pause']), WAIT);
      expect(await button('Pause').isDisabled()).toBe(true);
      expect(await button('Stop').isDisabled()).toBe(false);
      answer.resolve({ done: true, text: 'The plan will pause before its next step.' });
      await panel().getByRole('status').getByText('will pause before its next step').waitFor();
      expect(await button('Pause').isDisabled()).toBe(true);
      await button('Pause').press('Enter');
      turn.emit({ type: 'step_changed', step: withStatus(RUNNING, 1, 'done').steps[1]! });
      await vi.waitFor(async () => expect(await button('Pause').isDisabled()).toBe(false), WAIT);
      expect(await panel().getByText('will pause before its next step').count()).toBe(0);
      expect(actions).toEqual(['pause']);
      await button('Skip step').click();
      await vi.waitFor(() => expect(steps).toEqual(['s1', 's2']), WAIT);
      turn.end();
    });

    it('that show why a press was refused, and can be pressed again', async () => {
      const turn = await follow(RUNNING);
      const { actions, answer } = recordPresses();
      answer.resolve({ done: false, text: 'The plan waits already.' });
      await button('Pause').click();
      await panel().getByText('The plan waits already.').waitFor();
      expect(await button('Pause').isDisabled()).toBe(false);
      await button('Pause').click();
      await vi.waitFor(() => expect(actions).toEqual(['pause', 'pause']), WAIT);
      turn.end();
    });

    it('that keep the keyboard focus across every redraw', async () => {
      const turn = await follow(RUNNING);
      recordPresses().answer.resolve({ done: true, text: 'The plan will pause before its next step.' });
      await button('Skip step').focus();
      turn.emit({ type: 'step_changed', step: withStatus(RUNNING, 1, 'failed').steps[1]! });
      await panel().getByRole('img', { name: 'failed' }).waitFor();
      expect(await focused()).toBe('Skip step');
      await button('Pause').focus();
      await tab.page.keyboard.press('Enter');
      await panel().getByText('will pause before its next step').waitFor();
      expect(await focused()).toBe('Pause');
      turn.emit({ type: 'plan_paused' });
      await offers('Resume', 'Edit', 'Stop');
      expect(await focused()).toBe('Resume');
      turn.emit({ type: 'plan_cancelled', reason: 'Stopped.' });
      await offers();
      expect(await panel().evaluate((region) => region === document.activeElement)).toBe(true);
      turn.end();
    });
  });
});
