/** The entry of the page: signs in, then shows the list of chats and the open one. */
import { effect, untracked } from '@preact/signals';
import { render } from 'preact';
import { api, ApiError } from './api.ts';
import { Chat, shownChat } from './chat/chat.ts';
import { Outbox } from './chat/outbox.ts';
import { Approvals } from './chats/approvals.ts';
import { setChannelLabels } from './chats/chat-names.ts';
import { ChatList } from './chats/chat-list.ts';
import { followLists } from './chats/list-events.ts';
import { ScheduleList } from './chats/schedules.tsx';
import { ChatSearch } from './chats/search.tsx';
import { messageOf } from './failures/in-place.ts';
import { modelProblem } from './failures/model-problem.ts';
import { run, showError } from './failures/show-error.ts';
import { openAddressed, route, showSidebar, sidebarOpen } from './navigation.ts';
import { version } from './shell/account-menu.tsx';
import { listenForKeys } from './shell/keys.tsx';
import { healthProblem, isDemo, Shell, type Stores } from './shell/shell.tsx';
import './shared.ts';
import { signIn } from './sign-in.tsx';

/**
 * What the page asks for again and again while it is looked at, as does only the screen of the log: whether models
 * answer and channels are connected happens outside of the gateway, which learns it by asking, too. It is not an event
 * of a chat, and the streams carry nothing else.
 */
const HEALTH_EVERY_MS = 30_000;
/** The times in the list are relative. */
const REDRAW_EVERY_MS = 60_000;

/** Reads the gateway's health. Never rejects. */
async function readHealth(): Promise<void> {
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

/** Opens the chat of the address, now and whenever it is another one. */
function followAddress({ list, schedules, approvals }: Stores): void {
  const outbox = new Outbox();
  const refreshLists = (): void => run(Promise.all([list.refresh(), schedules.refresh()]));
  const open = (key: string, fresh: boolean, seq: number | undefined): void => {
    shownChat.peek()?.close();
    const chat = new Chat(key, fresh, { list, approvals, outbox, refreshLists });
    shownChat.value = chat;
    if (seq !== undefined) run(chat.conversation.show(seq));
    else if (chat.composer.isWritable) chat.composer.focus();
  };
  effect(() => {
    const address = route.value;
    if (address !== undefined && 'key' in address)
      untracked(() => open(address.key, address.fresh === true, address.seq));
  });
  addEventListener('popstate', openAddressed);
}

/** The name of the tab: what waits, and the open chat. */
function followTitle({ list, approvals }: Stores): void {
  effect(() => {
    const { key, exists } = shownChat.value ?? {};
    // In the settings, no chat is open.
    const isShown = exists?.value === true && list.current.value !== '';
    const title = key !== undefined && isShown ? `${list.titleOf(key)} · ` : '';
    document.title = `${approvals.count === 0 ? '' : `(${approvals.count}) `}${title}Parley`;
  });
}

/** Follows what happens in all chats, and the gateway's health. */
function follow({ list, schedules, approvals }: Stores): void {
  const open = (): void => {
    list.refreshSoon();
    approvals.refreshSoon();
  };
  const event = ({ type }: { type: string }): void => {
    if (type === 'turn_ended' || type === 'cron_executed') run(schedules.refresh());
    list.refreshSoon();
    approvals.apply(type, false);
  };
  run(followLists({ open, event, refused: showError }));
}

/** Escape closes the list of chats, else it stops the running answer, wherever the focus is; dialogs and menus close first. */
function listenForEscape(): void {
  addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || event.defaultPrevented) return;
    if (document.querySelector('dialog[open], :popover-open') !== null) return;
    const chat = shownChat.peek();
    if (sidebarOpen.peek()) showSidebar(false);
    else if (chat?.conversation.running === true) run(chat.stop());
  });
}

async function startPage(): Promise<void> {
  const place = document.getElementById('page')!;
  const chats = await signIn(place);
  const stores: Stores = {
    list: new ChatList(),
    search: new ChatSearch(),
    schedules: new ScheduleList(),
    approvals: new Approvals(),
  };
  render(<Shell {...stores} />, place);
  followTitle(stores);
  listenForKeys();
  listenForEscape();
  void readHealth();
  setInterval(() => document.hidden || void readHealth(), HEALTH_EVERY_MS);
  setInterval(() => document.hidden || (stores.list.now.value = Date.now()), REDRAW_EVERY_MS);
  await stores.list.refresh(chats).catch(showError);
  followAddress(stores);
  openAddressed();
  // Read by tests, and by whoever measures the page in a browser.
  performance.mark('parley-usable');
  follow(stores);
  await stores.schedules.refresh();
}

run(startPage());
