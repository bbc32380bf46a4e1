/** Times on the page: in few words, with the whole date and time for whoever points at them, on every screen. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type GatewayFixture, OWNER } from '../../../../flows/setup.ts';
import { describePage } from '../browser/describe-page.ts';
import { openGatewayOfEveryScreen, visitEveryScreen } from './every-screen.ts';

/** Gives the times outside of `<time>`, and those in one that says too little; a plain string, because it runs in the page. */
const UNREPORTED = `(() => {
  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
    const parent = node.parentElement;
    if (parent.closest('time, code, pre, option, .log-fields') || !parent.checkVisibility()) continue;
    if (/\\d{1,2}:\\d{2}/.test(node.textContent)) found.push(node.textContent);
  }
  for (const time of document.querySelectorAll('time')) {
    const isWhole = !Number.isNaN(Date.parse(time.dateTime)) && /\\d{4}.*\\d{1,2}:\\d{2}:\\d{2}/.test(time.title);
    if (!isWhole) found.push(time.outerHTML);
  }
  return found;
})()`;

describePage('times', (tab) => {
  let fixture: GatewayFixture;
  beforeAll(async () => void (fixture = await openGatewayOfEveryScreen()));
  afterAll(() => fixture.close());

  it('say their whole date on every screen', async () => {
    const found: string[] = [];
    const screens: string[] = [];
    await visitEveryScreen(tab, fixture, {}, async (screen) => {
      const unreported = await tab.page.evaluate<string[]>(UNREPORTED);
      found.push(...unreported.map((text) => `${screen}: ${text}`));
      if ((await tab.page.locator('time:visible').count()) > 0) screens.push(screen);
    });
    expect(found).toEqual([]);
    expect(screens).toEqual(
      expect.arrayContaining([
        'chat',
        'question',
        'inbox',
        'decided question',
        'list of chats',
        'search',
        'Trace: what happened in this turn',
        'settings/tokens',
        'settings/schedules',
        'settings/memory',
        'settings/log',
      ]),
    );
  }, 120_000);

  it('are reported in the language of the reader', async () => {
    const page = await tab.open(fixture.gateway.url, { token: OWNER, locale: 'de-AT' });
    const time = page.locator('#sessions time').first();
    expect(await time.getAttribute('title')).toMatch(
      /^(Mon|Diens|Mitt|Donners|Frei|Sams|Sonn)\w*, \d+\. \w+ \d{4}/,
    );
  });
});
