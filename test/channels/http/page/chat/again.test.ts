/** The page acts on a conversation of a whole gateway: another answer, the first one again, undone, edited, forked. */
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { type GatewayFixture, openGatewayFixture, OWNER, WAIT } from '../../../../flows/setup.ts';
import { write } from '../browser/browser.ts';
import { describePage, PHONE } from '../browser/describe-page.ts';

describePage('acting on a conversation', (tab) => {
  let fixture: GatewayFixture;
  beforeAll(async () => {
    fixture = await openGatewayFixture();
  });
  afterAll(() => fixture.close());
  beforeEach(() => tab.open(fixture.gateway.url, { token: OWNER }));

  /** The visible texts of the conversation, all read at the same moment. */
  const seen = async (): Promise<string[]> =>
    await tab.page
      .locator('#transcript :is(.message-text, .md)')
      .evaluateAll((all: HTMLElement[]) =>
        all.filter((one) => one.checkVisibility()).map((one) => one.innerText),
      );
  const shows = (...texts: string[]): Promise<void> =>
    vi.waitFor(async () => expect(await seen()).toEqual(texts), WAIT);
  const press = async (name: string): Promise<void> =>
    await tab.page.getByRole('button', { name, exact: true }).filter({ visible: true }).last().click();

  it('asks again, switches between the answers, and shows the same after a reload', async () => {
    fixture.ollama.answer('the first', { when: 'tell me one' });
    await write(tab.page, 'tell me one');
    await shows('tell me one', 'the first');
    fixture.ollama.answer('the second', { when: 'tell me one' });
    await press('Answer again');
    await shows('tell me one', 'the second');
    await tab.page.getByText('2/2').waitFor();
    await tab.screenshot('second-answer');
    await press('Earlier answer');
    await shows('tell me one', 'the first');
    await tab.page.getByText('1/2').waitFor();
    await write(tab.page, 'go on');
    await shows('tell me one', 'the first', 'go on', 'echo: go on');
    const { body } = await fixture.modelCall('go on');
    expect(body.messages.some(({ content }) => content === 'the second')).toBe(false);
    await tab.page.reload();
    await shows('tell me one', 'the first', 'go on', 'echo: go on');
  });

  it('shows how full the context is after an answer, and nothing before one and after /new', async () => {
    const ring = tab.page.getByRole('meter', { name: 'Context in use' });
    expect(await ring.count()).toBe(0);
    await write(tab.page, 'how full is it?');
    await shows('how full is it?', 'echo: how full is it?');
    await ring.waitFor();
    const key = new URL(tab.page.url()).hash.slice(1);
    const model: unknown = await (await fixture.call(`/v1/sessions/${key}/model`)).json();
    const { tokens, window } = (model as { contextUse: { tokens: number; window: number } }).contextUse;
    expect(tokens).toBeGreaterThan(0);
    expect(window).toBeGreaterThan(tokens);
    const number = new Intl.NumberFormat('en-US');
    await vi.waitFor(
      async () =>
        expect(await ring.getAttribute('title')).toBe(
          `${number.format(tokens)} of ${number.format(window)} tokens`,
        ),
      WAIT,
    );
    await tab.screenshot('context-ring');
    await write(tab.page, '/new');
    await tab.page.locator('.reset-line').waitFor();
    await tab.page.reload();
    await tab.page.locator('.reset-line').waitFor();
    expect(await (await fixture.call(`/v1/sessions/${key}/model`)).json()).toMatchObject({
      contextUse: null,
    });
    expect(await ring.count()).toBe(0);
  });

  it('marks what /undo removes, and restores it', async () => {
    await write(tab.page, 'forget me');
    await shows('forget me', 'echo: forget me');
    await write(tab.page, '/undo');
    await tab.page.getByText('Undone: the model no longer sees this.').waitFor();
    await tab.screenshot('taken-back');
    await expect
      .poll(() => tab.page.locator('.taken-back .message-text').innerText(), WAIT)
      .toBe('forget me');
    await press('Put back');
    await tab.page.getByText('Undone: ').waitFor({ state: 'hidden' });
  });

  it('shows in a dialog what an undo brings back and what not, and does nothing when it is declined', async () => {
    const args = { action: 'replace', items: [{ text: 'Water the plants' }] };
    fixture.ollama.answer({ toolCalls: [{ name: 'todo', args }] }, { when: 'list it' });
    await write(tab.page, 'list it');
    await shows('list it', 'echo: list it');
    const dialog = tab.page.getByRole('dialog', { name: 'Undo “list it” and its answer?' });
    await press('Undo this answer');
    await dialog.getByRole('listitem').filter({ hasText: 'the to-do list (removed)' }).waitFor();
    await tab.screenshot('undo-dialog');
    await dialog.getByRole('button', { name: 'Keep' }).click();
    await dialog.waitFor({ state: 'hidden' });
    expect(await tab.page.getByText('Undone: ').count()).toBe(0);
    const key = new URL(tab.page.url()).hash.slice(1);
    const todos = async () => await fixture.store.todos.todos(key as 'http:1');
    expect(await todos()).toMatchObject([{ text: 'Water the plants' }]);
    await press('Undo this answer');
    await dialog.getByRole('button', { name: 'Undo' }).click();
    await tab.page.getByText('Undone: the model no longer sees this.').waitFor();
    expect(await todos()).toEqual([]);
  });

  it('answers the last question in other words in the same chat, as a version of it', async () => {
    await write(tab.page, 'what is tea?');
    await shows('what is tea?', 'echo: what is tea?');
    const { href } = new URL(tab.page.url());
    await press('Edit');
    const field = tab.page.getByRole('textbox', { name: 'Your message' });
    await field.fill('');
    await field.press('Escape');
    await shows('what is tea?', 'echo: what is tea?');
    await press('Edit');
    await field.fill('what is coffee?');
    await tab.screenshot('rewording');
    await tab.page.locator('.edit-question').getByRole('button', { name: 'Send' }).click();
    await shows('what is coffee?', 'echo: what is coffee?');
    await tab.page.getByText('2/2').waitFor();
    expect(tab.page.url()).toBe(href);
    await press('Earlier answer');
    await shows('what is tea?', 'echo: what is tea?');
    await tab.page.reload();
    await shows('what is tea?', 'echo: what is tea?');
    await press('Later answer');
    await shows('what is coffee?', 'echo: what is coffee?');
    await tab.screenshot('reworded');
  });

  it('keeps the new words in the field when the gateway refuses them', async () => {
    await write(tab.page, 'short');
    await shows('short', 'echo: short');
    await press('Edit');
    await tab.page.route('**/retry', (route) =>
      route.fulfill({ status: 409, json: { error: { code: 'not_changed', message: 'Not now.' } } }),
    );
    const field = tab.page.getByRole('textbox', { name: 'Your message' });
    await field.fill('longer');
    await tab.page.locator('.edit-question').getByRole('button', { name: 'Send' }).click();
    await tab.page.locator('.toast', { hasText: 'Not now.' }).waitFor();
    expect(await field.inputValue()).toBe('longer');
  });

  it('sends an older edited question in a new chat, which knows what came before it', async () => {
    await write(tab.page, 'my name is Ann');
    await shows('my name is Ann', 'echo: my name is Ann');
    await write(tab.page, 'what is tea?');
    await shows('my name is Ann', 'echo: my name is Ann', 'what is tea?', 'echo: what is tea?');
    await tab.page.locator('.turn', { hasText: 'what is tea?' }).locator('.turn-foot time').waitFor();
    // An answer that has grown to its end is on screen before the page has read what is stored of its turn.
    const stored = Promise.withResolvers<void>();
    await tab.page.route('**/messages?*', async (route) => {
      await stored.promise;
      await route.continue();
    });
    await write(tab.page, 'and milk?');
    await tab.page.locator('.md', { hasText: 'echo: and milk?' }).waitFor();
    const newest = tab.page.locator('.turn', { hasText: 'and milk?' });
    const edit = { name: /^Edit/ };
    expect(await newest.getByRole('button', edit).count(), 'only what is stored can be edited').toBe(0);
    stored.resolve();
    await newest.getByRole('button', edit).waitFor();
    const before = tab.page.url();
    const older = tab.page.locator('.turn', { hasText: 'what is tea?' });
    await older.getByRole('button', { name: 'Edit and send in another chat' }).click();
    await tab.page.getByText('Sending starts a new chat with everything before this message.').waitFor();
    await tab.page.getByRole('textbox', { name: 'Your message' }).fill('what is coffee?');
    await tab.screenshot('editing');
    await tab.page.locator('.edit-question').getByRole('button', { name: 'Send' }).click();
    await shows('my name is Ann', 'echo: my name is Ann', 'what is coffee?', 'echo: what is coffee?');
    expect(tab.page.url()).not.toBe(before);
  });

  it('continues from an answer in a new chat, on a phone in dark mode, too', async () => {
    await tab.open(fixture.gateway.url, { ...PHONE, token: OWNER });
    for (const text of ['one', 'two']) {
      await write(tab.page, text);
      await tab.page.locator('.md', { hasText: `echo: ${text}` }).waitFor();
    }
    await tab.screenshot('phone');
    await tab.page.getByRole('button', { name: 'Continue from here in another chat' }).first().click();
    await shows('one', 'echo: one');
    await write(tab.page, 'three');
    await shows('one', 'echo: one', 'three', 'echo: three');
    const { body } = await fixture.modelCall('three');
    expect(body.messages.map(({ content }) => content)).not.toContain('two');
  });
});
