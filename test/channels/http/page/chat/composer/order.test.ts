/** Messages written one right after the other on the page arrive in that order, however long the first one is on its way. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { type GatewayFixture, openGatewayFixture, OWNER, WAIT } from '../../../../../flows/setup.ts';
import { write } from '../../browser/browser.ts';
import { describePage } from '../../browser/describe-page.ts';

describePage('messages written quickly', (tab) => {
  let fixture: GatewayFixture;
  beforeAll(async () => {
    fixture = await openGatewayFixture();
  });
  afterAll(() => fixture.close());

  it('are posted one after another: a slow first one is not overtaken', async () => {
    const page = await tab.open(`${fixture.gateway.url}/#http:quick`, { token: OWNER });
    const posted: string[] = [];
    const slow = Promise.withResolvers<void>();
    await page.route('**/messages', async (route) => {
      const { content } = route.request().postDataJSON();
      posted.push(content);
      if (content === 'one') await slow.promise;
      await route.continue();
    });
    for (const text of ['one', 'two', 'three']) await write(page, text);
    await page.locator('.turn', { hasText: 'three' }).waitFor();
    expect(posted).toEqual(['one']);
    slow.resolve();
    await vi.waitFor(async () => {
      const said = (await fixture.messages('http:quick')).filter(({ role }) => role === 'user');
      expect(said.map(({ content }) => content)).toEqual(['one', 'two', 'three']);
    }, WAIT);
    expect(posted).toEqual(['one', 'two', 'three']);
  });
});
