/** The plan's panel in a real browser: what it tells of a plan, and the buttons with which people act on it. */
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { ApprovalRecord, PlanWait } from '../../src/contracts/approvals.ts';
import type { Plan } from '../../src/contracts/plan.ts';
import type { PlanAction, PlanAnswer } from '../../src/contracts/plan-store.ts';
import type { FakeTurn } from '../fakes/gateway/turn.ts';
import { plan, withStatus } from '../fakes/gateway/shown-plans.ts';
import { WAIT } from './browser.ts';
import { describeEntrance } from './describe-page.ts';
import { panelOf, readPanel } from './panel.ts';

const NARROW = { viewport: { width: 360, height: 740 }, colorScheme: 'dark' as const };
const RUNNING: Plan = withStatus(withStatus(plan(3, { mode: 'agentic' }), 0, 'done'), 1, 'running');

function question(turn: FakeTurn, of: Plan, wait: PlanWait['wait']): ApprovalRecord {
  const session = `http:${turn.message.chatId}` as const;
  const id = `q-${wait}`;
  return {
    id,
    session,
    address: session,
    turnId: turn.id,
    callKey: id,
    toolCallId: id,
    tool: 'step 2',
    args: {},
    digest: 'd',
    warning: wait === 'step' ? 'Now we mix the dough.' : 'The plan is paused before step 2.',
    userId: 'token:admin',
    state: 'pending',
    createdAt: new Date(),
    expiresAt: new Date(Date.now() + 3_600_000),
    expired: false,
    plan: { id: of.id, stepId: 's1', wait },
  };
}

