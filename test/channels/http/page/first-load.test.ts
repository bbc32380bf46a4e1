/**
 * What the page costs: requests and bytes until it can be used, on the first visit, on the next one, and during an
 * upgrade.
 */
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { WAIT, write } from './browser/browser.ts';
import { describePageOnFakeGateway, TOKEN } from './browser/describe-page.ts';

/** Requests of any kind until the message field can be used. */
const MAX_REQUESTS = 8;
/** All scripts that a page with the user's own chats and the settings loads, without code highlighting, compressed. */
const MAX_SCRIPT_BYTES = 90_000;
const MAX_USABLE_MS = 1_000;
/** Loads that are measured; the one in the middle counts, because tests run on busy machines. */
const LOADS = 3;
const FIRST_SCRIPT = /\/page\/assets\/main-[0-9a-f]{16}\.js/;
const SETTINGS_SCRIPT = /\/page\/assets\/settings-[0-9a-f]{16}\.js/;

/** Records in the page how many API calls it has made when the message field can be used. */
const COUNT_CALLS = `{
  let calls = 0;
  const send = fetch;
  window.fetch = (...request) => {
    calls += 1;
    return send(...request);
  };
  new MutationObserver(() => {
    if (document.querySelector('#draft:enabled')) window.callsUntilUsable ??= calls;
  }).observe(document, { subtree: true, childList: true, attributes: true });
}`;

