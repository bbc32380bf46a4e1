/** Messages that the gateway refuses: the text stays with its writer, and the reason is shown next to it. */
import { expect, it, vi } from 'vitest';
import { objectionsAsItIs } from '../browser/axe.ts';
import { WAIT, write } from '../browser/browser.ts';
import { describePageOnFakeGateway } from '../browser/describe-page.ts';

describePageOnFakeGateway('a refused message', (tab, fixture) => {
  const field = () => tab.page.getByLabel('Message', { exact: true });
  const long = 'a thought that took long '.repeat(1_300);

  it('is back in the field with the reason, and is sent once it is allowed', async () => {
    const page = await fixture.open();
    await write(page, long);
    await page.getByRole('alert').getByText('Not sent: At most 32000 characters.').waitFor();
    expect(await field().inputValue()).toBe(long);
    expect(await page.locator('.turn').count()).toBe(0);
    await page.getByText('What would you like to talk about?').waitFor();
    expect(await objectionsAsItIs(page)).toEqual([]);
    await tab.screenshot('refused');
    await field().fill('a short one');
    expect(await page.getByText('Not sent').count()).toBe(0);
    await field().press('Enter');
    await vi.waitFor(() => expect(fixture.turns).toHaveLength(1), WAIT);
    expect(await field().inputValue()).toBe('');
  });

  it('restores its files', async () => {
    const page = await fixture.open();
    const buffer = Buffer.from('hello');
    await page.locator('#file-picker').setInputFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer });
    await page.locator('.file-chip.sent').waitFor();
    await write(page, long);
    await page.getByText('Not sent: At most 32000 characters.').waitFor();
    await page.getByRole('list', { name: 'Files of the message' }).getByText('notes.txt').waitFor();
    await field().fill('look at this');
    await field().press('Enter');
    await vi.waitFor(() => expect(fixture.turns[0]?.message.media).toHaveLength(1), WAIT);
  });

  it('stays in the chat, to be tried again, if another one is already being written', async () => {
    const page = await fixture.open();
    let answer: () => void = () => undefined;
    const late = new Promise<void>((resolve) => (answer = resolve));
    await page.route('**/messages', async (route) => {
      await late;
      await route.continue();
    });
    await write(page, long);
    await page.locator('.sending').waitFor();
    await field().fill('the second');
    answer();
    await page.getByText('Not sent: At most 32000 characters.').waitFor();
    expect(await field().inputValue()).toBe('the second');
    await page.getByRole('button', { name: 'Try again' }).waitFor();
  });
});
