/** The buttons of a plan's panel on the whole gateway: each press shows on the panel, in the store, and in the next model call. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Plan } from '../../../../../src/protocol/agent/plan.ts';
import type { GatewayFixture } from '../../../../flows/setup.ts';
import { describePage } from '../browser/describe-page.ts';
import { openPlanGateway, PlannedTurn } from './plan-setup.ts';

describePage("the buttons of a plan's panel", (tab) => {
  let gateway: GatewayFixture;
  beforeAll(async () => {
    gateway = await openPlanGateway();
  });
  afterAll(() => gateway.close());

  const panel = () => tab.page.getByRole('group', { name: /^Plan/ });
  const press = (name: string): Promise<void> => panel().getByRole('button', { name, exact: true }).click();
  const reads = (text: string): Promise<void> => panel().getByText(text).first().waitFor();
  const statuses = ({ steps }: Plan): string[] => steps.map(({ status }) => status);
  const begin = (tag: string, mode: 'agentic' | 'teacher', ...answers: string[]): Promise<PlannedTurn> =>
    PlannedTurn.begin(gateway, tab, tag, mode, ...answers);

  it('pause a plan before its next step and resume it, with a reload between (S-02)', async () => {
    const turn = await begin('pause', 'agentic', 'Sifted.', 'Kneaded.', 'Baked.', 'Eat.');
    const { call } = await turn.nextCall();
    await press('Pause');
    await reads('The plan will pause before its next step.');
    call.release();
    await reads('The plan is paused before step 2.');
    const paused = await turn.shownPlan();
    expect([paused.state, ...statuses(paused)]).toEqual(['paused', 'done', 'pending', 'pending']);
    await tab.screenshot('paused');
    await turn.reload();
    await reads('The plan is paused before step 2.');
    await press('Resume');
    await turn.releaseCalls(3);
    expect(statuses(await turn.finish())).toEqual(['done', 'done', 'done']);
  });

  it('skip the running step if it fails, without a correction (S-28)', async () => {
    const turn = await begin('skip', 'agentic', 'FAILED: no sieve.', 'Kneaded.', 'Baked.', 'Eat.');
    const { call, plan: shown } = await turn.nextCall();
    const late = await gateway.call(`/v1/plans/${shown.id}/skip?step=${shown.steps[1]?.id}`, {
      method: 'POST',
    });
    expect([late.status, await late.text()]).toEqual([409, expect.stringContaining('at another step now')]);
    await press('Skip step');
    await reads('Step 1 is running. If it fails, it is skipped and not repaired.');
    call.release();
    await turn.releaseCalls(3);
    const plan = await turn.finish();
    expect(statuses(plan)).toEqual(['skipped', 'done', 'done']);
    expect(plan.steps[0]?.corrections).toBe(0);
  });

  it('stop a plan in the middle of a step: the model call is closed and the buttons disappear (N-58)', async () => {
    const turn = await begin('stop', 'agentic', 'Sifted.', 'Kneaded.');
    await turn.releaseCalls(1);
    const { call } = await turn.nextCall();
    await press('Stop');
    expect((await call.closed).by).toBe('client');
    const plan = await turn.finish();
    expect([plan.state, ...statuses(plan)]).toEqual(['cancelled', 'done', 'failed', 'pending']);
    expect(await panel().getByRole('button').count()).toBe(0);
  });

  it('stop a plan that is paused', async () => {
    const turn = await begin('stop-paused', 'agentic', 'Sifted.', 'Kneaded.');
    const { call } = await turn.nextCall();
    await press('Pause');
    await reads('The plan will pause before its next step.');
    call.release();
    await reads('The plan is paused before step 2.');
    await press('Stop');
    const plan = await turn.finish();
    expect([plan.state, ...statuses(plan)]).toEqual(['cancelled', 'done', 'pending', 'pending']);
  });

  it('run or skip each step in teacher mode after its explanation (S-02, S-40)', async () => {
    const answers = [
      'First we sift.',
      'Sifted.',
      'Then we knead.',
      'Last we bake.',
      'Baked.',
      'We learned it.',
    ];
    const turn = await begin('teacher', 'teacher', ...answers);
    await turn.releaseCalls(1);
    await reads('First we sift.');
    await reads('waiting for you');
    await tab.screenshot('teacher');
    await press('Run');
    await turn.releaseCalls(2);
    await reads('Then we knead.');
    await turn.reload();
    await reads('Then we knead.');
    await press('Skip step');
    await turn.releaseCalls(1);
    await reads('Last we bake.');
    await press('Run');
    await turn.releaseCalls(2);
    expect(statuses(await turn.finish())).toEqual(['done', 'skipped', 'done']);
  });
});
