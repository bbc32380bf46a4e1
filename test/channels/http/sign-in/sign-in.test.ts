/** Signing in with a link, as the user sees it in the browser. */
import { expect, it, vi } from 'vitest';
import { chooseFromAccount, WAIT } from '../page/browser/browser.ts';
import { describePageOnFakeGateway } from '../page/browser/describe-page.ts';

describePageOnFakeGateway('a link that signs in', (tab, fixture) => {
  it('opens the chats, leaves no code in the address, survives a reload, and ends with Sign out', async () => {
    const { gateway, url } = fixture.api;
    const codes = new Set(['right-code']);
    const ended: string[] = [];
    gateway.signIns = {
      ...gateway.signIns,
      redeem: async (code) => (codes.delete(code) ? 'secret-of-the-cookie' : undefined),
      signOut: async (secret) => void ended.push(secret),
    };
    gateway.tokens.set('Session secret-of-the-cookie', { tokenId: 'admin', scopes: ['admin', 'chat'] });
    const page = await tab.open(`${url}/#code=right-code`);
    await page.locator('#app').waitFor({ state: 'visible' });
    expect(new URL(page.url()).hash).not.toContain('code');
    const turn = await fixture.ask('Hello');
    expect(turn.message.content).toBe('Hello');
    expect(await page.evaluate(() => document.cookie)).toBe('');
    await page.reload();
    await page.locator('#app').waitFor({ state: 'visible' });
    await chooseFromAccount(page, 'sign-out');
    await page.getByLabel('Token').waitFor({ state: 'visible' });
    await vi.waitFor(() => expect(ended).toEqual(['secret-of-the-cookie']), WAIT);
  });

  it('opens the chats inside the app of a network, and leaves nothing that was signed in the address', async () => {
    const { gateway, url } = fixture.api;
    const asked: string[] = [];
    gateway.signIns = {
      ...gateway.signIns,
      inApp: async ({ signed }) => {
        asked.push(signed);
        return { kind: 'signed_in', secret: 'secret-of-the-cookie' };
      },
    };
    gateway.tokens.set('Session secret-of-the-cookie', { tokenId: 'app', scopes: ['chat'] });
    const signed = 'user=%7B%22id%22%3A42%7D&auth_date=1&hash=ab';
    const page = await tab.open(`${url}/#tgWebAppData=${encodeURIComponent(signed)}&tgWebAppVersion=9.1`);
    await page.locator('#app').waitFor({ state: 'visible' });
    expect(asked).toEqual([signed]);
    expect(new URL(page.url()).hash).not.toContain('tgWebAppData');
    await page.reload();
    await page.locator('#app').waitFor({ state: 'visible' });
    expect(asked).toHaveLength(1);
  });

  it('explains what to do when it has already been used, and then accepts a token', async () => {
    const page = await tab.open(`${fixture.api.url}/#code=used-code`);
    await page.getByText('This link was already used or is too old.').waitFor();
    expect(new URL(page.url()).hash).toBe('');
    await page.getByLabel('Token').fill('admin-token-of-the-owner');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.locator('#app').waitFor({ state: 'visible' });
  });
});
