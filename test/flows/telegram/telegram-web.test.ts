/** The page in a frame of Telegram Web, in a browser with both origins: signed in by what Telegram has signed, and by no one else. */
import type { Browser, BrowserContext, Frame } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { launch } from '../../channels/http/page/browser/browser.ts';
import { chromiumPath, needs } from '../../runs/needs.ts';
import { type GatewayFixture, openGatewayFixture, WAIT } from '../setup.ts';
import { initData } from './init-data.ts';

const TELEGRAM = 'https://web.telegram.org';

describe('the page in Telegram Web, in a browser', needs('Chromium'), () => {
  let fixture: GatewayFixture;
  let browser: Browser;
  let context: BrowserContext;
  beforeAll(async () => {
    // The gateway of the test is on this machine, which sites of the internet may not show.
    browser = await launch(chromiumPath() ?? '', ['--disable-features=LocalNetworkAccessChecks']);
    fixture = await openGatewayFixture({
      telegram: true,
      file: {
        access: { telegram: { allow: ['7001'] } },
        channels: { telegram: { miniApp: { url: 'https://chat.example.org/' } } },
      },
    });
  });
  afterAll(async () => {
    await browser.close();
    await fixture.close();
  });
  beforeEach(async () => {
    await context?.close();
    context = await browser.newContext();
  });

  /** A page of this origin that shows an address of the gateway in a frame. */
  const framed = async (origin: string, address: string, data = ''): Promise<Frame | undefined> => {
    const page = await context.newPage();
    const hash = data === '' ? '' : `#tgWebAppData=${encodeURIComponent(data)}&tgWebAppVersion=9.0`;
    const src = `${fixture.gateway.url}${address}${hash}`.replaceAll('&', '&amp;');
    await page.route(`${origin}/**`, (route) =>
      route.fulfill({ contentType: 'text/html', body: `<iframe src="${src}"></iframe>` }),
    );
    await page.goto(`${origin}/k/`);
    return page.frames().find((frame) => frame !== page.mainFrame());
  };
  const texts = async (frame: Frame | undefined): Promise<string> => {
    if (frame === undefined) return '';
    return await frame
      .locator('body')
      .innerText({ timeout: 2_000 })
      .catch(() => '');
  };

  it('signs in by what Telegram has signed, stays signed in after a reload, and asks the model', async () => {
    fixture.ollama.answer({ text: 'Hello from the frame.' }, { when: 'hello frame' });
    const frame = await framed(TELEGRAM, '/?framed=1', initData('7001'));
    await frame?.locator('#app').waitFor({ state: 'visible' });
    await frame?.locator('textarea').fill('hello frame');
    await frame?.locator('textarea').press('Enter');
    await frame?.getByText('Hello from the frame.').first().waitFor();
    const [cookie] = await context.cookies();
    expect(cookie).toMatchObject({ sameSite: 'None', secure: true, httpOnly: true });
    await frame?.evaluate(() => location.reload());
    await frame?.waitForURL((url) => url.search === '?framed=1');
    await frame?.locator('#app').waitFor({ state: 'visible' });
    // By itself, the page knows nobody in this browser.
    const alone = await context.newPage();
    await alone.goto(fixture.gateway.url);
    await alone.locator('#sign-in').waitFor({ state: 'visible' });
  });

  it('is shown to no other site, and at no other address', async () => {
    for (const [origin, address] of [
      ['https://evil.example', '/?framed=1'],
      [TELEGRAM, '/'],
      ['https://web.telegram.org.evil.example', '/?framed=1'],
    ] as const)
      expect(await texts(await framed(origin, address, initData('7001')))).not.toMatch(/Token|Parley/);
    const { headers } = await fetch(`${fixture.gateway.url}/?framed=1`);
    expect(headers.get('content-security-policy')).toContain(`frame-ancestors ${TELEGRAM};`);
  });

  it('says what to do if the browser keeps no cookie of a frame', async () => {
    await context.route('**/v1/sign-in/app', async (route) => {
      const response = await route.fetch();
      const headers = { ...response.headers() };
      delete headers['set-cookie'];
      await context.clearCookies();
      await route.fulfill({ response, headers });
    });
    const frame = await framed(TELEGRAM, '/?framed=1', initData('7001'));
    await vi.waitFor(
      async () => expect(await texts(frame)).toContain('keeps no sign-in of a page inside another'),
      WAIT,
    );
  });
});
