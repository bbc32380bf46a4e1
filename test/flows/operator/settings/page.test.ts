/** The settings on the page of a whole gateway: every screen read and used, in a browser, on a wide screen and on a phone. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { hashSecret } from '../../../../src/security/token-lookup.ts';
import { chooseFromAccount } from '../../../channels/http/page/browser/browser.ts';
import { describePage, PHONE } from '../../../channels/http/page/browser/describe-page.ts';
import { type GatewayFixture, OWNER } from '../../setup.ts';
import { goToScreen, openFurnishedGateway, SCREENS } from './setup.ts';

describePage('the settings of a gateway', (tab) => {
  let fixture: GatewayFixture;
  beforeAll(async () => void (fixture = await openFurnishedGateway()));
  afterAll(() => fixture.close());

  async function open(screen: string, context = {}): Promise<Page> {
    const page = await tab.open(fixture.gateway.url, { ...context, token: OWNER });
    await page.locator('#transcript').waitFor();
    return await goToScreen(page, screen);
  }
  /** Controls without an accessible name. */
  const unnamed = (page: Page): Promise<string[]> =>
    page.locator('#settings :is(button, a, input, select, textarea)').evaluateAll((found) =>
      found
        .filter((one) => {
          const labels =
            one instanceof HTMLInputElement ||
            one instanceof HTMLSelectElement ||
            one instanceof HTMLTextAreaElement
              ? [...(one.labels ?? [])]
              : [one];
          const name = one.getAttribute('aria-label') ?? labels.map((label) => label.textContent).join('');
          return name.trim() === '';
        })
        .map((one) => one.outerHTML.slice(0, 120)),
    );

  it('have a name on every control of every screen, and fit on a phone in dark mode', async () => {
    const page = await open('overview', PHONE);
    const found: unknown[] = [];
    for (const screen of SCREENS) {
      await goToScreen(page, screen);
      const tooWide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
      found.push([screen, await unnamed(page), tooWide]);
      await tab.screenshot(`phone-${screen}`);
    }
    expect(found).toEqual(SCREENS.map((screen) => [screen, [], false]));
  });

  it('are reached from the list of chats by an admin, show what is there, and lead back to a chat', async () => {
    const page = await tab.open(fixture.gateway.url, { token: OWNER });
    await chooseFromAccount(page, 'open-settings');
    await page.getByText('Telegram', { exact: true }).waitFor();
    await page.getByRole('navigation', { name: 'Settings' }).getByRole('link', { name: 'Profiles' }).click();
    await page.locator('.settings-row-title', { hasText: 'default' }).first().waitFor();
    await goToScreen(page, 'log');
    await page.getByText('channel_unreachable').waitFor();
    await goToScreen(page, 'dead-letters');
    await page.getByText('No failed messages.').waitFor();
    for (const screen of SCREENS) {
      await goToScreen(page, screen);
      await tab.screenshot(`wide-${screen}`);
    }
    await page.getByRole('link', { name: 'Back to chats' }).click();
    await page.locator('#draft').waitFor();
    expect(await page.locator('#settings').isVisible()).toBe(false);
  });

  it('are not listed for a token without admin', async () => {
    const token = 'only-chats-and-nothing-else-2';
    await fixture.store.access.putToken({ hash: hashSecret(token), name: 'friend', scopes: ['chat'] });
    const page = await tab.open(fixture.gateway.url, { token });
    await page.locator('#transcript').waitFor();
    await page.getByRole('button', { name: 'Account' }).click();
    await page.locator('#sign-out').waitFor();
    expect(await page.locator('#open-settings').isVisible()).toBe(false);
  });
});
