/** The dialogs of the page and its German form under axe: nothing critical and nothing serious, wide and on a phone, light and dark. */
import type { Page } from 'playwright-core';
import { expect, it, vi } from 'vitest';
import { objections } from '../browser/axe.ts';
import { WAIT } from '../browser/browser.ts';
import { describePageOnFakeGateway } from '../browser/describe-page.ts';

/** The buttons that open dialogs, with what each shows. */
const DIALOGS = [
  ['#show-keys', 'dialog#keys[open]'],
  ['#open-linked', 'dialog#linked[open]'],
  ['#open-memory', 'dialog.memory[open]'],
  ['#open-notifications', 'dialog#notifications[open]'],
  ['#open-files', 'dialog.details[open]'],
  ['.turn-foot .copy', 'dialog.trace[open]'],
] as const;

/** Opens each dialog; gives what is wrong in any of them. */
async function objectionsToDialogs(page: Page): Promise<string[]> {
  const found: string[] = [];
  for (const [button, dialog] of DIALOGS) {
    const menu = page.locator('.menu', { has: page.locator(button) }).locator('> button');
    if ((await menu.count()) > 0) await menu.click();
    await page.locator(button).last().click();
    await page.locator(dialog).waitFor();
    found.push(...(await objections(page)).map((one) => `${dialog} ${one}`));
    await page.keyboard.press('Escape');
    await page.locator(dialog).waitFor({ state: 'hidden' });
  }
  return found;
}

describePageOnFakeGateway('dialogs under axe', (tab, fixture) => {
  it.each(['en-GB', 'de-DE'])('have no violations, nor has the page around them, in %s', async (locale) => {
    const page = await fixture.open({ locale });
    expect(await page.getAttribute('html', 'lang')).toBe(locale.slice(0, 2));
    await page.locator('#draft').fill('hello');
    await page.keyboard.press('Enter');
    await vi.waitFor(() => expect(fixture.turns).toHaveLength(1), WAIT);
    const turn = fixture.turns[0]!;
    turn.say('Hi, with `code` and a [link](https://example.org).');
    turn.end();
    await page.locator('.turn-foot .copy').last().waitFor();
    expect(await objections(page)).toEqual([]);
    expect(await objectionsToDialogs(page)).toEqual([]);
    await page.locator('#sessions .row-menu > button').first().click();
    await page.locator('#sessions .menu-item').first().click();
    await page.locator('dialog#ask[open]').waitFor();
    expect(await objections(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: /Account|Konto/ }).click();
    await page.locator('#open-settings').waitFor();
    expect(await objections(page)).toEqual([]);
    await page.locator('#open-settings').click();
    await page.locator('.settings-body').waitFor();
    expect(await objections(page)).toEqual([]);
    await tab.screenshot(`axe-dialogs-${locale}`);
  });
});
