/**
 * What a user finds out about a chat and themselves on the page: a found message, the export, files, memories, the
 * look.
 */
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { expect, it, vi } from 'vitest';
import { objections } from '../browser/axe.ts';
import { chooseFromAccount, chooseFromChat, WAIT } from '../browser/browser.ts';
import { ADMIN } from '../../../../fakes/gateway/gateway-api.ts';
import { describePageOnFakeGateway, type PageFixture } from '../browser/describe-page.ts';

/** A chat of 260 messages, with the word `heron` in the message of this number only. */
const FOUND = 21;

function fillLongChat({ api }: PageFixture): void {
  api.gateway.addSession('http:long', 'admin', { title: 'A long chat' });
  for (let seq = 1; seq <= 260; seq += 1) {
    const said = seq === FOUND ? 'where does the heron live' : `message ${seq}`;
    const role = seq % 2 === 1 ? 'user' : 'assistant';
    api.gateway.commit('http:long', `t${Math.ceil(seq / 2)}`, role, said, false);
  }
}

const backgroundOf = (page: Page): Promise<string> =>
  page.evaluate(() => getComputedStyle(document.body).backgroundColor);

describePageOnFakeGateway('a chat and its person', (tab, fixture) => {
  it('opens a search result at its message, however far back it is, and marks it', async () => {
    const page = await fixture.open();
    fillLongChat(fixture);
    await page.getByLabel('Search chats and messages').fill('heron');
    await page.getByRole('region', { name: 'Search results' }).getByText('heron').click();
    const found = page.locator('.turn.found');
    await found.waitFor();
    await expect.poll(() => found.innerText(), WAIT).toContain('where does the heron live');
    const isSeen = (): Promise<boolean> =>
      found.evaluate((turn) => {
        const { top, bottom } = turn.getBoundingClientRect();
        return top >= 0 && bottom <= innerHeight;
      });
    await vi.waitFor(async () => expect(await isSeen()).toBe(true), WAIT);
    expect(await page.evaluate(() => document.activeElement?.classList.contains('found'))).toBe(true);
    await tab.screenshot('search-hit');
  });

  it("shows whose chat it is when an admin looks at someone else's", async () => {
    const page = await fixture.open();
    fixture.api.gateway.addSession('http:theirs', 'chat', { title: 'Their chat' });
    fixture.api.gateway.commit('http:theirs', 't1', 'user', 'hello', false);
    await page.reload();
    await page.getByRole('navigation', { name: 'Your chats' }).getByText('Their chat').click();
    const owner = page.locator('#owner-badge');
    await owner.waitFor();
    await expect.poll(() => owner.innerText(), WAIT).toBe('Chat of chat');
    await tab.screenshot('owner');
    await page.getByRole('button', { name: 'New chat' }).click();
    await owner.waitFor({ state: 'hidden' });
  });

  it('is a new one after a reload before its first message, not one that is named by its address', async () => {
    const page = await fixture.open();
    await page.reload();
    await page.getByText('What would you like to talk about?').waitFor();
    await expect.poll(() => page.locator('#chat-title').innerText(), WAIT).toBe('New chat');
    await page.locator('.chat-head [popovertarget=chat-menu]').click();
    expect(await page.locator('#chat-menu').getByRole('button').allInnerTexts()).toEqual([
      'Connect another app',
    ]);
  });

  it('saves the whole chat as Markdown or JSON, and lists its files, which can be downloaded', async () => {
    const page = await fixture.open();
    const turn = await fixture.ask('a note');
    turn.say('Noted.');
    turn.end();
    const key = decodeURIComponent(new URL(page.url()).hash.slice(1));
    const sent = await fetch(`${fixture.api.url}/v1/sessions/${key}/files?name=plan.txt`, {
      method: 'POST',
      body: 'step one',
      headers: { authorization: ADMIN },
    });
    expect(sent.status).toBe(201);
    const saved = async (choose: () => Promise<void>): Promise<[string, string]> => {
      const [download] = await Promise.all([page.waitForEvent('download'), choose()]);
      return [download.suggestedFilename(), await readFile(await download.path(), 'utf8')];
    };
    const [markdownName, markdown] = await saved(() => chooseFromChat(page, 'Export as Markdown'));
    expect(markdownName).toBe('a note.md');
    expect(markdown).toContain('Noted.');
    const [, json] = await saved(() => chooseFromChat(page, 'Export as JSON'));
    expect(JSON.parse(json)).toMatchObject({ messages: [{ content: 'a note' }, { content: 'Noted.' }] });
    await chooseFromChat(page, 'Files');
    const dialog = page.getByRole('dialog', { name: 'Files of this chat' });
    const take = (): Promise<void> => dialog.getByRole('button', { name: 'Download plan.txt' }).click();
    expect(await saved(take)).toEqual(['plan.txt', 'step one']);
    expect(await objections(page)).toEqual([]);
    await tab.screenshot('details');
    await dialog.getByRole('button', { name: 'Close' }).click();
    await dialog.waitFor({ state: 'detached' });
  });

  it('shows every user what is remembered about them, and forgets what they select', async () => {
    const facts = ['Likes <b>tea</b>', 'Lives in Bremen'].map((text, at) => ({
      id: at + 1,
      text,
      session: 'http:one' as const,
      untrusted: at === 1,
      createdAt: new Date(0),
    }));
    const forgotten: number[] = [];
    fixture.api.gateway.memories = {
      own: async () => facts.filter(({ id }) => !forgotten.includes(id)),
      deleteMemory: async (_caller, id) => forgotten.push(id) > 0,
    };
    const page = await fixture.open();
    await chooseFromAccount(page, 'open-memory');
    const dialog = page.getByRole('dialog', { name: 'What is remembered about you' });
    await dialog.getByText('Likes <b>tea</b>').waitFor();
    await dialog.getByText('unverified').waitFor();
    expect(await objections(page)).toEqual([]);
    await tab.screenshot('memory');
    await dialog.getByRole('button', { name: 'Forget: Likes <b>tea</b>' }).click();
    await page
      .getByRole('dialog', { name: 'Delete “Likes <b>tea</b>”?' })
      .getByText('Delete', { exact: true })
      .click();
    await dialog.getByText('Likes <b>tea</b>').waitFor({ state: 'detached' });
    expect(forgotten).toEqual([1]);
  });

  it('is light, dark or follows the system, and stays that way after a reload', async () => {
    const page = await fixture.open({ colorScheme: 'light' });
    const light = await backgroundOf(page);
    const account = page.locator('#sidebar-foot .menu-opener');
    await account.click();
    await page.locator('#theme').selectOption('Dark');
    const dark = await backgroundOf(page);
    expect(dark).not.toBe(light);
    await page.reload();
    await account.click();
    await page.locator('#theme').waitFor();
    expect([await page.locator('#theme').inputValue(), await backgroundOf(page)]).toEqual(['dark', dark]);
    await page.locator('#theme').selectOption('System');
    expect(await backgroundOf(page)).toBe(light);
  });
});
