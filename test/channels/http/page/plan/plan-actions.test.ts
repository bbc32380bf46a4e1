/** Corrections of a failed step on the page of the whole gateway: after every event the panel shows the stored plan. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Plan } from '../../../../../src/protocol/agent/plan.ts';
import type { GatewayFixture } from '../../../../flows/setup.ts';
import { describePage } from '../browser/describe-page.ts';
import { openPlanGateway, PlannedTurn } from './plan-setup.ts';

const FAILED = 'FAILED: the bowl is on the floor.';

describePage('a plan whose second step fails', (tab) => {
  let gateway: GatewayFixture;
  beforeAll(async () => {
    gateway = await openPlanGateway();
  });
  afterAll(() => gateway.close());

  const statuses = ({ steps }: Plan): string[] => steps.map(({ status }) => status);
  const revisions = ({ steps }: Plan): (string | undefined)[] => steps.map(({ revision }) => revision);
  const thinkingNote = () =>
    tab.page.locator('.plan-note', { hasText: 'Step 2 failed; thinking about what to do…' });

  /** Runs a plan until its second step has failed and the model is asked for a correction, and reloads the page there. */
  async function failSecondStep(tag: string, correction: object, ...rest: string[]): Promise<PlannedTurn> {
    const turn = await PlannedTurn.begin(
      gateway,
      tab,
      tag,
      'agentic',
      'The flour is sifted.',
      FAILED,
      JSON.stringify(correction),
      ...rest,
    );
    await turn.releaseCalls(2);
    const { call, plan } = await turn.nextCall();
    expect(statuses(plan)).toEqual(['done', 'failed', 'pending']);
    await thinkingNote().waitFor();
    expect(await tab.page.locator('.plan.recovering .step.analysed').count()).toBe(1);
    await tab.screenshot(`${tag}-thinking`);
    await turn.reload();
    await thinkingNote().waitFor();
    call.release();
    return turn;
  }

  it('retries it (S-25)', async () => {
    const reason = 'The bowl only slipped.';
    const turn = await failSecondStep('retry', { action: 'retry', reason }, 'Kneaded.', 'Baked.', 'Eat.');
    const { call, plan } = await turn.nextCall();
    expect(plan.steps[1]).toMatchObject({ status: 'running', attempts: 2, corrections: 1, revision: reason });
    await tab.page.locator('.plan-note', { hasText: 'Retrying step 2.' }).waitFor();
    await tab.screenshot('retry');
    call.release();
    await turn.releaseCalls(2);
    expect(statuses(await turn.finish())).toEqual(['done', 'done', 'done']);
  });

  it('replaces it (S-26)', async () => {
    const reason = 'We look first where the bowl is.';
    const command = { tool: 'list_dir', args: { path: '.' } };
    const turn = await failSecondStep('modify', { action: 'modify', reason, command }, 'Baked.', 'Eat.');
    const { call, plan } = await turn.nextCall();
    expect(plan.steps[1]).toMatchObject({ executor: { tool: 'list_dir' }, status: 'done', revision: reason });
    await tab.screenshot('modify');
    call.release();
    await turn.releaseCalls(1);
    expect((await turn.finish()).state).toBe('completed');
  });

  it('inserts steps before it (S-27)', async () => {
    const reason = 'Without a bowl there is no dough.';
    const newSteps = [
      { description: 'Pick the bowl up', self: true },
      { description: 'Wash it', self: true },
    ];
    const correction = { action: 'insert_steps', reason, newSteps };
    const turn = await failSecondStep(
      'insert_steps',
      correction,
      'Up.',
      'Washed.',
      'Kneaded.',
      'Baked.',
      'Eat.',
    );
    const { call, plan } = await turn.nextCall();
    expect(statuses(plan)).toEqual(['done', 'running', 'pending', 'pending', 'pending']);
    expect(revisions(plan)).toEqual([undefined, reason, reason, undefined, undefined]);
    await tab.screenshot('insert_steps');
    call.release();
    await turn.releaseCalls(4);
    expect((await turn.finish()).steps).toHaveLength(5);
  });

  it('skips it (S-28)', async () => {
    const reason = 'Flat bread needs no kneading.';
    const turn = await failSecondStep('skip', { action: 'skip', reason }, 'Baked.', 'Eat.');
    const { call, plan } = await turn.nextCall();
    expect(plan.steps[1]).toMatchObject({ status: 'skipped', revision: reason, corrections: 1 });
    await tab.screenshot('skip');
    call.release();
    await turn.releaseCalls(1);
    expect(statuses(await turn.finish())).toEqual(['done', 'skipped', 'done']);
  });

  it('is cancelled with a reason (S-29)', async () => {
    const reason = 'There is no other bowl in the kitchen.';
    const turn = await failSecondStep('abort', { action: 'abort', reason }, 'There will be no bread.');
    const { call, plan } = await turn.nextCall();
    expect(plan).toMatchObject({ state: 'cancelled', reason });
    await tab.screenshot('abort');
    call.release();
    expect(statuses(await turn.finish())).toEqual(['done', 'failed', 'pending']);
  });
});