describeEntrance("a plan's panel", (guest, at) => {
  beforeEach(() => at.enter());

  const panel = () => guest.page.getByRole('region', { name: 'Plan' });
  const button = (name: string) => panel().getByRole('button', { name, exact: true });
  const offered = (): Promise<string[]> => panel().getByRole('button').allInnerTexts();
  const offers = (...names: string[]): Promise<void> =>
    vi.waitFor(async () => expect(await offered()).toEqual(names), WAIT);
  const shows = (of: Plan): Promise<void> =>
    vi.waitFor(async () => expect(await readPanel(guest.page)).toEqual(panelOf(of)), WAIT);
  const focused = (): Promise<string> => guest.page.evaluate(() => document.activeElement?.textContent ?? '');

  async function follow(of: Plan): Promise<FakeTurn> {
    const turn = await at.ask('plan it');
    turn.follow(of);
    await shows(of);
    return turn;
  }
  /** The plan waits for a person. */
  function waits(turn: FakeTurn, of: Plan, wait: PlanWait['wait']): void {
    at.api.gateway.waiting = [question(turn, of, wait)];
    turn.emit({ type: 'approval_needed', approvalId: `q-${wait}` });
  }
  /** The gateway takes every press down, and answers it when the test says so. */
  function presses(): { taken: PlanAction[]; steps: unknown[]; answer: PromiseWithResolvers<PlanAnswer> } {
    const taken: PlanAction[] = [];
    const steps: unknown[] = [];
    const answer = Promise.withResolvers<PlanAnswer>();
    at.api.gateway.actOnPlan = (_caller, _id, action, step) => {
      taken.push(action);
      steps.push(step);
      return answer.promise;
    };
    return { taken, steps, answer };
  }

  describe('tells', () => {
    it('why a step was changed and how many corrections are left, few of them as a warning (S-24, S-35)', async () => {
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

    it('why it was given up, also after a reload (S-36)', async () => {
      const turn = await follow(RUNNING);
      turn.emit({ type: 'plan_cancelled', reason: 'There is no oven here.' });
      const steps = RUNNING.steps.map((one) =>
        one.index === 1 ? { ...one, status: 'failed' as const } : one,
      );
      const cancelled: Plan = { ...RUNNING, steps, state: 'cancelled', reason: 'There is no oven here.' };
      turn.store(cancelled);
      turn.end();
      await shows(cancelled);
      await guest.page.reload();
      await shows(cancelled);
      expect(await offered()).toEqual([]);
    });

    it('what events told while it was read anew, not the older plan that was read (S-39)', async () => {
      const turn = await follow(RUNNING);
      const { gateway } = at.api;
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
      const answered = guest.page.waitForResponse((response) => response.url().endsWith('/plan'));
      released.resolve();
      await (await answered).finished();
      turn.say('Mixed.');
      await guest.page.locator('.md', { hasText: 'Mixed.' }).waitFor();
      expect(await readPanel(guest.page)).toEqual(panelOf(now));
      turn.end();
    });

    it('what is thought about, to those who listen too, and nothing jumps when it begins (S-30, S-41, S-48)', async () => {
      const turn = await follow(RUNNING);
      const place = (): Promise<number> =>
        button('Stop').evaluate((stop) => stop.getBoundingClientRect().top);
      const before = await place();
      const failed = withStatus(RUNNING, 1, 'failed').steps[1]!;
      turn.emit({ type: 'step_changed', step: failed });
      turn.emit({ type: 'agent_thinking', step: failed });
      await panel().getByRole('status').getByText('Step 2 failed; thinking about').waitFor();
      expect(await panel().locator('.step.analysed .step-mark svg').count()).toBe(1);
      expect(await place()).toBeCloseTo(before, 0);
      turn.end();
    });

    it('all of it on 360 pixels in the dark', async () => {
      await at.enter(NARROW);
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
      await guest.look('panel-narrow');
      const wider = await guest.page.evaluate(() => {
        const scroller = document.querySelector('#scroller');
        const inside = (scroller?.scrollWidth ?? 0) > (scroller?.clientWidth ?? 0);
        return inside || document.documentElement.scrollWidth > window.innerWidth;
      });
      expect(wider).toBe(false);
      turn.end();
    });
  });

  describe('has buttons', () => {
    it('for what works at each moment, and none when it is over (S-02)', async () => {
      const turn = await follow(RUNNING);
      await offers('Pause', 'Skip step', 'Stop');
      turn.emit({ type: 'plan_paused' });
      await offers('Resume', 'Stop');
      expect(await button('Resume').isDisabled()).toBe(true);
      waits(turn, RUNNING, 'pause');
      await panel().getByText('The plan is paused before step 2.').waitFor();
      await vi.waitFor(async () => expect(await button('Resume').isDisabled()).toBe(false), WAIT);
      at.api.gateway.waiting = [];
      turn.emit({ type: 'approval_decided', approvalId: 'q-pause', decision: 'approved' });
      turn.emit({ type: 'plan_resumed' });
      await offers('Pause', 'Skip step', 'Stop');
      expect(await panel().getByText('is paused before').count()).toBe(0);
      turn.emit({ type: 'plan_completed' });
      await offers();
      turn.end();
    });

    it('only to stop a plan that the answer follows by itself', async () => {
      const turn = await follow({ ...RUNNING, mode: 'planner' });
      await offers('Stop');
      expect(await button('Stop').isDisabled()).toBe(false);
      turn.end();
    });

    it('to let a step run that waits in teacher mode, with its explanation and no second question (S-02)', async () => {
      const teacher: Plan = { ...withStatus(plan(3), 0, 'done'), mode: 'teacher' };
      const turn = await follow(teacher);
      turn.store(teacher);
      waits(turn, teacher, 'step');
      await offers('Run', 'Skip step', 'Stop');
      await panel().getByText('Now we mix the dough.').waitFor();
      await panel().getByText('waits for you').waitFor();
      expect(await panel().locator('[aria-current=step]').allInnerTexts()).toEqual(['2. Do thing number 2']);
      expect(await guest.page.locator('.approval').count()).toBe(0);
      await guest.look('panel-teacher');
      await guest.page.reload();
      await offers('Run', 'Skip step', 'Stop');
      const { taken, answer } = presses();
      answer.resolve({ done: true, text: 'The step runs.' });
      await button('Run').click();
      await panel().getByText('The step runs.').waitFor();
      expect(taken).toEqual(['run']);
      turn.end();
    });

    it('whose plan is shown, however many messages wait behind its turn', async () => {
      const teacher: Plan = { ...withStatus(plan(3), 0, 'done'), mode: 'teacher' };
      const turn = await follow(teacher);
      for (let n = 1; n <= 60; n += 1)
        at.api.gateway.commit(`http:${turn.message.chatId}`, `later-${n}`, 'user', `and ${n}`, false);
      at.api.gateway.waiting = [question(turn, teacher, 'step')];
      await guest.page.reload();
      await offers('Run', 'Skip step', 'Stop');
      expect(await readPanel(guest.page)).toEqual(panelOf(teacher));
      turn.end();
    });

    it('that ask once, however often they are pressed, until the plan has moved on', async () => {
      const turn = await follow(RUNNING);
      const { taken, steps, answer } = presses();
      await button('Pause').dblclick();
      await button('Pause').press('Enter');
      await vi.waitFor(() => expect(taken).toEqual(['pause']), WAIT);
      expect(await button('Pause').isDisabled()).toBe(true);
      expect(await button('Stop').isDisabled()).toBe(false);
      answer.resolve({ done: true, text: 'The plan pauses before its next step.' });
      await panel().getByRole('status').getByText('pauses before its next step').waitFor();
      expect(await button('Pause').isDisabled()).toBe(true);
      await button('Pause').press('Enter');
      turn.emit({ type: 'step_changed', step: withStatus(RUNNING, 1, 'done').steps[1]! });
      await vi.waitFor(async () => expect(await button('Pause').isDisabled()).toBe(false), WAIT);
      expect(await panel().getByText('pauses before its next step').count()).toBe(0);
      expect(taken).toEqual(['pause']);
      await button('Skip step').click();
      await vi.waitFor(() => expect(steps).toEqual(['s1', 's2']), WAIT);
      turn.end();
    });

    it('that say why a press was refused, and can be pressed again', async () => {
      const turn = await follow(RUNNING);
      const { taken, answer } = presses();
      answer.resolve({ done: false, text: 'The plan waits already.' });
      await button('Pause').click();
      await panel().getByText('The plan waits already.').waitFor();
      expect(await button('Pause').isDisabled()).toBe(false);
      await button('Pause').click();
      await vi.waitFor(() => expect(taken).toEqual(['pause', 'pause']), WAIT);
      turn.end();
    });

    it('that keep whoever stands on them with the keyboard, through every redraw', async () => {
      const turn = await follow(RUNNING);
      presses().answer.resolve({ done: true, text: 'The plan pauses before its next step.' });
      await button('Skip step').focus();
      turn.emit({ type: 'step_changed', step: withStatus(RUNNING, 1, 'failed').steps[1]! });
      await panel().getByRole('img', { name: 'failed' }).waitFor();
      expect(await focused()).toBe('Skip step');
      await button('Pause').focus();
      await guest.page.keyboard.press('Enter');
      await panel().getByText('pauses before its next step').waitFor();
      expect(await focused()).toBe('Pause');
      turn.emit({ type: 'plan_paused' });
      await offers('Resume', 'Stop');
      expect(await focused()).toBe('Resume');
      turn.emit({ type: 'plan_cancelled', reason: 'Stopped.' });
      await offers();
      expect(await panel().evaluate((region) => region === document.activeElement)).toBe(true);
      turn.end();
    });
  });
});
