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

  it('sends an edited question in a new chat, which knows what came before it', async () => {
    await write(tab.page, 'my name is Ann');
    await shows('my name is Ann', 'echo: my name is Ann');
    const edit = { name: 'Edit and send in another chat' };
    await tab.page.getByRole('button', edit).waitFor();
    // An answer that has grown to its end is on screen before the page has read what is stored of its turn.
    const stored = Promise.withResolvers<void>();
    await tab.page.route('**/messages?*', async (route) => {
      await stored.promise;
      await route.continue();
    });
    await write(tab.page, 'what is tea?');
    await shows('my name is Ann', 'echo: my name is Ann', 'what is tea?', 'echo: what is tea?');
    const question = tab.page.locator('.turn', { hasText: 'what is tea?' });
    expect(await question.getByRole('button', edit).count(), 'only what is stored can be edited').toBe(0);
    stored.resolve();
    const before = tab.page.url();
    await question.getByRole('button', edit).click();
    await tab.page.getByRole('textbox', { name: 'Your message' }).fill('what is coffee?');
    await tab.screenshot('editing');
    await tab.page.locator('.edit-question').getByRole('button', { name: 'Send' }).click();
    await shows('my name is Ann', 'echo: my name is Ann', 'what is coffee?', 'echo: what is coffee?');
    expect(tab.page.url()).not.toBe(before);
    await tab.page.goto(before);
    await shows('my name is Ann', 'echo: my name is Ann', 'what is tea?', 'echo: what is tea?');
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
