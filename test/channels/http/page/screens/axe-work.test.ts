/** What people decide, edit and look up, under axe: nothing critical and nothing serious, wide and on a phone, light and dark. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { riskyTools } from '../../../../fakes/agent/risky-tools.ts';
import { type GatewayFixture, openGatewayFixture, OWNER } from '../../../../flows/setup.ts';
import { objections } from '../browser/axe.ts';
import { write } from '../browser/browser.ts';
import { describePage } from '../browser/describe-page.ts';

describePage('work on the page under axe', (tab) => {
  let fixture: GatewayFixture;
  beforeAll(async () => {
    fixture = await openGatewayFixture({ tools: riskyTools([]) });
  });
  afterAll(() => fixture.close());
  const open = (chat: string) => tab.open(`${fixture.gateway.url}/#http:${chat}`, { token: OWNER });

  it('has no violations in a plan, its editing, and its run', async () => {
    fixture.ollama.answer('Two steps.\nREFLECT: no', { when: 'clean the attic' });
    fixture.ollama.answer('Steps\n1. [SELF] Sweep\n2. [SELF] Mop', { when: 'clean the attic' });
    const page = await open('attic');
    await write(page, '/plan clean the attic');
    const plan = page.locator('.plan').first();
    await plan.getByText('not started').waitFor();
    await plan.getByRole('button', { name: 'Edit', exact: true }).click();
    await plan.getByLabel('Text of step 2').waitFor();
    await tab.screenshot('axe-plan-editing');
    expect(await objections(page)).toEqual([]);
    await plan.getByRole('button', { name: 'Run', exact: true }).click();
    await page.locator('.plan').last().getByText('completed').waitFor();
    await tab.screenshot('axe-plan-done');
    expect(await objections(page)).toEqual([]);
  });

  it('has no violations in a question about a call, the inbox, and the trace of the turn', async () => {
    const call = { text: 'I will wipe it.', toolCalls: [{ name: 'wipe', args: { word: 'the disk' } }] };
    fixture.ollama.answer(call, { when: 'wipe the disk' });
    fixture.ollama.answer('Wiped.', { when: 'wipe the disk' });
    const page = await open('disk');
    await write(page, 'wipe the disk');
    await page.locator('#approvals').getByText('May I do this?').waitFor();
    await tab.screenshot('axe-approval');
    expect(await objections(page)).toEqual([]);
    await page.getByRole('button', { name: 'Waiting for you: 1' }).click();
    const inbox = page.getByRole('dialog', { name: 'Waiting for you' });
    await inbox.getByText('May I do this?').waitFor();
    await tab.screenshot('axe-inbox');
    expect(await objections(page)).toEqual([]);
    await inbox.getByRole('button', { name: 'Approve', exact: true }).click();
    await page.locator('#transcript').getByText('Wiped.').waitFor();
    await page.locator('#transcript').getByText('You approved this').first().waitFor();
    await page.getByRole('button', { name: 'Trace: what happened in this turn' }).last().click();
    await page.getByRole('dialog', { name: 'Trace of a turn' }).getByText('the turn ended').waitFor();
    await tab.screenshot('axe-trace');
    expect(await objections(page)).toEqual([]);
  });

  it('has no violations in search results, the menu of a chat, and the confirmation of a deletion', async () => {
    fixture.ollama.answer('Whales are large.', { when: 'whales' });
    const page = await open('whales');
    await write(page, 'tell me of whales');
    await page.locator('#transcript').getByText('Whales are large.').waitFor();
    await page.getByLabel('Search chats and messages').fill('whales');
    await page.getByRole('region', { name: 'Search results' }).getByText('chat found').waitFor();
    await tab.screenshot('axe-search');
    expect(await objections(page)).toEqual([]);
    await page.getByLabel('Search chats and messages').fill('');
    const list = page.getByRole('navigation', { name: 'Your chats' });
    await list.locator('[aria-label^="Actions for"]').first().click();
    expect(await objections(page)).toEqual([]);
    await list
      .getByRole('button', { name: /^Delete “/ })
      .first()
      .click();
    await page.locator('dialog#confirm[open]').waitFor();
    await tab.screenshot('axe-confirm');
    expect(await objections(page)).toEqual([]);
    await page.getByRole('button', { name: 'Cancel' }).click();
  });
});
