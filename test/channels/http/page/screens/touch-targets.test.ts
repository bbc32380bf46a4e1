/** Buttons, links and fields under a finger: each can be hit on 44 by 44 CSS pixels at least, on every screen. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { GatewayFixture } from '../../../../flows/setup.ts';
import { describePage, type OpenOptions, PHONE } from '../browser/describe-page.ts';
import { openGatewayOfEveryScreen, visitEveryScreen } from './every-screen.ts';

const SCREENS: [string, OpenOptions][] = [
  ['a phone', { ...PHONE, hasTouch: true, isMobile: true }],
  ['a tablet', { viewport: { width: 1_100, height: 800 }, hasTouch: true }],
];

/**
 * Presses around the middle of every control that is visible, at every half pixel, and gives those that are hit on less than
 * 44 px (less the pixel that two probes miss). A plain string, because it runs in the page. Links within a sentence are as
 * high as its line.
 */
const TOO_SMALL = `(async () => {
  const LEAST = 44;
  const CONTROLS = 'button, a[href], summary, select, input, textarea, label:has(input[type=checkbox], input[type=radio])';
  const found = [];
  const moving = document.getAnimations().filter((one) => one instanceof CSSTransition);
  // A transition that another one replaces rejects: it has ended, too.
  await Promise.all(moving.map((one) => one.finished.catch(() => undefined)));
  const top = [...document.querySelectorAll('dialog[open]')].at(-1);
  for (const control of (top ?? document).querySelectorAll(CONTROLS)) {
    if (control.closest('.md') && control.matches('a')) continue;
    if (control.matches('[type=hidden], [type=file], :disabled') || !control.checkVisibility({ visibilityProperty: true })) continue;
    // A box that is ticked is pressed with its words.
    if (control.matches('[type=checkbox], [type=radio]') && control.closest('label')) continue;
    control.scrollIntoView({ block: 'center', inline: 'center' });
    const box = control.getBoundingClientRect();
    if (box.width === 0 || box.right < 0 || box.left > innerWidth) continue;
    const x = (Math.max(0, box.left) + Math.min(innerWidth, box.right)) / 2;
    const y = (box.top + box.bottom) / 2;
    const hits = (dx, dy) => {
      const hit = document.elementFromPoint(x + dx, y + dy);
      return hit !== null && control.contains(hit);
    };
    if (!hits(0, 0)) continue;
    const reach = (dx, dy) => {
      let far = 0;
      while (far < LEAST && hits(dx * (far + 0.5), dy * (far + 0.5))) far += 0.5;
      return far;
    };
    const wide = reach(-1, 0) + reach(1, 0);
    const high = reach(0, -1) + reach(0, 1);
    if (wide < LEAST - 1 || high < LEAST - 1) {
      found.push(wide + 'x' + high + ' ' + control.cloneNode(false).outerHTML.slice(0, 110) + control.textContent.trim().slice(0, 30));
    }
  }
  return found;
})()`;

describePage('touch targets', (tab) => {
  let fixture: GatewayFixture;
  beforeAll(async () => void (fixture = await openGatewayOfEveryScreen()));
  afterAll(() => fixture.close());

  it.each(SCREENS)(
    'are large enough on %s, on every screen',
    async (_name, options) => {
      const found = new Set<string>();
      const device = options.isMobile === true ? 'phone' : 'tablet';
      await visitEveryScreen(tab, fixture, options, async (screen) => {
        await tab.screenshot(`touch-${device}-${screen.replaceAll(/\W+/g, '-')}`);
        expect(await tab.page.evaluate(() => matchMedia('(pointer: coarse)').matches)).toBe(true);
        for (const small of await tab.page.evaluate<string[]>(TOO_SMALL)) found.add(`${screen}: ${small}`);
      });
      expect([...found]).toEqual([]);
    },
    120_000,
  );
});
