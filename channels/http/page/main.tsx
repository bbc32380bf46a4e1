/** The entry of the page: signs in, then shows the list of chats and the open one. */
import { render } from 'preact';
import { type Api, ApiError } from './api.ts';
import { ChatView } from './chat/chat-view.ts';
import { byId } from './dom.ts';
import { modelProblem } from './failures/model-problem.js';
import { ScheduleList } from './chats/schedules.ts';
import { SettingsLater } from './settings/settings-later.js';
import { Inbox } from './chats/inbox.ts';
import { followLists } from './chats/list-events.ts';
import { setChannelLabels, Sidebar } from './chats/sidebar.ts';
import { forgetCommandAnswers } from './commands/command-answers.js';
import { forgetDrafts } from './chat/composer/drafts.ts';
import { showError } from './failures/show-error.js';
import { AccountMenu, version } from './shell/account-menu.tsx';
import { listenForKeys } from './shell/keys.tsx';
import { removeToken, signIn } from './sign-in.ts';
import { messageOf } from './failures/in-place.js';

/**
 * What the page asks for again and again while it is looked at, as does only the screen of the log: whether models
 * answer and channels are connected happens outside of the gateway, which learns it by asking, too. It is not an event
 * of a chat, and the streams carry nothing else.
 */
const HEALTH_EVERY_MS = 30_000;
/** The times in the list are relative. */
const REDRAW_EVERY_MS = 60_000;

function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(6));
  return `http:chat-${Array.from(bytes, (byte) => byte.toString(36).padStart(2, '0')).join('')}`;
}

/** The chat that the address names, such as `#http:chat-…`; undefined without one. */
function keyInAddress(): string | undefined {
  const key = decodeURIComponent(location.hash.slice(1));
  return /^[a-z][a-z0-9]*:./.test(key) ? key : undefined;
}

/** Shows the gateway's health; `onNewLabels` is called when a channel has a new label. */
async function showHealth(api: Api, onNewLabels: () => void): Promise<void> {
  const banner = byId('health-banner', HTMLElement);
  try {
    const health = await api.health();
    if (setChannelLabels(health.channels)) onNewLabels();
    byId('demo-banner', HTMLElement).hidden = !health.demo;
    version.value = health.version;
    const problem = modelProblem(health.model);
    banner.hidden = problem === undefined;
    banner.textContent = problem ?? '';
    banner.classList.toggle('model-down', health.model.state === 'down');
  } catch (error) {
    // Another banner says that the gateway cannot be reached.
    banner.hidden = error instanceof ApiError && error.isUnreachable;
    banner.textContent = messageOf(error);
    banner.classList.remove('model-down');
  }
}

function showSidebar(open: boolean): void {
  byId('app', HTMLElement).classList.toggle('sidebar-open', open);
  byId('shade', HTMLElement).hidden = !open;
  byId('open-sidebar', HTMLElement).setAttribute('aria-expanded', String(open));
  if (open) byId('close-sidebar', HTMLElement).focus();
}

/** The parts of the page, and which of them is open. */
class App {
  readonly #api: Api;
  readonly sidebar: Sidebar;
  readonly schedules: ScheduleList;
  readonly chat: ChatView;
  readonly #inbox: Inbox;
  readonly #settings: SettingsLater;

