/**
 * The setup of page tests: one browser per worker, one tab per test, and a fake gateway where a test needs no whole
 * one.
 */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterEach, beforeAll, beforeEach, describe, expect, vi } from 'vitest';
import { openApi, type OpenApi } from '../../client.ts';
import type { FakeTurn } from '../../../../fakes/gateway/turn.ts';
import { type OpenedPage, openPage, sharedBrowser, signIn, WAIT, write } from './browser.ts';
import { freePort } from '../../../../fakes/network/free-port.ts';
import { chromiumPath, needs } from '../../../../runs/needs.ts';

/** The owner's token at the fake gateway. */
export const TOKEN = 'admin-token-of-the-owner';
/** A narrow screen in dark mode. */
export const PHONE: BrowserContextOptions = {
  viewport: { width: 390, height: 780 },
  colorScheme: 'dark',
};

/** Options of a tab; with `token` the test is signed in. */
export type OpenOptions = BrowserContextOptions & { token?: string | undefined };

/** The test's only tab. It closes with the test, which fails if the page broke one of the rules of `OpenedPage`. */
export interface Tab {
  /** Throws before the first `open`. */
  readonly page: Page;
  /** Closes the tab and opens the page in a fresh browser profile. */
  open(url: string, options?: OpenOptions): Promise<Page>;
  /** Saves a screenshot in the folder `PARLEY_SCREENSHOTS`; without that variable it does nothing. */
  screenshot(name: string): Promise<void>;
}

/** Tests in a real browser; skipped where there is none. */
export function describePage(name: string, tests: (tab: Tab) => void): void {
  describe(`${name}, in a browser`, needs('Chromium'), () => {
    let browser: Browser;
    let opened: OpenedPage | undefined;
    const close = async (): Promise<void> => {
      const last = opened;
      opened = undefined;
      await last?.page.context().close();
      if (last !== undefined && last.violations.length > 0) throw new Error(last.violations.join('\n'));
    };
    beforeAll(async () => {
      browser = await sharedBrowser(chromiumPath() ?? '');
    });
    afterEach(close);
    tests({
      get page() {
        if (opened === undefined) throw new Error('no page is open yet');
        return opened.page;
      },
      async open(url, { token, ...context } = {}) {
        await close();
        opened = await openPage(browser, url, context);
        if (token !== undefined) await signIn(opened.page, token);
        return opened.page;
      },
      async screenshot(picture) {
        const folder = process.env['PARLEY_SCREENSHOTS'];
        if (folder !== undefined) await opened?.page.screenshot({ path: `${folder}/${picture}.png` });
      },
    });
  });
}

/** A fake gateway behind a real HTTP channel, new for each test. */
export interface PageFixture {
  readonly api: OpenApi;
  /** Turns that began, oldest first; the test drives them. */
  readonly turns: FakeTurn[];
  /** Opens the page, signed in as the owner. */
  open(context?: BrowserContextOptions): Promise<Page>;
  /** Sends a message; returns its turn once it runs and the page receives its events. */
  ask(text: string): Promise<FakeTurn>;
}

/** Tests of the page on a fake gateway; each test opens the page itself. */
export function describePageOnFakeGateway(
  name: string,
  tests: (tab: Tab, fixture: PageFixture) => void,
): void {
  describePage(name, (tab) => {
    let api: OpenApi;
    let turns: FakeTurn[];
    beforeEach(async () => {
      // A fixed port: some tests stop the channel and start it again at the same address.
      api = await openApi({ port: await freePort() });
      turns = [];
      api.gateway.script = (turn) => void turns.push(turn);
    });
    afterEach(() => api.close());
    tests(tab, {
      get api() {
        return api;
      },
      get turns() {
        return turns;
      },
      open: (context = {}) => tab.open(api.url, { ...context, token: TOKEN }),
      async ask(text) {
        const before = turns.length;
        await write(tab.page, text);
        await vi.waitFor(() => expect(turns.length).toBe(before + 1), WAIT);
        // The stream of the chat; the list's stream has no session.
        const follows = (): boolean =>
          [...api.gateway.events.listeners.values()].some(({ sessionKey }) => sessionKey !== undefined);
        await vi.waitFor(() => expect(follows()).toBe(true), WAIT);
        return turns[before]!;
      },
    });
  });
}
