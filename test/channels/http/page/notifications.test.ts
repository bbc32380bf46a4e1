/**
 * Notifications on the page: turned on by a press, off by another and by signing out; and what the service worker shows.
 * The browser's own push service cannot be reached from a test: `PushManager` answers here as the Push API specifies, and
 * pushes are events of the worker.
 */
import { expect, it, vi } from 'vitest';
import { chooseFromAccount, WAIT } from './browser/browser.ts';
import { describePageOnFakeGateway } from './browser/describe-page.ts';

/** Gives the page a push service: one subscription, which ends. */
const PUSH_SERVICE = `{
  const subscription = {
    toJSON: () => ({ endpoint: 'https://push.test/1', expirationTime: null, keys: { p256dh: 'BA', auth: 'AA' } }),
    unsubscribe: async () => {
      localStorage.removeItem('subscribed');
      return true;
    },
  };
  PushManager.prototype.subscribe = async (options) => {
    localStorage.setItem('subscribed', JSON.stringify(options));
    return subscription;
  };
  PushManager.prototype.getSubscription = async () =>
    localStorage.getItem('subscribed') === null ? null : subscription;
}`;

describePageOnFakeGateway('notifications', (tab, fixture) => {
  const subscribed = (): Promise<string | null> =>
    tab.page.evaluate(() => localStorage.getItem('subscribed'));
  const openDialog = async (): Promise<void> => {
    await chooseFromAccount(tab.page, 'open-notifications');
    await tab.page.locator('#notifications').waitFor();
  };
  const openWith = async (permissions: string[]): Promise<void> => {
    await fixture.open({ permissions });
    await tab.page.addInitScript(PUSH_SERVICE);
    await tab.page.reload();
    await tab.page.locator('#draft:enabled').waitFor();
  };

  it('are turned on and off by a press, and off by signing out', async () => {
    const added: unknown[] = [];
    const browser = { id: 'browser-1', client: 'This one', createdAt: new Date() };
    Object.assign(fixture.api.gateway.push, {
      subscribe: async (caller: { tokenId: string }, { endpoint }: { endpoint: string }) => {
        added.push([typeof caller.tokenId, endpoint]);
        return browser.id;
      },
      browsers: async () => (added.length > 0 ? [browser] : []),
    });
    await openWith(['notifications']);
    await openDialog();
    expect(await subscribed()).toBeNull();
    await tab.page.getByRole('button', { name: 'Turn on in this browser' }).click();
    await tab.page.getByText('Notifications are on in this browser.').waitFor();
    expect(JSON.parse((await subscribed()) ?? '')).toEqual({
      userVisibleOnly: true,
      applicationServerKey: 'BA',
    });
    expect(added).toEqual([['string', 'https://push.test/1']]);
    await tab.page.getByText('This one').waitFor();
    await tab.screenshot('notifications');
    await tab.page.getByRole('button', { name: 'Turn off in this browser' }).click();
    await tab.page.getByRole('button', { name: 'Turn on in this browser' }).click();
    await tab.page.getByText('Notifications are on in this browser.').waitFor();
    await tab.page.keyboard.press('Escape');
    await chooseFromAccount(tab.page, 'sign-out');
    await tab.page.locator('#token').waitFor();
    expect(await subscribed()).toBeNull();
  });

  it('stay off where the browser blocks them, or the gateway refuses', async () => {
    await openWith([]);
    await openDialog();
    await tab.page.getByRole('button', { name: 'Turn on in this browser' }).click();
    await tab.page.getByText('Notifications of this page are blocked').waitFor();
    expect(await subscribed()).toBeNull();
    await tab.page.context().grantPermissions(['notifications']);
    fixture.api.gateway.push.subscribe = () => Promise.reject(new Error('full'));
    await tab.page.getByRole('button', { name: 'Turn on in this browser' }).click();
    await vi.waitFor(
      async () => expect(await tab.page.locator('#notifications .error-text').innerText()).not.toBe(''),
      WAIT,
    );
    expect(await subscribed()).toBeNull();
  });

  it('are shown by a worker that keeps nothing, once the page is not looked at', async () => {
    const worker = await (await fetch(`${fixture.api.url}/sw.js`)).text();
    expect(worker).not.toMatch(/caches|'fetch'|"fetch"|indexedDB/);
    await openWith(['notifications']);
    const started = tab.page.context().waitForEvent('serviceworker');
    await tab.page.evaluate(() => navigator.serviceWorker.register('/sw.js'));
    const scope = await started;
    await tab.page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
    await scope.evaluate(`{
      self.shown = [];
      self.registration.showNotification = async (title, { tag, body, data }) =>
        void self.shown.push([title, tag, body, data].join(' '));
    }`);
    const push = (tag: string): Promise<unknown> =>
      scope.evaluate(
        `{
          const text = { title: 'Parley', body: 'An answer is ready.', tag: '${tag}', url: '/#http:one' };
          const event = new PushEvent('push', { data: JSON.stringify(text) });
          const works = [];
          event.waitUntil = (work) => works.push(work);
          self.dispatchEvent(event);
          Promise.all(works);
        }`,
      );
    const shown = (): Promise<unknown> => scope.evaluate('self.shown');
    await push('turn_ended:1');
    expect(await shown()).toEqual([]);
    await tab.page.goto('about:blank');
    await push('turn_ended:2');
    expect(await shown()).toEqual(['Parley turn_ended:2 An answer is ready. /#http:one']);
  });
});
