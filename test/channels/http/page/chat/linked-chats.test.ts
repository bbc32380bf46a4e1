/** The dialog of linked chats on the page of a whole gateway: codes both ways, consent, the list, and separating. */
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { FRIENDS, type GatewayFixture, openGatewayFixture, OWNER, WAIT } from '../../../../flows/setup.ts';
import { chooseFromChat, write } from '../browser/browser.ts';
import { describePage, PHONE } from '../browser/describe-page.ts';

const people = FRIENDS.values();

describePage('linked chats', (tab) => {
  let fixture: GatewayFixture;
  beforeAll(async () => {
    const file = { access: { telegram: { allow: FRIENDS } } };
    fixture = await openGatewayFixture({ telegram: true, file });
  });
  afterAll(() => fixture.close());
  beforeEach(() => tab.open(fixture.gateway.url, { token: OWNER }));

  const someone = (): string => people.next().value ?? '';
  const screen = (chat: string): string => fixture.telegram.screen(chat).join('\n');
  const seen = (chat: string, text: string): Promise<void> =>
    vi.waitFor(() => expect(screen(chat)).toContain(text), WAIT);
  const says = (chat: string, text: string): unknown => fixture.telegram.says(chat, text, chat);
  const dialog = () => tab.page.getByRole('dialog', { name: 'Linked chats' });

  it('takes the code of another chat, asks, lists the chat, and separates it again', async () => {
    const chat = someone();
    says(chat, '/link');
    await seen(chat, '/link ');
    const code = /\/link ([0-9A-Z-]{11})/.exec(screen(chat))?.[1] ?? '';
    await chooseFromChat(tab.page, 'Connect another app');
    await dialog().getByLabel('Code of the other chat').fill('AAAAA-00000');
    await dialog().getByRole('button', { name: 'Connect' }).click();
    await dialog().getByText('I do not know this code').waitFor();
    await dialog().getByLabel('Code of the other chat').fill(code);
    await dialog().getByRole('button', { name: 'Connect' }).click();
    await dialog().getByText('would share this conversation').waitFor();
    await tab.screenshot('linked-asks');
    // The same question is in the chat, for users who do not look into the dialog.
    await dialog().getByRole('button', { name: 'Close' }).click();
    await tab.page.locator('#link-asks').getByRole('button', { name: 'Decline' }).waitFor();
    await tab.screenshot('linked-asks-in-chat');
    await chooseFromChat(tab.page, 'Link request');
    await dialog().getByRole('button', { name: 'Join' }).click();
    await dialog().getByText('to confirm').waitFor();
    says(chat, '/link yes');
    await seen(chat, 'now shares this conversation');
    await dialog().getByRole('listitem').filter({ hasText: 'Telegram (private chat' }).waitFor();
    await tab.screenshot('linked-list');
    await dialog().getByRole('button', { name: 'Close' }).click();
    fixture.ollama.answer({ text: `To the page, ${chat}.` }, { when: `from the page ${chat}` });
    fixture.ollama.answer({ text: `To Telegram, ${chat}.` }, { when: `from Telegram ${chat}` });
    await write(tab.page, `from the page ${chat}`);
    await seen(chat, `To the page, ${chat}.`);
    says(chat, `from Telegram ${chat}`);
    await tab.page.locator('.md', { hasText: `To Telegram, ${chat}.` }).waitFor();
    await chooseFromChat(tab.page, 'Linked chats: 1');
    await dialog().getByRole('button', { name: 'Separate' }).click();
    await tab.page
      .getByRole('dialog', { name: 'Separate' })
      .getByRole('button', { name: 'Separate' })
      .click();
    await seen(chat, 'This chat is separate again');
    await expect.poll(() => tab.page.locator('#open-linked').textContent(), WAIT).toBe('Connect another app');
    expect(await dialog().getByRole('listitem').count()).toBe(0);
  });

  it('gives a code on a phone, and declines the user who entered it', async () => {
    const chat = someone();
    await tab.open(fixture.gateway.url, { ...PHONE, token: OWNER });
    await chooseFromChat(tab.page, 'Connect another app');
    await dialog().getByRole('button', { name: 'Get a code' }).click();
    const given = dialog().getByText('send this within ten minutes');
    await given.waitFor();
    await tab.screenshot('linked-given-phone');
    says(chat, /\/link [0-9A-Z-]{11}/.exec(await given.innerText())?.[0] ?? '');
    await dialog().getByText('would share this conversation').waitFor();
    await dialog().getByRole('button', { name: 'Decline' }).click();
    await dialog().getByText('not linked').waitFor();
    await seen(chat, 'not linked');
    expect(await fixture.store.surfaces.surface(`telegram:${chat}`)).toBeUndefined();
  });
});
