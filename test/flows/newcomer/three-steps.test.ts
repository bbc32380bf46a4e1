/** A newcomer on the page, without configuration: a plan, a page, a subagent, an approval, and a file to download. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { type GatewayFixture, openGatewayFixture, OWNER } from '../setup.ts';
import { askForThreeSteps, scriptThreeSteps } from './three-steps.ts';
import { FAKE_TITLE } from '../../fakes/ollama/call-script.ts';
import { type FakeWebsite, startFakeWebsite } from '../../fakes/network/web-pages.ts';
import { WAIT, write } from '../../channels/http/page/browser/browser.ts';
import { describePage, PHONE } from '../../channels/http/page/browser/describe-page.ts';

describePage('a newcomer', (tab) => {
  let website: FakeWebsite;
  let gateway: GatewayFixture;
  beforeAll(async () => {
    website = await startFakeWebsite();
    gateway = await openGatewayFixture({ file: {}, reachable: () => [website.origin] });
  });
  afterAll(async () => {
    await gateway.close();
    await website.close();
  });

  it.each([
    ['a wide screen', {}, 'wide'],
    ['a phone', PHONE, 'phone'],
  ])('asks on %s for three steps, and sees them done', async (_screen, context, name) => {
    const tag = `${name} prices`;
    scriptThreeSteps(gateway.ollama, website, { tag, hold: true });
    await tab.open(`${gateway.gateway.url}/#http:${name}`, { ...context, token: OWNER });
    await tab.screenshot(`newcomer-${name}-0-empty`);
    await write(tab.page, askForThreeSteps(website, tag));
    const plan = tab.page.locator('.plan').first();
    await plan.getByText('1 of 3').waitFor();
    expect(await plan.locator('.step-text').allTextContents()).toEqual([
      '1. Read the page about bread',
      `2. Write ${tag} into a file`,
      '3. Send the file',
    ]);
    await tab.screenshot(`newcomer-${name}-1-plan`);
    const approve = tab.page.getByRole('button', { name: 'Approve' }).first();
    await vi.waitFor(async () => {
      // The agent begins some time after the plan reports its first step as done.
      for (const call of gateway.ollama.calls) call.release();
      expect(await approve.isVisible()).toBe(true);
    }, WAIT);
    await tab.page.locator('#transcript .agent').getByText('waiting for you').first().waitFor();
    await tab.screenshot(`newcomer-${name}-2-approval`);
    await approve.click();
    await tab.page.locator('#transcript').getByText('The list is in the file above').waitFor();
    await plan.getByText('completed').waitFor();
    await tab.page.locator('#transcript .file-chip').getByText(`${name}-prices.md`).waitFor();
    await tab.page.locator('#chat-title').getByText(FAKE_TITLE).waitFor();
    // The file has no text that could be copied.
    const copy = tab.page.getByRole('button', { name: 'Copy the answer' });
    await copy.first().waitFor();
    expect(await copy.count()).toBe(1);
    await tab.screenshot(`newcomer-${name}-3-done`);
    await tab.page.reload();
    await tab.page.locator('#transcript').getByText('The list is in the file above').waitFor();
    await tab.screenshot(`newcomer-${name}-4-reloaded`);
    await vi.waitFor(async () => {
      const sent = (await gateway.messages(`http:${name}`)).flatMap(({ attachments = [] }) => attachments);
      expect(sent).toMatchObject([{ name: `${name}-prices.md`, mimeType: 'text/markdown' }]);
    }, WAIT);
  });
});
