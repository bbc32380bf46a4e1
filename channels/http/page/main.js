/** The entry of the page: signs in, then shows the list of chats and the open one. */
import { ApiError } from './api.js';
import { ChatView } from './chat/chat-view.js';
import { byId } from './dom.js';
import { modelProblem } from './failures/model-problem.js';
import { offerKeys } from './keys.js';
import { ScheduleList } from './chats/schedules.js';
import { SettingsLater } from './settings/settings-later.js';
import { Inbox } from './chats/inbox.js';
import { followLists } from './chats/list-events.js';
import { setChannelLabels, Sidebar } from './chats/sidebar.js';
import { forgetCommandAnswers } from './commands/command-answers.js';
import { forgetDrafts } from './chat/composer/drafts.js';
import { offerLanguages } from './language.js';
import { offerMemories } from './person/own-memories.js';
import { showError } from './failures/show-error.js';
import { removeToken, signIn } from './sign-in.js';
import { offerThemes } from './person/theme.js';
import { messageOf } from './failures/in-place.js';

/**
 * What the page asks for again and again while it is looked at, as does only the screen of the log: whether models
 * answer and channels are connected happens outside of the gateway, which learns it by asking, too. It is not an event
 * of a chat, and the streams carry nothing else.
 */
const HEALTH_EVERY_MS = 30_000;
/** The times in the list are relative. */
const REDRAW_EVERY_MS = 60_000;

function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(6));
  return `http:chat-${Array.from(bytes, (byte) => byte.toString(36).padStart(2, '0')).join('')}`;
}

/** The chat that the address names, such as `#http:chat-…`; undefined without one. */
function keyInAddress() {
  const key = decodeURIComponent(location.hash.slice(1));
  return /^[a-z][a-z0-9]*:./.test(key) ? key : undefined;
}

/**
 * @param {import('./api.js').Api} api
 * @param {() => void} onNewLabels called when a channel has a new label
 */
async function showHealth(api, onNewLabels) {
  const banner = byId('health-banner', HTMLElement);
  try {
    const health = await api.health();
    if (setChannelLabels(health.channels)) onNewLabels();
    byId('demo-banner', HTMLElement).hidden = !health.demo;
    byId('version', HTMLElement).textContent = health.version ?? '';
    // Only an admin sees the version.
    byId('open-settings', HTMLElement).hidden = health.version === undefined;
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

/** @param {boolean} open */
function showSidebar(open) {
  byId('app', HTMLElement).classList.toggle('sidebar-open', open);
  byId('shade', HTMLElement).hidden = !open;
  byId('open-sidebar', HTMLElement).setAttribute('aria-expanded', String(open));
  if (open) byId('close-sidebar', HTMLElement).focus();
}

/** The parts of the page, and which of them is open. */
class App {
  /** @param {import('./api.js').Api} api */
  constructor(api) {
    this.api = api;
    /** @param {string} key @param {number} [seq] */
    const open = (key, seq) => {
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
      loaded: () => this.inbox.elsewhere.redraw(),
    });
    this.schedules = new ScheduleList(api, (key) => open(key));
    this.chat = new ChatView(api, this.sidebar, {
      showError,
      open: (key) => this.open(key),
      changed: () => {
        Promise.all([this.sidebar.refresh(), this.schedules.refresh()]).catch(showError);
      },
    });
    this.inbox = new Inbox(api, {
      showError,
      titleOf: (key) => this.sidebar.titleOf(key),
      open: (key) => open(key),
    });
    this.settings = new SettingsLater(api, {
      showError,
      showSidebar: () => showSidebar(true),
      labelled: (menu) => this.inbox.elsewhere.labelled(menu),
    });
  }

  /**
   * @param {string} key
   * @param {{ fresh?: boolean, seq?: number | undefined }} [options]
   */
  open(key, options = {}) {
    history.replaceState(null, '', `#${key}`);
    this.settings.hide();
    this.sidebar.select(key);
    this.inbox.elsewhere.openChat(key);
    this.chat.open(key, options);
  }

  openNew() {
    this.open(newKey(), { fresh: true });
  }

  /** Opens what the address names: a chat or a screen of the settings. */
  openAddressed() {
    const screen = /^#settings(?:\/([a-z-]+))?$/.exec(location.hash);
    if (screen !== null) {
      showSidebar(false);
      this.settings.show(screen[1]);
      return;
    }
    const key = keyInAddress();
    if (key === undefined) this.openNew();
    else this.open(key);
  }

  /** Shows the health of the gateway and how long ago things happened, now and from now on. */
  keepFresh() {
    const refreshHealth = () =>
      showHealth(this.api, () => {
        this.sidebar.redraw();
        this.chat.showChannel();
      });
    void refreshHealth();
    setInterval(() => document.hidden || void refreshHealth(), HEALTH_EVERY_MS);
    setInterval(() => document.hidden || this.sidebar.redraw(), REDRAW_EVERY_MS);
  }

  /** Follows what happens in all chats. */
  follow() {
    const { sidebar, inbox, schedules } = this;
    void followLists(this.api, {
      open: () => {
        sidebar.refreshSoon();
        inbox.refreshSoon();
      },
      event: ({ type }) => {
        if (type === 'turn_ended' || type === 'cron_executed') void schedules.refresh().catch(showError);
        sidebar.refreshSoon();
        inbox.apply(type);
      },
      refused: showError,
    }).catch(showError);
  }
}

/**
 * The buttons and keys around the chat.
 * @param {App} app
 */
function listenToFrame(app) {
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
  byId('sign-out', HTMLElement).addEventListener('click', () => {
    removeToken();
    forgetDrafts();
    forgetCommandAnswers();
    history.replaceState(null, '', '/');
    location.reload();
  });
}

async function startPage() {
  const { api, chats } = await signIn();
  byId('app', HTMLElement).hidden = false;
  const app = new App(api);
  app.chat.stopWithEscape();
  offerKeys();
  offerThemes();
  offerMemories(api);
  listenToFrame(app);
  app.keepFresh();
  await app.sidebar.refresh(chats).catch(showError);
  app.openAddressed();
  // Read by tests, and by whoever measures the page in a browser.
  performance.mark('parley-usable');
  // No one has to wait for it before writing.
  setTimeout(() => void offerLanguages(api, showError).catch(showError));
  app.follow();
  await app.schedules.refresh().catch(showError);
}

startPage().catch(showError);
