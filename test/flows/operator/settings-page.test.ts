/** The settings on the page of a whole gateway: every screen read and used, in a browser, on a wide screen and on a phone. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { hashSecret } from '../../../src/security/index.ts';
import { describePage, PHONE } from '../../browser/describe-page.ts';
import { openGatewayFixture, OWNER, WAIT } from '../setup.ts';
import type { GatewayFixture } from '../setup.ts';

const SCREENS = [
  'overview',
  'configuration',
  'usage',
  'access',
  'tokens',
  'rules',
  'schedules',
  'memory',
  'profiles',
  'dead-letters',
  'log',
];

describePage('the settings of a gateway', (tab) => {
  let fixture: GatewayFixture;
  beforeAll(async () => {
    const file = { limits: { messagesPerMinute: 30 }, access: { telegram: { allow: ['7001'] } } };
    fixture = await openGatewayFixture('embedded', { telegram: true, file });
    await fixture.post('plans', 'what is the weather?');
    await fixture.idle('http:plans');
    const json = { session: 'http:plans', task: 'Tell me the tides', everyMinutes: 60 };
    await fixture.call('/v1/schedules', { json });
    const fact = { session: 'http:plans', untrusted: false, key: 'k' } as const;
    await fixture.store.memories.remember('telegram:7001', { ...fact, text: 'Likes the sea.' });
    await mkdir(path.join(fixture.home, 'logs'), { recursive: true });
    const line = { level: 40, time: 1_790_000_000_000, code: 7, msg: 'channel_unreachable' };
    await writeFile(path.join(fixture.home, 'logs', 'parley.log'), `${JSON.stringify(line)}\n`);
  });
  afterAll(() => fixture.close());

  async function open(screen: string, context = {}): Promise<Page> {
    const page = await tab.open(fixture.gateway.url, { ...context, token: OWNER });
    await page.locator('#transcript').waitFor();
    return await go(page, screen);
  }
  async function go(page: Page, screen: string): Promise<Page> {
    await page.evaluate((name) => void (location.hash = `#settings/${name}`), screen);
    await page.locator(`.settings-body[data-screen="${screen}"]`).waitFor();
    return page;
  }
  /** Controls that nobody could tell what they are for. */
  const unnamed = (page: Page): Promise<string[]> =>
    page.locator('#settings :is(button, a, input, select, textarea)').evaluateAll((found) =>
      found
        .filter((one) => {
          const labels =
            one instanceof HTMLInputElement ||
            one instanceof HTMLSelectElement ||
            one instanceof HTMLTextAreaElement
              ? [...(one.labels ?? [])]
              : [one];
          const name = one.getAttribute('aria-label') ?? labels.map((label) => label.textContent).join('');
          return name.trim() === '';
        })
        .map((one) => one.outerHTML.slice(0, 120)),
    );

  it('has a name on every control of every screen, and fits on a phone in dark mode', async () => {
    const page = await open('overview', PHONE);
    const found: unknown[] = [];
    for (const screen of SCREENS) {
      await go(page, screen);
      const tooWide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
      found.push([screen, await unnamed(page), tooWide]);
      await tab.screenshot(`phone-${screen}`);
    }
    expect(found).toEqual(SCREENS.map((screen) => [screen, [], false]));
  });

  it('is reached from the list of chats by an admin, shows what is there, and leads back to a chat', async () => {
    const page = await tab.open(fixture.gateway.url, { token: OWNER });
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByText('Telegram', { exact: true }).waitFor();
    await page.getByRole('navigation', { name: 'Settings' }).getByRole('link', { name: 'Profiles' }).click();
    await page.locator('.settings-row-title', { hasText: 'default' }).first().waitFor();
    await go(page, 'log');
    await page.getByText('channel_unreachable').waitFor();
    await go(page, 'dead-letters');
    await page.getByText('Nothing was given up.').waitFor();
    for (const screen of SCREENS) {
      await go(page, screen);
      await tab.screenshot(`wide-${screen}`);
    }
    await page.getByRole('button', { name: 'New chat' }).click();
    await page.locator('#draft').waitFor();
    expect(await page.locator('#settings').isVisible()).toBe(false);
  });

  it('is no entry for a token without admin', async () => {
    const token = 'only-chats-and-nothing-else-2';
    await fixture.store.access.putToken({ hash: hashSecret(token), name: 'friend', scopes: ['chat'] });
    const page = await tab.open(fixture.gateway.url, { token });
    await page.locator('#transcript').waitFor();
    expect(await page.locator('#open-settings').isVisible()).toBe(false);
  });

  it('makes a token that is shown once, and revokes it after a question', async () => {
    const page = await open('tokens');
    await page.getByLabel('Name', { exact: true }).fill('script');
    await page.getByRole('button', { name: 'Create' }).click();
    const secret = await page.locator('.settings-secret code').innerText();
    expect((await fixture.call('/v1/sessions', { token: secret })).status).toBe(200);
    await tab.screenshot('token');
    await page.getByRole('button', { name: 'I have kept it' }).click();
    await page.getByRole('button', { name: 'Revoke: script' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('button', { name: 'Revoke: script' }).waitFor({ state: 'detached' });
    expect(await page.locator('#settings').innerText()).not.toContain(secret);
  });

  it('grants a right and takes it away', async () => {
    const page = await open('access');
    await page.getByLabel('Id', { exact: true }).fill('7777');
    await page.getByRole('button', { name: 'Add' }).click();
    await page.getByRole('button', { name: 'Remove: telegram 7777, may write privately' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await page.locator('.settings-row', { hasText: 'telegram 7777' }).waitFor({ state: 'detached' });
    expect(await fixture.store.access.grants()).toEqual([]);
  });

  it('pauses, resumes and edits a schedule, and deletes a fact', async () => {
    const page = await open('schedules');
    await page.getByRole('button', { name: 'Pause: Tell me the tides' }).click();
    await page.getByRole('button', { name: 'Resume: Tell me the tides' }).click();
    await page.getByRole('button', { name: 'Edit: Tell me the tides' }).click();
    await page.getByRole('textbox', { name: 'What is to be done?' }).fill('Tell me the moon');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Pause: Tell me the moon' }).waitFor();
    await go(page, 'memory');
    await page.getByRole('button', { name: 'Delete: Likes the sea.' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('Nothing is remembered.').waitFor();
    expect(await fixture.store.memories.memories('telegram:7001', 9)).toEqual([]);
  });

  it('shows usage as bars with a table of the same numbers', async () => {
    const page = await open('usage');
    await page.getByLabel('By').selectOption('channel');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByRole('cell', { name: 'http', exact: true }).waitFor();
    expect(await page.locator('.usage-bar').count()).toBe(1);
  });

  it('changes the configuration in a form, and says what is wrong and what counts when', async () => {
    const page = await open('configuration');
    await page.locator('summary', { hasText: 'turns' }).click();
    const rate = page.getByLabel('limits.messagesPerMinute', { exact: true });
    await rate.fill('0');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').filter({ hasText: 'limits.messagesPerMinute' }).waitFor();
    await tab.screenshot('config-error');
    await rate.fill('44');
    await page.getByLabel('turns.concurrency', { exact: true }).fill('12');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('counts now: limits.messagesPerMinute').waitFor();
    await page.getByText('counts after a restart: turns.concurrency').waitFor();
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
});
