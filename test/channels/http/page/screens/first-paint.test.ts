/** The colours of the first frame that is painted, before any other script of the page has run. */
import sharp from 'sharp';
import { expect, it, vi } from 'vitest';
import { WAIT } from '../browser/browser.ts';
import { describePageOnFakeGateway } from '../browser/describe-page.ts';

const LIGHT = [0xfa, 0xf9, 0xf7];
const DARK = [0x17, 0x18, 0x1b];

describePageOnFakeGateway('the first frame', (tab, fixture) => {
  it.each([
    ['dark', 'light', DARK],
    ['light', 'dark', LIGHT],
    ['system', 'light', LIGHT],
    ['system', 'dark', DARK],
  ] as const)(
    'has the look that was chosen (%s) where the system is %s',
    async (chosen, colorScheme, colour) => {
      await tab.open(fixture.api.url, { colorScheme });
      await tab.page.evaluate((theme) => localStorage.setItem('parley-theme', theme), chosen);
      // The page's own script does not arrive: nothing but what comes before it can colour the page.
      await tab.page.route(/\/page\/assets\/main-/, () => undefined);
      await tab.page.reload({ waitUntil: 'commit' });
      const state = () => tab.page.evaluate(() => document.readyState);
      await vi.waitFor(async () => expect(await state()).toBe('interactive'), WAIT);
      const frame = await sharp(await tab.page.screenshot())
        .removeAlpha()
        .extract({ left: 400, top: 300, width: 1, height: 1 })
        .raw()
        .toBuffer();
      expect([...frame]).toEqual(colour);
      const bar = await tab.page
        .locator('meta[name="theme-color"]')
        .evaluateAll((metas) =>
          metas
            .filter((meta) => matchMedia(meta.getAttribute('media') ?? '').matches)
            .map((meta) => meta.getAttribute('content')),
        );
      expect(bar).toEqual([`#${Buffer.from(colour).toString('hex')}`]);
    },
  );
});
