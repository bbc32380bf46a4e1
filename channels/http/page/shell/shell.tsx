/** The frame of the page: the list of chats, and the open chat or the settings. */
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import type { Api } from '../api.ts';
import type { ChatChoices } from '../chat/chat-choices.ts';
import { type Composer, MessageField } from '../chat/composer/composer.tsx';
import { DropOverlay } from '../chat/composer/file-tray.tsx';
import { type Queue, QueuePanel } from '../chat/composer/queue-panel.tsx';
import type { OpenChat } from '../chat/chat-view.ts';
import type { LinkedChats } from '../chat/linked-chats.ts';
import { LinkQuestion } from '../chat/linked-question.tsx';
import { Greeting } from '../chat/greeting.tsx';
import { Transcript } from '../chat/transcript.tsx';
import type { ChatList } from '../chats/chat-list.ts';
import { type ChatSearch, SearchField, SearchResults } from '../chats/search.tsx';
import { type ScheduleList, Schedules } from '../chats/schedules.tsx';
import { Chats } from '../chats/sidebar.tsx';
import { byId } from '../dom.ts';
import { connectionLost } from '../failures/reachability.ts';
import { showError } from '../failures/show-error.ts';
import { Icon } from '../parts/icon.tsx';
import { say } from '../texts.ts';
import { AccountMenu } from './account-menu.tsx';
import { ChatHead } from './chat-head.tsx';

/** The list of chats is shown over the chat, on a phone. */
export const sidebarOpen = signal(false);
/** What is wrong with the models, and whether none answers. */
export const healthProblem = signal<{ text: string; isDown: boolean } | undefined>(undefined);
/** Answers come from a script. */
export const isDemo = signal(false);

/** What the frame shows and what its controls do. */
export interface ShellProps {
  api: Api;
  list: ChatList;
  search: ChatSearch;
  schedules: ScheduleList;
  choices: ChatChoices;
  chat: OpenChat;
  composer: Composer;
  queue: Queue;
  linked: LinkedChats;
  acts: {
    open: (key: string) => void;
    newChat: () => void;
    showSidebar: (open: boolean) => void;
    signOut: () => void;
    send: (text: string) => void;
    showTrace: () => void;
  };
}

/** The whole page of somebody who is signed in. */
export function Shell(props: ShellProps): JSX.Element {
  const { acts, chat, composer, queue, linked } = props;
  return (
    <div id="app" class={`app${sidebarOpen.value ? ' sidebar-open' : ''}`}>
      <button id="skip" class="skip" type="button" onClick={() => byId('draft', HTMLElement).focus()}>
        {say('page.skip')}
      </button>
      <Sidebar {...props} />
      <div id="shade" class="shade" hidden={!sidebarOpen.value} onClick={() => acts.showSidebar(false)} />
      <main id="chat" class="chat">
        <DropOverlay tray={composer.tray} />
        <ChatHead {...props} />
        <Banners />
        <div id="waiting-elsewhere" class="waiting-elsewhere" role="status" hidden />
        <div id="scroller" class="scroller" tabIndex={-1}>
          {chat.isEmpty.value && <Greeting send={acts.send} />}
          <div
            id="transcript"
            class={`transcript${composer.isWritable.value ? ' writable' : ''}`}
            role="log"
            aria-label={say('page.conversation')}
            aria-live="off"
          >
            {chat.conversation.value && (
              <Transcript key={chat.conversation.value.key} conversation={chat.conversation.value} />
            )}
          </div>
        </div>
        <button id="to-bottom" class="to-bottom" type="button" aria-label={say('page.to_bottom')} hidden>
          <Icon name="down" />
        </button>
        <p id="announcer" class="visually-hidden" aria-live="polite" />
        <div
          id="approvals"
          class="approvals"
          role="region"
          aria-live="polite"
          aria-label={say('page.approvals')}
          hidden
        />
        <LinkQuestion id="link-asks" linked={linked} />
        <QueuePanel queue={queue} />
        <MessageField composer={composer} choices={props.choices} />
      </main>
      <main id="settings" class="settings" aria-label={say('page.settings')} hidden />
      <InboxDialog />
    </div>
  );
}

function Sidebar({ api, list, search, schedules, acts }: ShellProps): JSX.Element {
  return (
    <aside id="sidebar" class="sidebar" aria-label={say('page.chats')}>
      <div class="sidebar-head">
        <img src={byId('icon', HTMLLinkElement).href} alt="" width={26} height={26} />
        <span class="brand">Parley</span>
        <button
          id="close-sidebar"
          class="icon-button only-phone"
          type="button"
          aria-label={say('page.sidebar.close')}
          onClick={() => acts.showSidebar(false)}
        >
          <Icon name="close" />
        </button>
      </div>
      <button id="new-chat" class="new-chat" type="button" onClick={acts.newChat}>
        <Icon name="plus" />
        {say('page.chat.new')}
      </button>
      <button id="open-inbox" class="open-inbox" type="button" hidden />
      <SearchField search={search} />
      <SearchResults search={search} />
      <Chats list={list} hidden={search.text.value.trim() !== ''} />
      <Schedules schedules={schedules} open={acts.open} showError={showError} />
      <div id="sidebar-foot" class="sidebar-foot">
        <AccountMenu
          api={api}
          showError={showError}
          signOut={acts.signOut}
          showArchived={() => list.showArchived(true)}
        />
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

/** What waits for a decision in any chat; `Inbox` fills it. */
function InboxDialog(): JSX.Element {
  return (
    <dialog id="inbox" class="inbox" aria-labelledby="inbox-title">
      <h2 id="inbox-title">{say('page.inbox')}</h2>
      <div id="inbox-list" class="inbox-list" />
      <div class="confirm-buttons">
        <button id="inbox-notify" type="button">
          {say('page.inbox.notify')}
        </button>
        <button id="close-inbox" type="button">
          {say('page.close')}
        </button>
      </div>
    </dialog>
  );
}