describePageOnFakeGateway('the first load', (tab, fixture) => {
  let asked: string[];
  beforeEach(() => {
    asked = [];
    fixture.api.gateway.noteRequest = ({ method, route, status }) => {
      asked.push(`${method} ${route} ${status}`);
    };
  });

  const openSignedIn = async (): Promise<void> => {
    await tab.open(fixture.api.url);
    await tab.page.evaluate((token) => localStorage.setItem('parley-token', token), TOKEN);
    // A browser that has nothing of the page cached.
    const session = await tab.page.context().newCDPSession(tab.page);
    await session.send('Network.clearBrowserCache');
    await tab.page.addInitScript(COUNT_CALLS);
    asked.length = 0;
    await tab.page.reload();
    await usable();
  };
  const usable = (): Promise<void> => tab.page.locator('#draft:enabled').waitFor();
  /** Bytes on the wire, and compressed size, of the page's files that were loaded. */
  const files = (): Promise<{ name: string; transferred: number; size: number }[]> =>
    tab.page.evaluate(() =>
      performance
        .getEntriesByType('resource')
        .filter(({ name }) => name.includes('/page/'))
        .map((entry) => {
          const { name, transferSize, encodedBodySize } = entry as PerformanceResourceTiming;
          return { name, transferred: transferSize, size: encodedBodySize };
        }),
    );

  it(`takes at most ${MAX_REQUESTS} requests until the user can write, and less than ${MAX_SCRIPT_BYTES / 1_000} kB of scripts`, async () => {
    await openSignedIn();
    const calls = await tab.page.evaluate<number>('window.callsUntilUsable');
    const untilUsable = calls + asked.filter((line) => / \/(page\/\*)? /.test(line)).length;
    expect(calls).toBeGreaterThan(0);
    expect(untilUsable).toBeLessThanOrEqual(MAX_REQUESTS);
    await vi.waitFor(() => expect(asked).toContain('GET /v1/events 200'), WAIT);
    await tab.page.evaluate(() => (location.hash = '#settings'));
    await tab.page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    const loaded = await files();
    const scripts = loaded.filter(({ name }) => name.endsWith('.js'));
    expect(scripts.map(({ name }) => name.replace(/.*\/(\w+)-.*/, '$1'))).toEqual(['main', 'settings']);
    const bytes = scripts.reduce((sum, { size }) => sum + size, 0);
    process.stderr.write(
      `first load: ${untilUsable} requests until usable, ${asked.length} in all; ` +
        [...new Set(loaded.map(({ name, size }) => `${name.replace(/.*\//, '')} ${size}`))].join(', ') +
        '\n',
    );
    expect(bytes).toBeGreaterThan(10_000);
    expect(bytes).toBeLessThan(MAX_SCRIPT_BYTES);
  });

  it(`can be used within ${MAX_USABLE_MS / 1_000} s of its address being opened, in the middle of ${LOADS} first loads`, async () => {
    const times: number[] = [];
    for (let load = 0; load < LOADS; load += 1) {
      await openSignedIn();
      times.push(
        await tab.page.evaluate(
          () => performance.getEntriesByName('parley-usable')[0]?.startTime ?? Infinity,
        ),
      );
    }
    const median = times.toSorted((a, b) => a - b)[Math.floor(LOADS / 2)] ?? Infinity;
    const all = times.map((ms) => Math.round(ms)).join(', ');
    process.stderr.write(`first load: usable after ${Math.round(median)} ms (median of ${all})\n`);
    expect(median).toBeLessThan(MAX_USABLE_MS);
  });

  it('loads nothing but the page itself and answers of the API the second time', async () => {
    await openSignedIn();
    asked.length = 0;
    await tab.page.reload();
    await usable();
    expect(asked.filter((line) => !line.includes(' /v1/') && !line.includes('/readyz'))).toEqual([
      'GET / 304',
    ]);
    const loaded = await files();
    expect(loaded.length).toBeGreaterThan(2);
    expect(loaded.map(({ transferred }) => transferred)).toEqual(loaded.map(() => 0));
  });

  describe('during an upgrade', () => {
    /** Answers `count` requests for the page with another version's page; returns the number of all requests. */
    const serveOldPages = async (count: number): Promise<() => number> => {
      let served = 0;
      await tab.page.route(`${fixture.api.url}/`, async (route) => {
        const response = await route.fetch();
        const body = await response.text();
        served += 1;
        const old = body.replace(FIRST_SCRIPT, `/page/assets/main-${'0'.repeat(16)}.js`);
        await route.fulfill({ response, body: served > count ? body : old });
      });
      return () => served;
    };

    it('reloads the page when its script is from another version', async () => {
      await openSignedIn();
      const served = await serveOldPages(1);
      await tab.page.reload();
      await usable();
      expect(served()).toBe(2);
    });

    it('reports it when every answer is from another version', async () => {
      await openSignedIn();
      const served = await serveOldPages(100);
      await tab.page.reload();
      await tab.page.getByText('The gateway is being upgraded.').waitFor();
      expect(served()).toBe(7);
    });

    it('keeps the draft when the settings are from another version', async () => {
      await openSignedIn();
      await tab.page.locator('#draft').fill('half a sentence');
      await tab.page.evaluate(() => Object.assign(window, { isFirstLoad: true }));
      let served = 0;
      await tab.page.route(SETTINGS_SCRIPT, async (route) => {
        served += 1;
        const other = route
          .request()
          .url()
          .replace(SETTINGS_SCRIPT, `/page/assets/settings-${'0'.repeat(16)}.js`);
        await (served > 1 ? route.continue() : route.continue({ url: other }));
      });
      const chat = await tab.page.evaluate(() => location.hash);
      await tab.page.evaluate(() => (location.hash = '#settings/tokens'));
      await tab.page.getByRole('heading', { name: 'Tokens', level: 1 }).waitFor();
      expect([served, await tab.page.evaluate(() => 'isFirstLoad' in window)]).toEqual([2, false]);
      await tab.page.evaluate((hash) => (location.hash = hash), chat);
      await usable();
      expect(await tab.page.locator('#draft').inputValue()).toBe('half a sentence');
    });
  });

  it('loads the commands when the user starts to type the first one', async () => {
    await openSignedIn();
    expect(asked).not.toContain('GET /v1/commands 200');
    await write(tab.page, '/status');
    await tab.page.getByText('All is well.').waitFor();
    expect(asked.filter((line) => line === 'GET /v1/commands 200')).toHaveLength(1);
  });
});
