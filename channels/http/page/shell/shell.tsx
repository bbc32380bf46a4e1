/** The frame of the page: the list of chats, and the open chat or the settings. */
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { type Chat, shownChat } from '../chat/chat.ts';
import { focusDraft, MessageField } from '../chat/composer/composer.tsx';
import { DropOverlay } from '../chat/composer/file-tray.tsx';
import { QueuePanel } from '../chat/composer/queue-panel.tsx';
import { LinkQuestion } from '../chat/linked-chats.tsx';
import { Transcript } from '../chat/transcript.tsx';
import type { Approvals } from '../chats/approvals.ts';
import type { ChatList } from '../chats/chat-list.ts';
import { InboxButton, notifyOfQuestions, QuestionsOf, WaitingElsewhere } from '../chats/inbox.tsx';
import { type ChatSearch, SearchField, SearchResults } from '../chats/search.tsx';
import { type ScheduleList, Schedules } from '../chats/schedules.tsx';
import { Chats } from '../chats/sidebar.tsx';
import { connectionLost } from '../failures/reachability.ts';
import { openNewChat, route, showSidebar, sidebarOpen } from '../navigation.ts';
import { Icon, Logo } from '../parts/icon.tsx';
import { later } from '../parts/later.tsx';
import { say } from '../texts.ts';
import { AccountMenu } from './account-menu.tsx';
import { ChatHead } from './chat-head.tsx';

/** What is wrong with the models, and whether none answers. */
export const healthProblem = signal<{ text: string; isDown: boolean } | undefined>(undefined);
/** Answers come from a script. */
export const isDemo = signal(false);

/** The stores of the page besides that of the open chat. */
export interface Stores {
  list: ChatList;
  search: ChatSearch;
  schedules: ScheduleList;
  approvals: Approvals;
}

const Settings = later(async () => (await import('../settings/settings.tsx')).Settings);

/** The whole page of somebody who is signed in. */
export function Shell(stores: Stores): JSX.Element {
  const address = route.value;
  const settings = address !== undefined && 'settings' in address ? address.settings : undefined;
  const chat = shownChat.value;
  useEffect(() => notifyOfQuestions(stores), []);
  return (
    <div id="app" class={`app${sidebarOpen.value ? ' sidebar-open' : ''}`}>
      <button id="skip" class="skip" type="button" onClick={focusDraft}>
        {say('page.skip')}
      </button>
      <Sidebar {...stores} />
      <div class="shade" hidden={!sidebarOpen.value} onClick={() => showSidebar(false)} />
      <main id="chat" class="chat" hidden={settings !== undefined}>
        {chat && <OpenChat key={chat.key} stores={stores} chat={chat} />}
      </main>
      <main id="settings" class="settings" aria-label={say('page.settings')} hidden={settings === undefined}>
        {settings !== undefined && (
          <Settings address={settings} chatKey={chat?.key ?? ''} approvals={stores.approvals} />
        )}
      </main>
    </div>
  );
}

function OpenChat({ stores, chat }: { stores: Stores; chat: Chat }): JSX.Element {
  const { list, approvals } = stores;
  return (
    <>
      <DropOverlay tray={chat.composer.tray} />
      <ChatHead list={list} chat={chat} approvals={approvals} />
      <Banners />
      <WaitingElsewhere approvals={approvals} list={list} />
      <Transcript chat={chat} />
      <QuestionsOf approvals={approvals} session={chat.key} />
      <LinkQuestion id="link-asks" linked={chat.linked} />
      <QueuePanel queue={chat.queue} composer={chat.composer} />
      <MessageField composer={chat.composer} choices={chat.choices} />
    </>
  );
}

function Sidebar({ list, search, schedules, approvals }: Stores): JSX.Element {
  return (
    <aside id="sidebar" class="sidebar" aria-label={say('page.chats')}>
      <div class="sidebar-head">
        <Logo size={26} />
        <span class="brand">Parley</span>
        <button
          id="close-sidebar"
          class="icon-button only-phone"
          type="button"
          aria-label={say('page.sidebar.close')}
          onClick={() => showSidebar(false)}
        >
          <Icon name="close" />
        </button>
      </div>
      <button id="new-chat" class="new-chat" type="button" onClick={openNewChat}>
        <Icon name="plus" />
        {say('page.chat.new')}
      </button>
      <InboxButton approvals={approvals} list={list} />
      <SearchField search={search} />
      <SearchResults search={search} />
      <Chats list={list} hidden={search.text.value.trim() !== ''} />
      <Schedules schedules={schedules} />
      <div id="sidebar-foot" class="sidebar-foot">
        <AccountMenu showArchived={() => list.showArchived(true)} />
      </div>
    </aside>
  );
}

function Banners(): JSX.Element {
  const problem = healthProblem.value;
  return (
    <>
      <div id="demo-banner" class="banner demo" hidden={!isDemo.value}>
        {say('page.demo')}
      </div>
      <div
        id="health-banner"
        class={`banner warning${problem?.isDown ? ' model-down' : ''}`}
        role="status"
        hidden={problem === undefined}
      >
        {problem?.text}
      </div>
      <div id="connection-banner" class="banner warning" role="status" hidden={!connectionLost.value}>
        {say('page.connection_lost')}
      </div>
    </>
  );
}