  constructor(api: Api) {
    this.#api = api;
    const open = (key: string, seq?: number): void => {
      showSidebar(false);
      this.open(key, { seq });
    };
    this.sidebar = new Sidebar(api, {
      showError,
      open,
      deleted: (key) => {
        if (key === this.chat.key) this.openNew();
      },
      renamed: (key) => {
        if (key === this.chat.key) this.chat.showTitle();
      },
      loaded: () => this.#inbox.elsewhere.redraw(),
    });
    this.schedules = new ScheduleList(api, (key) => open(key));
    this.chat = new ChatView(api, this.sidebar, {
      showError,
      open: (key) => this.open(key),
      changed: () => {
        Promise.all([this.sidebar.refresh(), this.schedules.refresh()]).catch(showError);
      },
    });
    this.#inbox = new Inbox(api, {
      showError,
      titleOf: (key) => this.sidebar.titleOf(key),
      open: (key) => open(key),
    });
    this.#settings = new SettingsLater(api, {
      showError,
      showSidebar: () => showSidebar(true),
      labelled: (menu) => this.#inbox.elsewhere.labelled(menu),
    });
  }

  open(key: string, options: { fresh?: boolean; seq?: number | undefined } = {}): void {
    history.replaceState(null, '', `#${key}`);
    this.#settings.hide();
    this.sidebar.select(key);
    this.#inbox.elsewhere.openChat(key);
    this.chat.open(key, options);
  }

  openNew(): void {
    this.open(newKey(), { fresh: true });
  }

  /** Opens what the address names: a chat or a screen of the settings. */
  openAddressed(): void {
    const screen = /^#settings(?:\/([a-z-]+))?$/.exec(location.hash);
    if (screen !== null) {
      showSidebar(false);
      this.#settings.show(screen[1]);
      return;
    }
    const key = keyInAddress();
    if (key === undefined) this.openNew();
    else this.open(key);
  }

  /** Shows the health of the gateway and how long ago things happened, now and from now on. */
  keepFresh(): void {
    const refreshHealth = (): Promise<void> =>
      showHealth(this.#api, () => {
        this.sidebar.redraw();
        this.chat.showChannel();
      });
    void refreshHealth();
    setInterval(() => document.hidden || void refreshHealth(), HEALTH_EVERY_MS);
    setInterval(() => document.hidden || this.sidebar.redraw(), REDRAW_EVERY_MS);
  }

  /** Follows what happens in all chats. */
  follow(): void {
    void followLists(this.#api, {
      open: () => {
        this.sidebar.refreshSoon();
        this.#inbox.refreshSoon();
      },
      event: ({ type }) => {
        if (type === 'turn_ended' || type === 'cron_executed') void this.schedules.refresh().catch(showError);
        this.sidebar.refreshSoon();
        this.#inbox.apply(type);
      },
      refused: showError,
    }).catch(showError);
  }
}

/** The buttons and keys around the chat. */
function listenToFrame(app: App): void {
  byId('skip', HTMLElement).addEventListener('click', () => byId('draft', HTMLElement).focus());
  byId('new-chat', HTMLElement).addEventListener('click', () => {
    showSidebar(false);
    app.openNew();
  });
  byId('open-sidebar', HTMLElement).addEventListener('click', () => showSidebar(true));
  byId('close-sidebar', HTMLElement).addEventListener('click', () => showSidebar(false));
  byId('shade', HTMLElement).addEventListener('click', () => showSidebar(false));
  addEventListener('keydown', (event) => event.key === 'Escape' && showSidebar(false));
  addEventListener('hashchange', () => app.openAddressed());
}

function signOut(): void {
  removeToken();
  forgetDrafts();
  forgetCommandAnswers();
  history.replaceState(null, '', '/');
  location.reload();
}

async function startPage(): Promise<void> {
  const { api, chats } = await signIn();
  byId('app', HTMLElement).hidden = false;
  const app = new App(api);
  app.chat.stopWithEscape();
  listenForKeys();
  listenToFrame(app);
  app.keepFresh();
  await app.sidebar.refresh(chats).catch(showError);
  app.openAddressed();
  // Read by tests, and by whoever measures the page in a browser.
  performance.mark('parley-usable');
  // No one has to wait for it before writing.
  setTimeout(() =>
    render(
      <AccountMenu api={api} showError={showError} signOut={signOut} />,
      byId('sidebar-foot', HTMLElement),
    ),
  );
  app.follow();
  await app.schedules.refresh().catch(showError);
}

startPage().catch(showError);
