/** Every screen of the settings under axe, with content on it: nothing critical and nothing serious. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { objections } from '../../../channels/http/page/browser/axe.ts';
import { describePage } from '../../../channels/http/page/browser/describe-page.ts';
import { type GatewayFixture, OWNER } from '../../setup.ts';
import { goToScreen, openFurnishedGateway, SCREENS } from './setup.ts';

describePage('the settings under axe', (tab) => {
  let fixture: GatewayFixture;
  beforeAll(async () => void (fixture = await openFurnishedGateway()));
  afterAll(() => fixture.close());

  it('have no violations on any screen, wide and on a phone, light and dark', async () => {
    const page = await tab.open(fixture.gateway.url, { token: OWNER });
    const found: Record<string, string[]> = {};
    for (const screen of SCREENS) {
      await goToScreen(page, screen);
      // What is folded is checked, too.
      await page
        .locator('#settings details')
        .evaluateAll((all) => all.slice(0, 3).forEach((one) => one.setAttribute('open', '')));
      found[screen] = await objections(page);
    }
    expect(found).toEqual(Object.fromEntries(SCREENS.map((screen) => [screen, []])));
  });
});
