/** The page on another device of the network: plain HTTP at an address, where browsers withhold what they give to secure pages. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { networkAddresses, urlOfListener } from '../../../src/lib/connection-url.ts';
import { write } from '../../channels/http/page/browser/browser.ts';
import { describePage, PHONE } from '../../channels/http/page/browser/describe-page.ts';
import { type GatewayFixture, openGatewayFixture, OWNER } from '../setup.ts';

const [address] = networkAddresses();

describePage('the page at the address of its machine', (tab) => {
  let fixture: GatewayFixture;
  beforeAll(async () => {
    fixture = await openGatewayFixture({ env: { HOST: '0.0.0.0' } });
  });
  afterAll(() => fixture.close());

  it('sends, shows and copies without what only secure pages have', async ({ skip }) => {
    if (address === undefined) skip('this machine is on no network');
    const { port } = new URL(fixture.gateway.url);
    const url = `${urlOfListener(address ?? '', Number(port))}/#http:phone`;
    const page = await tab.open(url, { ...PHONE, token: OWNER });
    expect(await page.evaluate(() => [isSecureContext, 'clipboard' in navigator])).toEqual([false, false]);
    fixture.ollama.answer('```sh\nbake bread\n```', { when: 'How do I bake?' });
    await write(page, 'How do I bake?');
    await page.locator('#transcript').getByText('bake bread').waitFor();
    await page.getByRole('button', { name: /Copy/ }).first().click();
    await page.getByText('Copied').first().waitFor();
  });
});
