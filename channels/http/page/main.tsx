/** The entry of the page: signs in, then shows the list of chats and the open one. */
import { effect, signal } from '@preact/signals';
import { render } from 'preact';
import { type Api, ApiError } from './api.ts';
import { ChatChoices } from './chat/chat-choices.ts';
import { ChatView, OpenChat } from './chat/chat-view.ts';
import { forgetDecisions } from './chat/approvals/own-decisions.ts';
import { Composer } from './chat/composer/composer.tsx';
import { forgetDrafts } from './chat/composer/drafts.ts';
import { Queue } from './chat/composer/queue-panel.tsx';
import { LinkedChats } from './chat/linked-chats.ts';
import { setChannelLabels } from './chats/chat-names.ts';
import { ChatList } from './chats/chat-list.ts';
import { Inbox, waitingCount } from './chats/inbox.ts';
import { followLists } from './chats/list-events.ts';
import { ScheduleList } from './chats/schedules.tsx';
import { ChatSearch } from './chats/search.tsx';
import { forgetCommandAnswers } from './commands/command-answers.ts';
import { byId } from './dom.ts';
import { messageOf } from './failures/in-place.ts';
import { modelProblem } from './failures/model-problem.ts';
import { showError } from './failures/show-error.ts';
import { SettingsLater } from './settings/settings-later.ts';
import { version } from './shell/account-menu.tsx';
import { listenForKeys } from './shell/keys.tsx';
import { healthProblem, isDemo, Shell, sidebarOpen } from './shell/shell.tsx';
import './shared.ts';
import { removeToken, signIn } from './sign-in.ts';

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

/** Reads the gateway's health. Never rejects. */
async function readHealth(api: Api): Promise<void> {
  try {
    const health = await api.health();
    setChannelLabels(health.channels);
    isDemo.value = health.demo;
    version.value = health.version;
    const text = modelProblem(health.model);
    healthProblem.value = text === undefined ? undefined : { text, isDown: health.model.state === 'down' };
  } catch (error) {
    // Another banner says that the gateway cannot be reached.
    const isSaid = error instanceof ApiError && error.isUnreachable;
    healthProblem.value = isSaid ? undefined : { text: messageOf(error), isDown: false };
  }
}

/** The entry of the history that stands for the list of chats over the chat, on a phone. */
const DRAWER = 'list';

/** The parts of the page, and which of them is open. */
class App {
  readonly #api: Api;
  readonly list: ChatList;
  readonly schedules: ScheduleList;
  readonly chat: ChatView;
  readonly #inbox: Inbox;
  readonly #settings: SettingsLater;
  /** The settings are shown in place of the chat. */
  readonly #inSettings = signal(false);

