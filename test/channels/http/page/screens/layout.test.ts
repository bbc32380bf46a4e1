/** Places on the page that only a look at it shows: what stands in one line with what, and what is cut off. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Locator } from 'playwright-core';
import { goToScreen, openFurnishedGateway } from '../../../../flows/operator/settings/setup.ts';
import { type GatewayFixture, OWNER } from '../../../../flows/setup.ts';
import { chooseFromAccount, write } from '../browser/browser.ts';
import { describePage, type OpenOptions, PHONE } from '../browser/describe-page.ts';

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
    await page.locator('#stop').waitFor();
    expect(await page.locator('#queue').isVisible()).toBe(false);
    await page.locator('#draft').fill('and this');
    await page.locator('#queue').waitFor();
    const [waiting, field] = await Promise.all(
      ['#queue', '.composer-box'].map((place) => page.locator(place).boundingBox()),
    );
    const edges = (box: typeof field) => [box?.x, box?.width].map((px) => Math.round(px ?? 0));
    expect(edges(waiting)).toEqual(edges(field));
    (await fixture.modelCall('take time')).release();
    await page.locator('#queue').waitFor({ state: 'hidden' });
  });

  it('shows the whole line of an empty message field as soon as the chat is open', async () => {
    const page = await tab.open(`${fixture.gateway.url}/#http:nothing-yet`, { token: OWNER });
    await page.locator('.starters').waitFor();
    const cut = await page.locator('#draft').evaluate((field) => field.scrollHeight - field.clientHeight);
    expect(cut).toBe(0);
  });

  it('has fields on one line as high as the button next to them, and longer texts as wide as the form', async () => {
    const page = await tab.open(fixture.gateway.url, { token: OWNER });
    await goToScreen(page, 'schedules');
    const form = page.locator('.settings-form');
    const heightOf = async (place: string): Promise<number> =>
      Math.round((await form.locator(place).last().boundingBox())?.height ?? 0);
    const button = await heightOf('button');
    expect([await heightOf('select'), await heightOf('input')]).toEqual([button, button]);
    const widthOf = async (place: Locator): Promise<number> =>
      Math.round((await place.boundingBox())?.width ?? 0);
    expect(await widthOf(form.locator('textarea'))).toBe(await widthOf(form));
  });

  it('closes every dialog with a button at its end', async () => {
    const page = await tab.open(`${fixture.gateway.url}/#http:plans`, { token: OWNER });
    await chooseFromAccount(page, 'open-memory');
    const dialog = page.getByRole('dialog');
    const [box, close] = await Promise.all(
      [dialog, dialog.getByRole('button', { name: 'Close' })].map((place) => place.boundingBox()),
    );
    const beside = (box?.x ?? 0) + (box?.width ?? 0) - (close?.x ?? 0) - (close?.width ?? 0);
    expect(beside).toBeLessThan(40);
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
