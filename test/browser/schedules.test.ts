/** The list of schedules on the page, in a real browser. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { openDoor } from '../channels/http-client.ts';
import { announceSkip, findChromium, launch, signIn, visit, WAIT } from './browser.ts';

const OWNER = { tokenId: 'admin', scopes: ['admin' as const, 'chat' as const] };
const chromiumPath = findChromium();
if (chromiumPath === undefined) announceSkip();

describe.skipIf(chromiumPath === undefined)('schedules on the page', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch(chromiumPath ?? '');
  });
  afterAll(() => browser.close());

  it('are listed with their rhythm, lead to their chat, and are removed when one says so', async () => {
    const door = await openDoor();
    onTestFinished(() => door.close());
    const session = 'http:news' as const;
    door.house.addSession(session, 'admin');
    const task = 'Tell me what is new in the world';
    await door.house.schedules.add(OWNER, { id: 's1', session, task, when: { everyMinutes: 120 } });
    const { page, complaints } = await visit(browser, door.url);
    onTestFinished(() => page.context().close());
    await signIn(page, 'admin-token-of-the-owner');
    await page.getByText('Schedules').click();
    const list = page.locator('#schedule-list');
    await list.getByText(task).waitFor();
    const folder = process.env['PARLEY_SCREENSHOTS'];
    if (folder !== undefined) await page.screenshot({ path: `${folder}/schedules.png` });
    await list.getByText(task).click();
    await vi.waitFor(() => expect(page.url()).toContain(session), WAIT);
    await list.getByRole('button', { name: `Remove the schedule “${task}”` }).click();
    await page.getByRole('button', { name: 'Forget it' }).click();
    await page.getByText('Schedules').waitFor({ state: 'hidden' });
    expect(await door.house.schedules.list(OWNER)).toEqual([]);
    expect(complaints).toEqual([]);
  });
});
