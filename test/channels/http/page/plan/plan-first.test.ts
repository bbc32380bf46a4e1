/** A plan that is made before it runs, on the page: changed with the keyboard, run with a button, run again. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { type GatewayFixture, openGatewayFixture, OWNER } from '../../../../flows/setup.ts';
import { WAIT } from '../browser/browser.ts';
import { describePage } from '../browser/describe-page.ts';

describePage('a plan before it runs', (tab) => {
  let gateway: GatewayFixture;
  beforeAll(async () => {
    gateway = await openGatewayFixture();
  });
  afterAll(() => gateway.close());

  const panel = () => tab.page.locator('.plan').first();
  const shownSteps = () => panel().locator('.step-text').allTextContents();
  const shows = (...steps: string[]) =>
    vi.waitFor(async () => expect(await shownSteps()).toEqual(steps), WAIT);
  const stored = async () => (await gateway.store.plans.plans('http:kept', 5))[0]?.record.plan;

  it('is changed with the keyboard, refuses a change of an old version, and runs', async () => {
    gateway.ollama.answer('Two steps.\nREFLECT: no', { when: 'clean the attic' });
    gateway.ollama.answer('Steps\n1. [SELF] Sweep\n2. [SELF] Mop', { when: 'clean the attic' });
    await tab.open(`${gateway.gateway.url}/#http:kept`, { token: OWNER });
    await tab.page.locator('#composer textarea, textarea').first().fill('/plan clean the attic');
    await tab.page.keyboard.press('Enter');
    await panel().getByText('not started').waitFor();
    await shows('1. Sweep', '2. Mop');
    expect((await stored())?.state).toBe('stored');

    await panel().getByRole('button', { name: 'Edit', exact: true }).focus();
    await tab.page.keyboard.press('Enter');
    await panel().getByLabel('Move step 1 down').focus();
    await tab.page.keyboard.press('Enter');
    await shows('1. Mop', '2. Sweep');
    await panel().getByLabel('Text of step 2').fill('Sweep the floor');
    await tab.page.keyboard.press('Enter');
    await shows('1. Mop', '2. Sweep the floor');
    await panel().getByLabel('New step').fill('Open the window');
    await tab.page.keyboard.press('Enter');
    await shows('1. Mop', '2. Sweep the floor', '3. Open the window');
    await panel().getByLabel('Drop step 1').press('Enter');
    await shows('1. Sweep the floor', '2. Open the window');
    await tab.screenshot('plan-first-edited');

    // Someone else changes it, and this page learns of it through the event.
    const before = await stored();
    const json = { version: before?.version, edits: [{ op: 'add', description: 'Turn the light off' }] };
    const changed = await gateway.call(`/v1/plans/${before?.id}`, { method: 'PATCH', json });
    expect(changed.status).toBe(200);
    await shows('1. Sweep the floor', '2. Open the window', '3. Turn the light off');
    expect((await gateway.call(`/v1/plans/${before?.id}`, { method: 'PATCH', json })).status).toBe(409);

    await panel().getByRole('button', { name: 'Run', exact: true }).press('Enter');
    const run = tab.page.locator('.plan').last();
    await run.getByText('completed').waitFor();
    await expect.poll(() => run.locator('.step-text').allTextContents(), WAIT).toEqual(await shownSteps());
    await panel().getByText('run 1 ×').waitFor();
    await run.getByRole('button', { name: 'Run again' }).press('Enter');
    await vi.waitFor(async () => expect((await stored())?.runs).toBe(2), WAIT);
    await tab.screenshot('plan-first-run-again');
  });

  it('does not go back to its own change when the answer comes after a later change', async () => {
    gateway.ollama.answer('Two steps.\nREFLECT: no', { when: 'clean the cellar' });
    gateway.ollama.answer('Steps\n1. [SELF] Sweep\n2. [SELF] Mop', { when: 'clean the cellar' });
    const answered = Promise.withResolvers<void>();
    const changed = Promise.withResolvers<void>();
    await tab.open(`${gateway.gateway.url}/#http:late`, { token: OWNER });
    await tab.page.locator('#composer textarea, textarea').first().fill('/plan clean the cellar');
    await tab.page.keyboard.press('Enter');
    await panel().getByText('not started').waitFor();
    await tab.page.route('**/v1/plans/*', async (route) => {
      const response = await route.fetch();
      await changed.promise;
      await route.fulfill({ response });
      answered.resolve();
    });
    await panel().getByRole('button', { name: 'Edit', exact: true }).press('Enter');
    await panel().getByLabel('Drop step 1').press('Enter');
    await shows('1. Mop');

    const plan = (await gateway.store.plans.plans('http:late', 5))[0]?.record.plan;
    const json = { version: plan?.version, edits: [{ op: 'add', description: 'Dry the floor' }] };
    expect((await gateway.call(`/v1/plans/${plan?.id}`, { method: 'PATCH', json })).status).toBe(200);
    await shows('1. Mop', '2. Dry the floor');
    changed.resolve();
    await answered.promise;
    await tab.page.unroute('**/v1/plans/*');
    await panel().getByLabel('Drop step 2').press('Enter');
    await shows('1. Mop');
  });

  it('is discarded at once, and comes back with Undo', async () => {
    gateway.ollama.answer('One step.\nREFLECT: no', { when: 'clean the shed' });
    gateway.ollama.answer('Steps\n1. [SELF] Sweep', { when: 'clean the shed' });
    await tab.open(`${gateway.gateway.url}/#http:shed`, { token: OWNER });
    await tab.page.locator('#draft').fill('/plan clean the shed');
    await tab.page.keyboard.press('Enter');
    const sentence = tab.page.locator('.answer', { hasText: 'None of this plan has run yet.' });
    const state = async () => (await gateway.store.plans.plans('http:shed', 5))[0]?.record.plan.state;
    await sentence.waitFor();

    await panel().getByRole('button', { name: 'Discard' }).press('Enter');
    await panel().getByText('Cancelled before it ran.').waitFor();
    expect(await panel().getByRole('button').count()).toBe(0);
    expect(await state()).toBe('cancelled');
    await sentence.waitFor({ state: 'detached' });

    await tab.page.locator('.toast').getByRole('button', { name: 'Undo' }).click();
    await panel().getByText('not started').waitFor();
    await panel().getByRole('button', { name: 'Run', exact: true }).waitFor();
    expect(await state()).toBe('stored');
    await sentence.waitFor();
    expect(await tab.page.locator('.toast').count()).toBe(0);

    // It is not over any more: there is nothing to take back.
    const id = (await gateway.store.plans.plans('http:shed', 5))[0]?.record.plan.id;
    expect((await gateway.call(`/v1/plans/${id}/restore`, { method: 'POST' })).status).toBe(409);
    expect((await gateway.call('/v1/plans/none/restore', { method: 'POST' })).status).toBe(404);
  });
});
