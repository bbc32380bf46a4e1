/** The head of a chat: its name, who answers, and one menu for what is done with the chat as a whole. */
import type { JSX } from 'preact';
import type { Chat } from '../chat/chat.ts';
import type { Approvals } from '../chats/approvals.ts';
import { channelOf } from '../chats/chat-names.ts';
import type { ChatList } from '../chats/chat-list.ts';
import { ListButton } from '../chats/inbox.tsx';
import { run } from '../failures/show-error.ts';
import { openNewChat } from '../navigation.ts';
import { Menu, MenuItem } from '../parts/menu.tsx';
import { say } from '../texts.ts';
import { ChoiceMenu } from './choice-menu.tsx';

interface ChatMenuProps {
  list: ChatList;
  chat: Chat;
}

/** The head of a chat. */
export function ChatHead({ list, chat, approvals }: ChatMenuProps & { approvals: Approvals }): JSX.Element {
  const { key } = chat;
  const owner = list.ownerOf(key);
  return (
    <header class="chat-head">
      <ListButton id="open-sidebar" approvals={approvals} />
      <h1 id="chat-title" class="chat-title">
        {titleOf(list, chat)}
      </h1>
      {owner !== '' && (
        <span id="owner-badge" class="badge" dir="auto">
          {say('page.chat.owner', { name: owner })}
        </span>
      )}
      {!key.startsWith('http:') && (
        <span id="channel-badge" class="badge">
          {channelOf(key)}
        </span>
      )}
      <ChoiceMenu choices={chat.choices} />
      <ChatMenu list={list} chat={chat} />
    </header>
  );
}

function titleOf(list: ChatList, { key, exists }: Chat): string {
  return exists.value ? list.titleOf(key) : say('page.chat.new');
}

function ChatMenu({ list, chat }: ChatMenuProps): JSX.Element {
  const { key, linked } = chat;
  const exists = chat.exists.value;
  const session = list.currentSession.value;
  const isArchived = session?.archived ?? false;
  const archive = async (): Promise<void> => {
    await list.archive([key], !isArchived);
    if (!isArchived) openNewChat();
  };
  const save = async (format: 'md' | 'json'): Promise<void> =>
    await (await import('../chat/chat-files.tsx')).exportChat(key, titleOf(list, chat), format);
  const showLinks = async (): Promise<void> => (await import('../chat/linked-dialog.tsx')).showLinked(linked);
  const showFiles = async (): Promise<void> => (await import('../chat/chat-files.tsx')).showChatFiles(key);
  return (
    <Menu id="chat-menu" icon="more" bare label={say('page.chat.menu')}>
      {exists && (
        <>
          <MenuItem icon="pencil" onClick={() => run(list.rename(key))}>
            {say('page.row.rename')}
          </MenuItem>
          <MenuItem id="export-markdown" icon="download" onClick={() => run(save('md'))}>
            {say('page.chat.export_markdown')}
          </MenuItem>
          <MenuItem id="export-json" icon="download" onClick={() => run(save('json'))}>
            {say('page.chat.export_json')}
          </MenuItem>
          <MenuItem id="open-files" icon="file" onClick={() => run(showFiles())}>
            {say('page.files')}
          </MenuItem>
        </>
      )}
      <MenuItem id="open-linked" icon="link" onClick={() => run(showLinks())}>
        {linked.label}
      </MenuItem>
      {exists && (
        <>
          <MenuItem id="open-trace" icon="search" onClick={() => run(chat.conversation.showNewestTrace())}>
            {say('page.chat.trace')}
          </MenuItem>
          <hr />
          <MenuItem icon="archive" onClick={() => run(archive())}>
            {say(isArchived ? 'page.row.unarchive' : 'page.row.archive')}
          </MenuItem>
          <MenuItem icon="trash" danger onClick={() => run(list.delete([key]))}>
            {say('page.delete')}
          </MenuItem>
        </>
      )}
    </Menu>
  );
}
