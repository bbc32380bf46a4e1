/** The forms of the settings, used in a browser against a whole gateway. */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { describePage } from '../../../channels/http/page/browser/describe-page.ts';
import { type GatewayFixture, OWNER, WAIT } from '../../setup.ts';
import { goToScreen, openFurnishedGateway } from './setup.ts';

describePage('the forms of the settings', (tab) => {
  let fixture: GatewayFixture;
  beforeAll(async () => void (fixture = await openFurnishedGateway()));
  afterAll(() => fixture.close());

  async function open(screen: string): Promise<Page> {
    const page = await tab.open(fixture.gateway.url, { token: OWNER });
    await page.locator('#transcript').waitFor();
    return await goToScreen(page, screen);
  }

  it('create a token that is shown once, rename it, give it another secret, and revoke it after a question', async () => {
    const page = await open('tokens');
    await page.getByLabel('Name', { exact: true }).fill('script');
    await page.getByRole('button', { name: 'Create' }).click();
    const secret = await page.locator('.settings-secret code').innerText();
    expect((await fixture.call('/v1/sessions', { token: secret })).status).toBe(200);
    await tab.screenshot('token');
    await page.getByRole('button', { name: 'I have saved it' }).click();
    await page.getByRole('button', { name: 'Rename: script' }).click();
    await page.getByRole('textbox', { name: 'Name' }).and(page.locator('#ask-text')).fill('backup');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'New secret: backup' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'New secret' }).click();
    const other = await page.locator('.settings-secret code').innerText();
    expect(other).not.toBe(secret);
    expect((await fixture.call('/v1/sessions', { token: other })).status).toBe(200);
    await tab.screenshot('token-rotated');
    await page.getByRole('button', { name: 'I have saved it' }).click();
    await page.getByRole('button', { name: 'Revoke: backup' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('button', { name: 'Revoke: backup' }).waitFor({ state: 'detached' });
    expect(await page.locator('#settings').innerText()).not.toContain(secret);
  });

  it('grant a right and revoke it', async () => {
    const page = await open('access');
    await page.getByLabel('Id', { exact: true }).fill('7777');
    await page.getByRole('button', { name: 'Add' }).click();
    await page.getByRole('button', { name: 'Remove: telegram 7777, can write privately' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await page.locator('.settings-row', { hasText: 'telegram 7777' }).waitFor({ state: 'detached' });
    expect(await fixture.store.access.grants()).toEqual([]);
  });

  it('pause, resume and edit a schedule, and delete a fact', async () => {
    const page = await open('schedules');
    await page.getByRole('button', { name: 'Pause: Tell me the tides' }).click();
    await page.getByRole('button', { name: 'Resume: Tell me the tides' }).click();
    await page.getByRole('button', { name: 'Edit: Tell me the tides' }).click();
    await page
      .getByRole('dialog')
      .getByRole('textbox', { name: 'What should be done?' })
      .fill('Tell me the moon');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Pause: Tell me the moon' }).waitFor();
    await goToScreen(page, 'memory');
    await page.getByRole('button', { name: 'Delete: Likes the sea.' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No memories yet.').waitFor();
    expect(await fixture.store.memories.memories('telegram:7001', 9)).toEqual([]);
  });

  it('show usage as a chart with a table of the same numbers', async () => {
    const page = await open('usage');
    await page.locator('.settings-field', { hasText: 'Answers' }).getByText('1', { exact: true }).waitFor();
    // Today and the 30 days before it, also those without an answer.
    expect(await page.locator('.usage-bar').count()).toBe(31);
    await page.getByRole('button', { name: '1 year' }).click();
    await vi.waitFor(async () => expect(await page.locator('.usage-bar').count()).toBe(90), WAIT);
    await page.getByRole('group', { name: 'Group by' }).getByRole('button', { name: 'Channel' }).click();
    await page.getByRole('cell', { name: 'http', exact: true }).waitFor();
    expect(await page.locator('.usage-bar').count()).toBe(1);
  });

  it('change settings, mark the one that is wrong, and say what waits for a restart', async () => {
    const page = await open('general');
    const rate = page.getByLabel('Messages per minute and person', { exact: true });
    await page.getByText('limits.messagesPerMinute').waitFor();
    await rate.fill('0');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('#set-limits\\.messagesPerMinute[aria-invalid]:focus').waitFor();
    await page.locator('.setting', { has: rate }).getByText('must be at least 1').waitFor();
    await tab.screenshot('config-error');
    await rate.fill('44');
    await page.getByLabel('Turns at the same time', { exact: true }).fill('12');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved. It applies after a restart.').waitFor();
    await page.getByText('Waiting for a restart: turns.concurrency').waitFor();
    await tab.screenshot('config-saved');
    const file = path.join(fixture.home, 'config.json');
    await vi.waitFor(
      async () => expect(JSON.parse(await readFile(file, 'utf8')).limits.messagesPerMinute).toBe(44),
      WAIT,
    );
    await writeFile(file, JSON.stringify({ limits: { messagesPerMinute: 50 } }));
    await rate.fill('45');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('was edited since').waitFor();
    expect(JSON.parse(await readFile(file, 'utf8')).limits.messagesPerMinute).toBe(50);
  });

  it('add the first entry to a record that is empty', async () => {
    const page = await open('models');
    await page.getByRole('button', { name: 'Add: Model servers' }).click();
    const field = page.getByRole('textbox', { name: 'Model servers' });
    await page.locator('textarea:focus').and(field).waitFor();
    expect(JSON.parse(await field.inputValue())).toMatchObject({ name: expect.anything() });
    await tab.screenshot('first-entry');
    await page.getByRole('button', { name: 'Discard changes' }).click();
    await page.getByRole('button', { name: 'Add: Model servers' }).waitFor();
    const about = page.locator('.setting', { hasText: 'Model servers' }).first().locator('.quiet').first();
    expect(await about.innerText()).toMatch(/^[A-Z]/);
  });

  it('find a setting by its words, and lead to it', async () => {
    const page = await open('overview');
    await page.getByRole('searchbox', { name: 'Search settings' }).fill('summarize long');
    await page.getByRole('link', { name: /^Summarize long conversations/ }).click();
    await page.locator('.setting.wanted').getByText('afterTurn.compression').waitFor();
    expect(await page.getByRole('switch', { name: 'Summarize long conversations' }).isChecked()).toBe(true);
    await page.getByRole('link', { name: 'Back to chats' }).click();
    await page.locator('#draft').waitFor();
  });
});