  constructor(api: Api) {
    this.#api = api;
    const open = (key: string, seq?: number): void => this.open(key, { seq });
    this.list = new ChatList(api, {
      showError,
      open,
      deleted: (keys) => {
        if (keys.includes(this.chat.key)) this.openNew();
      },
      loaded: () => this.#inbox.elsewhere.redraw(),
    });
    this.schedules = new ScheduleList(api);
    const { list, schedules } = this;
    const choices = new ChatChoices(api, showError);
    const chat = new OpenChat(list);
    const queue = new Queue(api, showError);
    const composer = new Composer(api, {
      send: (content, files) => this.chat.sendOrAsk(content, files),
      stop: () => void this.chat.stop(),
      showError,
    });
    const linked = new LinkedChats(api, { showError, made: () => this.chat.follow() });
    const search = new ChatSearch(api, { open, showError });
    const acts = {
      open,
      newChat: () => this.openNew(),
      showSidebar,
      signOut,
      send: (text: string) => this.chat.send(text),
      showTrace: () => this.chat.showTrace(),
    };
    render(
      <Shell {...{ api, list, search, schedules, choices, chat, composer, queue, linked, acts }} />,
      byId('page', HTMLElement),
    );
    this.chat = new ChatView(
      api,
      { list, choices, chat, composer, queue, linked },
      {
        showError,
        open,
        changed: () => void Promise.all([list.refresh(), schedules.refresh()]).catch(showError),
      },
    );
    this.#inbox = new Inbox(api, { showError, titleOf: (key) => list.titleOf(key), open });
    this.#settings = new SettingsLater(api, {
      showError,
      showSidebar: () => showSidebar(true),
      chatKey: () => this.chat.key,
      labelled: (menu) => this.#inbox.elsewhere.labelled(menu),
    });
    effect(() => {
      // In the settings, no chat is open.
      const title = chat.exists.value && list.current.value !== '' ? `${chat.title.value} · ` : '';
      const waiting = waitingCount.value === 0 ? '' : `(${waitingCount.value}) `;
      document.title = `${waiting}${title}Parley`;
    });
  }

  /** Shows a chat. Another one than before is a step of the history, which the browser's Back takes back. */
  open(key: string, options: { fresh?: boolean; seq?: number | undefined } = {}): void {
    const address = `#${key}`;
    const isStep = location.hash !== '' && location.hash !== address && history.state !== DRAWER;
    history[isStep ? 'pushState' : 'replaceState'](null, '', address);
    sidebarOpen.value = false;
    this.#show(key, options);
  }

  openNew(): void {
    this.open(newKey(), { fresh: true });
  }

  /** Opens what the address names: a chat or a screen of the settings. */
  openAddressed(): void {
    sidebarOpen.value = history.state === DRAWER;
    const screen = /^#settings(?:\/([\w./-]+))?$/.exec(location.hash);
    if (screen !== null) {
      this.#inSettings.value = true;
      this.list.open('');
      this.#settings.show(screen[1]);
      return;
    }
    const key = keyInAddress();
    if (key === undefined) this.openNew();
    else if (key !== this.chat.key || this.#inSettings.value) this.#show(key, {});
  }

  #show(key: string, options: { fresh?: boolean; seq?: number | undefined }): void {
    this.#inSettings.value = false;
    this.#settings.hide();
    this.list.open(key);
    this.#inbox.elsewhere.openChat(key);
    this.chat.open(key, options);
  }

  /** Shows the health of the gateway and how long ago things happened, now and from now on. */
  keepFresh(): void {
    void readHealth(this.#api);
    setInterval(() => document.hidden || void readHealth(this.#api), HEALTH_EVERY_MS);
    setInterval(() => document.hidden || (this.list.now.value = Date.now()), REDRAW_EVERY_MS);
  }

  /** Follows what happens in all chats. */
  follow(): void {
    void followLists(this.#api, {
      open: () => {
        this.list.refreshSoon();
        this.#inbox.refreshSoon();
      },
      event: ({ type }) => {
        if (type === 'turn_ended' || type === 'cron_executed') void this.schedules.refresh().catch(showError);
        this.list.refreshSoon();
        this.#inbox.apply(type);
      },
      refused: showError,
    }).catch(showError);
  }
}

/** Shows the list of chats over the chat, as a step of the history, or takes that step back. */
function showSidebar(open: boolean): void {
  if (open === sidebarOpen.peek()) return;
  if (open) {
    history.pushState(DRAWER, '');
    sidebarOpen.value = true;
    setTimeout(() => byId('close-sidebar', HTMLElement).focus());
  } else if (history.state === DRAWER) history.back();
  else sidebarOpen.value = false;
}

/** Whoever uses this browser next is not notified of these chats. */
async function endNotifications(): Promise<void> {
  const registration = await navigator.serviceWorker?.getRegistration();
  await (await registration?.pushManager?.getSubscription())?.unsubscribe();
}

function signOut(): void {
  removeToken();
  forgetDrafts();
  forgetCommandAnswers();
  forgetDecisions();
  history.replaceState(null, '', '/');
  void endNotifications()
    .catch(showError)
    .finally(() => location.reload());
}

async function startPage(): Promise<void> {
  const { api, chats } = await signIn();
  const app = new App(api);
  app.chat.stopWithEscape();
  listenForKeys();
  addEventListener(
    'keydown',
    (event) =>
      event.key === 'Escape' && document.querySelector(':popover-open') === null && showSidebar(false),
  );
  addEventListener('popstate', () => app.openAddressed());
  app.keepFresh();
  await app.list.refresh(chats).catch(showError);
  app.openAddressed();
  // Read by tests, and by whoever measures the page in a browser.
  performance.mark('parley-usable');
  app.follow();
  await app.schedules.refresh().catch(showError);
}

startPage().catch(showError);
