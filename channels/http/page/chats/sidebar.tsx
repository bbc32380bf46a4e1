/** The list of chats: pinned ones first, what runs or waits, and several at once. */
import type { JSX } from 'preact';
import type { Session } from '../api.ts';
import { run } from '../failures/show-error.ts';
import { openChat } from '../navigation.ts';
import { Menu, MenuItem } from '../parts/menu.tsx';
import { Time } from '../parts/time.tsx';
import { say, shortTime } from '../texts.ts';
import { channelOf, nameOf } from './chat-names.ts';
import type { ChatList } from './chat-list.ts';

/** The chats that were loaded, or the word that there are none. */
export function Chats({ list, hidden }: { list: ChatList; hidden: boolean }): JSX.Element {
  const { sessions, archived, hasMore } = list;
  return (
    <>
      {archived.value && (
        <p class="list-head">
          {say('page.chats.archived')}
          <button type="button" class="text-button" onClick={() => list.showArchived(false)}>
            {say('page.chats.all')}
          </button>
        </p>
      )}
      <nav id="sessions" class="sessions" aria-label={say('page.chats.yours')} hidden={hidden}>
        {sessions.value?.map((session) => (
          <ChatRow key={session.key} list={list} session={session} />
        ))}
        {hasMore.value && (
          <button type="button" class="earlier" onClick={() => list.showMore()}>
            {say('page.chats.more')}
          </button>
        )}
        {sessions.value?.length === 0 && (
          <p class="quiet empty-list">
            {say(archived.value ? 'page.chats.none_archived' : 'page.chats.none')}
          </p>
        )}
      </nav>
      <Selection list={list} />
    </>
  );
}

function ChatRow({ list, session }: { list: ChatList; session: Session }): JSX.Element {
  const { key, state, unread, pinned, updatedAt } = session;
  const isCurrent = key === list.current.value;
  const selected = list.selected.value;
  const isUnread = unread > 0 && !isCurrent && state !== 'running';
  const where = key.startsWith('http:') ? (session.own ? '' : (session.ownerName ?? '')) : channelOf(key);
  return (
    <div class="session-row" data-key={key}>
      <button
        type="button"
        class={`session${isUnread ? ' unread' : ''}`}
        aria-current={isCurrent ? 'true' : undefined}
        aria-pressed={selected?.has(key)}
        onClick={() => (selected === undefined ? openChat(key) : list.toggle(key))}
      >
        <span class="session-title" dir="auto">
          {selected && (
            <span class="tick" aria-hidden="true">
              {selected.has(key) ? '☑ ' : '☐ '}
            </span>
          )}
          {nameOf(session)}
        </span>
        <span class="session-meta">
          {pinned && <span class="mark">{say('page.row.pinned')}</span>}
          {state === 'running' && <span class="mark running">{say('page.row.running')}</span>}
          {state === 'waiting' && <span class="mark waiting">{say('page.row.waiting')}</span>}
          {isUnread && <span class="mark new">{say('page.row.new', { count: unread })}</span>}
          {where !== '' && `${where} · `}
          <Time at={updatedAt} format={(at) => shortTime(at, list.now.value)} />
        </span>
      </button>
      {selected === undefined && <RowMenu list={list} session={session} />}
    </div>
  );
}

function RowMenu({ list, session }: { list: ChatList; session: Session }): JSX.Element {
  const { key, pinned, archived } = session;
  const name = nameOf(session);
  const item = (
    icon: 'pencil' | 'pin' | 'archive' | 'check' | 'trash',
    label: string,
    act: () => void,
  ): JSX.Element => (
    <MenuItem
      icon={icon}
      label={say('page.row.act', { label, name })}
      danger={icon === 'trash'}
      onClick={act}
    >
      {label}
    </MenuItem>
  );
  return (
    <Menu id={`row-${key}`} class="row-menu" icon="more" bare label={say('page.row.actions', { name })}>
      {item('pencil', say('page.row.rename'), () => run(list.rename(key)))}
      {item('pin', say(pinned ? 'page.row.unpin' : 'page.row.pin'), () =>
        run(list.change([key], { pinned: !pinned })),
      )}
      {item('archive', say(archived ? 'page.row.unarchive' : 'page.row.archive'), () =>
        run(list.archive([key], !archived)),
      )}
      {item('check', say('page.chats.select'), () => list.toggle(key))}
      {item('trash', say('page.delete'), () => run(list.delete([key])))}
    </Menu>
  );
}

function Selection({ list }: { list: ChatList }): JSX.Element {
  const keys = [...(list.selected.value ?? [])];
  const isArchived = list.archived.value;
  return (
    <div
      id="selection"
      class="selection"
      role="group"
      aria-label={say('page.chats.selected')}
      hidden={list.selected.value === undefined}
    >
      <span>{say('page.chats.selected_many', { count: keys.length })}</span>
      <button type="button" disabled={keys.length === 0} onClick={() => run(list.archive(keys, !isArchived))}>
        {say(isArchived ? 'page.row.unarchive' : 'page.row.archive')}
      </button>
      <button
        type="button"
        class="danger"
        disabled={keys.length === 0}
        onClick={() => run(list.delete(keys))}
      >
        {say('page.delete')}
      </button>
      <button type="button" class="text-button" onClick={() => (list.selected.value = undefined)}>
        {say('page.chats.done')}
      </button>
    </div>
  );
}
