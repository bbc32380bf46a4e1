/** Signed-in browsers, as an owner sees them in the settings and signs them out. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { signInLink } from '../../../../src/security/index.ts';
import { describePage } from '../../../channels/http/page/browser/describe-page.ts';
import { type GatewayFixture, openGatewayFixture, WAIT } from '../../setup.ts';
import { pageSession } from '../../page-session.ts';
import { goToScreen } from './setup.ts';

const PHONE_AGENT = 'Mozilla/5.0 (Android 15; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0';
const LAPTOP_AGENT = 'Mozilla/5.0 (Macintosh; Intel Mac OS X 14_0) AppleWebKit/605 Version/18 Safari/605';

describePage('the sign-ins in the settings', (tab) => {
  let fixture: GatewayFixture;
  beforeAll(async () => void (fixture = await openGatewayFixture()));
  afterAll(() => fixture.close());

  const link = async (): Promise<string> =>
    (await signInLink(fixture.store.access, fixture.store.signIns, { url: fixture.gateway.url })) ?? '';
  /** Signs another browser in. */
  const signIn = async (agent: string) => {
    const code = new URL(await link()).hash.replace('#code=', '');
    const answer = await fetch(`${fixture.gateway.url}/v1/sign-in`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-parley-page': '1', 'user-agent': agent },
      body: JSON.stringify({ code }),
    });
    expect(answer.status).toBe(200);
    return await pageSession(answer);
  };
  const ask = async (headers: Record<string, string>): Promise<number> =>
    (await fetch(`${fixture.gateway.url}/v1/sessions`, { headers })).status;

  it('show each browser and when it was used, mark this one, and sign one or all others out', async () => {
    const phone = await signIn(PHONE_AGENT);
    const laptop = await signIn(LAPTOP_AGENT);
    const other = await signIn('curl');
    expect(await ask(phone)).toBe(200);
    const page = await tab.open(await link());
    await page.locator('#transcript').waitFor();
    await goToScreen(page, 'sign-ins');
    const titles = () => page.locator('.settings-row-title').allInnerTexts();
    expect(await titles()).toEqual([
      expect.stringMatching(/\(this browser\)$/),
      'A browser',
      'Safari on macOS',
      'Firefox on Android',
    ]);
    const rows = page.locator('.settings-row');
    expect(await rows.nth(3).innerText()).toMatch(/last used/);
    expect(await rows.nth(2).innerText()).toMatch(/never used/);
    expect(await rows.nth(0).getByRole('button').count()).toBe(0);
    await tab.screenshot('sign-ins');
    await rows
      .nth(3)
      .getByRole('button', { name: /^Sign out: Firefox on Android/ })
      .click();
    await page.locator('dialog#confirm').getByRole('button', { name: 'Sign out' }).click();
    await expect.poll(titles, WAIT).toHaveLength(3);
    await expect.poll(() => ask(phone), WAIT).toBe(401);
    expect(await ask(laptop)).toBe(200);

    await page.getByRole('button', { name: 'Sign out all others' }).click();
    await page.getByText('Sign out all 2 other browsers?').waitFor();
    await page.locator('dialog#confirm').getByRole('button', { name: 'Sign out' }).click();
    await expect.poll(titles, WAIT).toEqual([expect.stringMatching(/\(this browser\)$/)]);
    for (const session of [laptop, other]) await expect.poll(() => ask(session), WAIT).toBe(401);
    await page.reload();
    await page.locator('.settings-row-title').waitFor();
  });

  it('show a token without admin only its own', async () => {
    const { hashSecret } = await import('../../../../src/security/token-lookup.ts');
    const mine = await fixture.store.access.putToken({
      hash: hashSecret('small'),
      name: 'small',
      scopes: ['chat'],
    });
    const before = await (await fixture.call('/v1/sign-ins')).json();
    expect(before.signIns.length).toBeGreaterThan(0);
    const own = await (await fixture.call('/v1/sign-ins', { token: 'small' })).json();
    expect(own.signIns).toEqual([]);
    expect(await (await fixture.call('/v1/sign-ins', { token: 'small', method: 'DELETE' })).json()).toEqual({
      deleted: 0,
    });
    expect(await (await fixture.call('/v1/sign-ins')).json()).toEqual(before);
    await fixture.store.access.revokeToken(mine.tokenId);
  });
});
