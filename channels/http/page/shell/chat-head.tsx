/** The head of a chat: its name, who answers, and one menu for what is done with the chat as a whole. */
import type { JSX } from 'preact';
import type { Api } from '../api.ts';
import type { ChatChoices } from '../chat/chat-choices.ts';
import type { OpenChat } from '../chat/chat-view.ts';
import type { LinkedChats } from '../chat/linked-chats.ts';
import { channelOf } from '../chats/chat-names.ts';
import type { ChatList } from '../chats/chat-list.ts';
import { Icon } from '../parts/icon.tsx';
import { Menu, MenuItem } from '../parts/menu.tsx';
import { say } from '../texts.ts';
import { ChoiceMenu } from './choice-menu.tsx';

interface ChatHeadProps {
  api: Api;
  list: ChatList;
  choices: ChatChoices;
  chat: OpenChat;
  linked: LinkedChats;
  acts: {
    newChat: () => void;
    showSidebar: (open: boolean) => void;
    showTrace: () => void;
  };
}

/** The head of the open chat. */
export function ChatHead({ api, list, choices, chat, linked, acts }: ChatHeadProps): JSX.Element {
  const key = list.current.value;
  const owner = list.ownerOf(key);
  return (
    <header class="chat-head">
      <button
        id="open-sidebar"
        class="icon-button menu-button only-phone"
        type="button"
        aria-label={say('page.sidebar.show')}
        onClick={() => acts.showSidebar(true)}
      >
        <Icon name="menu" />
      </button>
      <h1 id="chat-title" class="chat-title">
        {chat.title}
      </h1>
      {owner !== '' && (
        <span id="owner-badge" class="badge" dir="auto">
          {say('page.chat.owner', { name: owner })}
        </span>
      )}
      {key !== '' && !key.startsWith('http:') && (
        <span id="channel-badge" class="badge">
          {channelOf(key)}
        </span>
      )}
      <ChoiceMenu choices={choices} />
      <ChatMenu api={api} list={list} chat={chat} linked={linked} acts={acts} />
    </header>
  );
}

type ChatMenuProps = Omit<ChatHeadProps, 'choices'>;

function ChatMenu({ api, list, chat, linked, acts }: ChatMenuProps): JSX.Element {
  const key = list.current.value;
  const exists = chat.exists.value;
  const session = list.currentSession.value;
  const isArchived = session?.archived ?? false;
  const archive = async (): Promise<void> => {
    await list.archive([key], !isArchived);
    if (!isArchived) acts.newChat();
  };
  const save = async (format: 'md' | 'json'): Promise<void> =>
    await (await import('../chat/chat-files.tsx')).exportChat(api, key, chat.title.value, format);
  const showLinks = async (): Promise<void> => (await import('../chat/linked-dialog.tsx')).showLinked(linked);
  const showFiles = async (): Promise<void> =>
    (await import('../chat/chat-files.tsx')).showChatFiles(api, key);
  return (
    <Menu id="chat-menu" icon="more" bare label={say('page.chat.menu')}>
      {exists && (
        <>
          <MenuItem icon="pencil" onClick={() => list.run(list.rename(key))}>
            {say('page.row.rename')}
          </MenuItem>
          <MenuItem id="export-markdown" icon="download" onClick={() => list.run(save('md'))}>
            {say('page.chat.export_markdown')}
          </MenuItem>
          <MenuItem id="export-json" icon="download" onClick={() => list.run(save('json'))}>
            {say('page.chat.export_json')}
          </MenuItem>
          <MenuItem id="open-files" icon="file" onClick={() => list.run(showFiles())}>
            {say('page.files')}
          </MenuItem>
        </>
      )}
      <MenuItem id="open-linked" icon="link" onClick={() => list.run(showLinks())}>
        {linked.label}
      </MenuItem>
      {exists && (
        <>
          <MenuItem id="open-trace" icon="search" onClick={() => acts.showTrace()}>
            {say('page.chat.trace')}
          </MenuItem>
          <hr />
          <MenuItem icon="archive" onClick={() => list.run(archive())}>
            {say(isArchived ? 'page.row.unarchive' : 'page.row.archive')}
          </MenuItem>
          <MenuItem icon="trash" danger onClick={() => list.run(list.delete([key]))}>
            {say('page.delete')}
          </MenuItem>
        </>
      )}
    </Menu>
  );
}
