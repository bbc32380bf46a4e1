/** Moving between chats with the browser's own Back and Forward, and what is asked before a message is sent. */
import { expect, it, vi } from 'vitest';
import { WAIT, write } from '../browser/browser.ts';
import { describePageOnFakeGateway, PHONE } from '../browser/describe-page.ts';

describePageOnFakeGateway('the open chat', (tab, fixture) => {
  const shows = (text: string): Promise<void> =>
    vi.waitFor(
      async () => expect(await tab.page.locator('.message-text').allInnerTexts()).toEqual([text]),
      WAIT,
    );

  it('is the one before after Back, and the one after it after Forward', async () => {
    const page = await fixture.open();
    (await fixture.ask('about cats')).end();
    const cats = page.url();
    await page.getByRole('button', { name: 'New chat' }).click();
    (await fixture.ask('about dogs')).end();
    const dogs = page.url();
    await page.goBack();
    await shows('about cats');
    expect(page.url()).toBe(cats);
    await page.goForward();
    await shows('about dogs');
    expect(page.url()).toBe(dogs);
    await page.getByRole('navigation', { name: 'Your chats' }).getByText('about cats').click();
    await shows('about cats');
    await page.goBack();
    await shows('about dogs');
  });

  it('stays when Back closes the list of chats that covers it on a phone', async () => {
    const page = await fixture.open(PHONE);
    const turn = await fixture.ask('hello');
    turn.end();
    const address = page.url();
    await page.locator('#open-sidebar').click();
    await page.locator('#close-sidebar').waitFor();
    await page.goBack();
    await page.locator('#close-sidebar').waitFor({ state: 'hidden' });
    expect(page.url()).toBe(address);
    await shows('hello');
    await page.locator('#open-sidebar').click();
    await page.locator('#close-sidebar').click();
    await page.locator('#close-sidebar').waitFor({ state: 'hidden' });
    expect(page.url()).toBe(address);
  });

  it('offers at most ten controls while it is empty, and its head and message field take at most 110 pixels of a phone', async () => {
    const page = await fixture.open({
      viewport: { width: 390, height: 844 },
      hasTouch: true,
      isMobile: true,
    });
    await page.locator('.choices').waitFor();
    const [head = 0, field = 0] = await Promise.all(
      ['.chat-head', '#composer'].map(async (place) => (await page.locator(place).boundingBox())?.height),
    );
    expect(head + field).toBeLessThanOrEqual(110);
    await page.setViewportSize({ width: 1_280, height: 800 });
    const controls = await page
      .locator(':is(button, input, select, textarea):enabled:visible, :is(a[href], summary):visible')
      .evaluateAll((found) =>
        found.filter((one) => !one.matches('.skip')).map((one) => one.id || one.className),
      );
    expect(controls.slice(10)).toEqual([]);
  });

  it('asks before something like a command that is none goes to the model, and names the command that was meant', async () => {
    const page = await fixture.open();
    await write(page, '/statsu now');
    const question = page.getByRole('dialog', { name: /no command \/statsu; did you mean \/status\?/ });
    await question.getByRole('button', { name: 'Cancel' }).click();
    await expect.poll(() => page.locator('#draft').inputValue(), WAIT).toBe('/statsu now');
    expect(fixture.turns).toEqual([]);
    await page.keyboard.press('Enter');
    await question.getByRole('button', { name: 'Send as a message' }).click();
    await vi.waitFor(() => expect(fixture.turns[0]?.message.content).toBe('/statsu now'), WAIT);
  });
});
