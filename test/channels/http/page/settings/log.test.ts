/** The screen about the log: it follows what is written while it is open, can be paused, and fits a phone. */
import { expect, it, vi } from 'vitest';
import type { LogLine } from '../../../../../src/protocol/operator/administration.ts';
import { objections } from '../browser/axe.ts';
import { WAIT } from '../browser/browser.ts';
import { describePageOnFakeGateway, PHONE } from '../browser/describe-page.ts';

/** More than the pause between two looks at the log. */
const LOOK_MS = 2_500;

const line = (n: number): LogLine => ({
  time: 1_000 * n,
  level: n % 5 === 0 ? 'error' : 'info',
  message: `event_${n}`,
  fields: JSON.stringify({ session: `http:${'long'.repeat(40)}`, n }),
});

describePageOnFakeGateway('the log on the page', (tab, fixture) => {
  it('shows new lines above the others, and none while it is paused', async () => {
    const lines = [line(1), line(2)];
    fixture.api.gateway.administration.log = async () => lines;
    const page = await fixture.open();
    await page.clock.install();
    await page.goto(`${fixture.api.url}/#settings/log`);
    const events = () => page.locator('.log-event').allInnerTexts();
    await page.locator('.log-line').first().waitFor();
    expect(await events()).toEqual(['event_2', 'event_1']);
    const first = await page.locator('.log-line').last().elementHandle();
    lines.push(line(3));
    await page.clock.runFor(LOOK_MS);
    await vi.waitFor(async () => expect(await events()).toEqual(['event_3', 'event_2', 'event_1']), WAIT);
    // What is shown already stays as it is, with what a reader has selected in it.
    expect(await first?.evaluate((element) => element.isConnected)).toBe(true);
    await page.getByRole('button', { name: 'Pause' }).click();
    lines.push(line(4));
    await page.clock.runFor(5 * LOOK_MS);
    expect((await events())[0]).toBe('event_3');
    await page.getByRole('button', { name: 'Pause', pressed: true }).click();
    await page.clock.runFor(LOOK_MS);
    await vi.waitFor(async () => expect((await events())[0]).toBe('event_4'), WAIT);
  });

  it('is readable on a phone, without scrolling sideways', async () => {
    fixture.api.gateway.administration.log = async () => Array.from({ length: 20 }, (_, n) => line(n));
    const page = await fixture.open(PHONE);
    await page.goto(`${fixture.api.url}/#settings/log`);
    await page.locator('.log-line').first().waitFor();
    const wide = await page.evaluate(() => document.querySelector('.settings-body')?.scrollWidth ?? Infinity);
    expect(wide).toBeLessThanOrEqual(390);
    expect(await objections(page)).toEqual([]);
    await tab.screenshot('log-phone');
  });
});
