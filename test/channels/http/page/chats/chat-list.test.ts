/** The list of chats on the page: found, named, pinned, archived, marked; and what each chat remembers. */
import { expect, it, vi } from 'vitest';
import { chooseFromAccount, WAIT } from '../browser/browser.ts';
import { describePageOnFakeGateway } from '../browser/describe-page.ts';

describePageOnFakeGateway('the list of chats', (tab, fixture) => {
  it('keeps a draft for each chat, even across a reload, and stops an answer with Escape', async () => {
    await fixture.open();
    const turn = await fixture.ask('count');
    turn.say('one ');
    const field = tab.page.getByLabel('Message', { exact: true });
    await field.fill('half a thought');
    await tab.page.getByRole('button', { name: 'New chat' }).click();
    expect(await field.inputValue()).toBe('');
    await tab.page.getByRole('navigation', { name: 'Your chats' }).getByText('count').click();
    await tab.page.reload();
    await tab.page.locator('.md', { hasText: 'one' }).waitFor();
    expect(await field.inputValue()).toBe('half a thought');
    await field.press('Escape');
    await vi.waitFor(() => expect(turn.stopped.signal.aborted).toBe(true), WAIT);
    expect(await field.inputValue()).toBe('half a thought');
  });

  it('finds chats by what was said in them, renames, pins, archives and deletes several together', async () => {
    await fixture.open();
    for (const said of ['about cats', 'about dogs', 'about birds']) {
      await tab.page.getByRole('button', { name: 'New chat' }).click();
      (await fixture.ask(said)).end();
    }
    const list = tab.page.getByRole('navigation', { name: 'Your chats' });
    const act = async (chat: string, action: string): Promise<void> => {
      await list.getByLabel(`Actions for “${chat}”`).click();
      await list.getByRole('button', { name: `${action} “${chat}”` }).click();
    };
    const names = (): Promise<string[]> => list.locator('.session-title').allInnerTexts();
    await list.getByText('about birds').waitFor();
    await tab.page.getByLabel('Search chats and messages').fill('cats');
    const results = tab.page.getByRole('region', { name: 'Search results' });
    await results.getByText('1 chat found.').waitFor();
    expect(await results.locator('mark').allInnerTexts()).toEqual(['cats', 'cats']);
    await tab.screenshot('search');
    await results.getByRole('button', { name: /about cats/ }).click();
    await tab.page.locator('.message-text', { hasText: 'about cats' }).waitFor();
    await tab.page.getByLabel('Search chats and messages').fill('');
    await act('about cats', 'Pin');
    await vi.waitFor(async () => expect((await names())[0]).toBe('about cats'), WAIT);
    await act('about cats', 'Rename');
    await tab.page.getByRole('textbox', { name: 'Rename chat' }).fill('All cats');
    await tab.page.getByRole('button', { name: 'Save' }).click();
    await tab.page.getByRole('heading', { name: 'All cats' }).waitFor();
    await act('about dogs', 'Archive');
    await vi.waitFor(async () => expect(await names()).toEqual(['All cats', 'about birds']), WAIT);
    const archived = tab.page.locator('.toast', { hasText: 'Chat archived.' });
    await archived.getByRole('button', { name: 'Undo' }).click();
    await vi.waitFor(async () => expect(await names()).toContain('about dogs'), WAIT);
    expect(await archived.count()).toBe(0);
    await act('about dogs', 'Archive');
    await vi.waitFor(async () => expect(await names()).not.toContain('about dogs'), WAIT);
    await chooseFromAccount(tab.page, 'archived');
    await vi.waitFor(async () => expect(await names()).toEqual(['about dogs']), WAIT);
    await tab.page.getByRole('button', { name: 'All chats' }).click();
    await list.getByText('about birds').waitFor();
    await tab.screenshot('chats');
    await act('about birds', 'Select');
    for (const name of ['All cats']) await list.getByRole('button', { name }).click();
    await tab.screenshot('selected');
    await tab.page
      .getByRole('group', { name: 'Selected chats' })
      .getByRole('button', { name: 'Delete' })
      .click();
    await tab.page.locator('#confirm').getByRole('button', { name: 'Delete' }).click();
    await list.getByText('No chats yet.').waitFor();
  });

  it('immediately marks what is running in other chats, and what is new in them afterwards', async () => {
    await fixture.open();
    (await fixture.ask('here')).end();
    const list = tab.page.getByRole('navigation', { name: 'Your chats' });
    await list.getByText('here').waitFor();
    await fixture.api.gateway.receive({
      id: 'u2',
      channel: 'telegram',
      chatId: '42',
      senderId: '42',
      content: 'from afar',
      timestamp: Date.now(),
      media: [],
      place: 'private',
      mentioned: true,
    });
    const row = list.locator('.session-row', { hasText: 'from afar' });
    await row.getByText('running').waitFor();
    fixture.turns[1]?.say('An answer.');
    fixture.turns[1]?.end();
    await row.getByText('2 new').waitFor();
    await tab.screenshot('unread');
    await row.getByText('from afar').click();
    await vi.waitFor(async () => expect(await row.getByText('2 new').count()).toBe(0), WAIT);
  });

  it('stays as it was asked for last when an earlier answer comes later', async () => {
    await fixture.open();
    (await fixture.ask('kept in the list')).end();
    const list = tab.page.getByRole('navigation', { name: 'Your chats' });
    const chat = list.locator('.session-title', { hasText: 'kept in the list' });
    await chat.waitFor();
    const released = Promise.withResolvers<void>();
    await tab.page.route(/\/v1\/sessions\?.*archived=true/, async (route) => {
      const response = await route.fetch();
      await released.promise;
      await route.fulfill({ response });
    });
    const late = tab.page.waitForResponse(/archived=true/);
    const asked = tab.page.waitForRequest(/archived=true/);
    await chooseFromAccount(tab.page, 'archived');
    await asked;
    const again = tab.page.waitForResponse(/\/v1\/sessions\?/);
    await tab.page.getByRole('button', { name: 'All chats' }).click();
    await again;
    released.resolve();
    await (await late).finished();
    // Two frames: the page has read the answer.
    await tab.page.evaluate(
      () => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))),
    );
    expect(await chat.count()).toBe(1);
  });
});
