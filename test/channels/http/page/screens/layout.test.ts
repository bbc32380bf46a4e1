/** Places on the page that only a look at it shows: what stands in one line with what, and what is cut off. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { goToScreen, openFurnishedGateway } from '../../../../flows/operator/settings-setup.ts';
import { OWNER } from '../../../../flows/setup.ts';
import type { GatewayFixture } from '../../../../flows/setup.ts';
import { write } from '../browser/browser.ts';
import { describePage, PHONE } from '../browser/describe-page.ts';
import type { OpenOptions } from '../browser/describe-page.ts';

const SCREENS: [string, OpenOptions][] = [
  ['a wide screen', {}],
  ['a phone', PHONE],
];

describePage('the layout', (tab) => {
  let fixture: GatewayFixture;
  beforeAll(async () => void (fixture = await openFurnishedGateway()));
  afterAll(() => fixture.close());

  it.each(SCREENS)('has what waits above the message field, as wide as it, on %s', async (name, options) => {
    const page = await tab.open(`${fixture.gateway.url}/#http:${name.replace(/.* /, '')}`, {
      ...options,
      token: OWNER,
    });
    fixture.ollama.answer({ text: 'slow', hold: true }, { when: 'take time' });
    await write(page, 'take time');
    await page.locator('#queue').waitFor();
    const [waiting, field] = await Promise.all(
      ['#queue', '.composer-box'].map((place) => page.locator(place).boundingBox()),
    );
    const edges = (box: typeof field) => [box?.x, box?.width].map((px) => Math.round(px ?? 0));
    expect(edges(waiting)).toEqual(edges(field));
    (await fixture.modelCall('take time')).release();
    await page.locator('#queue').waitFor({ state: 'hidden' });
  });

  it('has the times of the log in one line each', async () => {
    const page = await tab.open(fixture.gateway.url, { token: OWNER });
    await goToScreen(page, 'log');
    const { height, line } = await page
      .locator('.log-at time')
      .first()
      .evaluate((time) => ({
        height: time.getBoundingClientRect().height,
        line: parseFloat(getComputedStyle(time).lineHeight),
      }));
    expect(height).toBeLessThan(line * 1.5);
  });
});
