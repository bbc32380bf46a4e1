/**
 * The service worker of the page, `/sw.js`: it shows notifications while the page is closed, and nothing else. It has no
 * listener for `fetch` and no cache, on purpose: chats are private, so nothing of them may stay in a browser after
 * sign-out, and a page without its gateway has nothing to show.
 */

/** All tabs of the page, also those that were open before the worker was there. */
const TABS = { type: 'window', includeUncontrolled: true } as const;

/** What the gateway sends; see `src/delivery/push/push.ts`. */
interface PushText {
  title: string;
  body: string;
  tag: string;
  url: string;
}

/** The parts of a service worker's global scope that are used; the types of pages do not have them. */
interface Worker {
  registration: ServiceWorkerRegistration;
  clients: {
    claim: () => Promise<void>;
    matchAll: (options: typeof TABS) => Promise<readonly Tab[]>;
    openWindow: (url: string) => Promise<unknown>;
  };
  addEventListener: (
    type: 'activate' | 'push' | 'notificationclick',
    listener: (event: WorkerEvent) => void,
  ) => void;
}
interface Tab {
  visibilityState: string;
  url: string;
  focus: () => Promise<unknown>;
  navigate: (url: string) => Promise<unknown>;
}
interface WorkerEvent {
  data?: { json: () => PushText };
  notification: Notification & { data: string };
  waitUntil: (work: Promise<unknown>) => void;
}

/** Its type is that of a page's window otherwise. */
const SCOPE: string = 'self';
const worker: Worker = Reflect.get(globalThis, SCOPE);

/** Who looks at the page sees it there. */
async function show({ title, body, tag, url }: PushText): Promise<void> {
  const tabs = await worker.clients.matchAll(TABS);
  if (tabs.some(({ visibilityState }) => visibilityState === 'visible')) return;
  await worker.registration.showNotification(title, { body, tag, data: url, icon: '/page/icon-192.png' });
}

/** Opens the chat, in a tab of the page where there is one. */
async function open(url: string): Promise<void> {
  const [tab] = await worker.clients.matchAll(TABS);
  if (tab === undefined) await worker.clients.openWindow(url);
  else {
    await tab.focus();
    await tab.navigate(url);
  }
}

// Only a tab that it controls can be led to a chat.
worker.addEventListener('activate', (event) => event.waitUntil(worker.clients.claim()));
worker.addEventListener('push', (event) => {
  if (event.data !== undefined) event.waitUntil(show(event.data.json()));
});
worker.addEventListener('notificationclick', (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data));
});
