/** The chats of the sidebar: those that were loaded, which is open, which are selected, and what is done with them. */
import { computed, effect, signal, untracked } from '@preact/signals';
import { api, type Session, type SessionChange } from '../api.ts';
import { askText, confirmDelete } from '../confirm.tsx';
import { run } from '../failures/show-error.ts';
import { openNewChat, route } from '../navigation.ts';
import { NewestAnswer, soon } from '../newest.ts';
import { toast } from '../parts/toast.tsx';
import { say } from '../texts.ts';
import { nameOf } from './chat-names.ts';

/** Chats that the list shows at first, and that *More chats* adds. */
export const CHATS_PER_PAGE = 50;
/** Most chats that the API lists, and that it deletes, in one request. */
const MAX_LISTED = 200;
const MAX_DELETED = 100;
/** Events of many chats at once are one reload. */
const RELOAD_AFTER_MS = 250;

/** The list of chats. */
export class ChatList {
  readonly sessions = signal<readonly Session[] | undefined>(undefined);
  /** The key of the open chat; empty in the settings. */
  readonly current = computed(() => {
    const address = route.value;
    return address !== undefined && 'key' in address ? address.key : '';
  });
  readonly archived = signal(false);
  readonly hasMore = signal(false);
  /** Keys that are selected; undefined = no one is selecting. */
  readonly selected = signal<ReadonlySet<string> | undefined>(undefined);
  /** When the times of the list were last compared with the clock. */
  readonly now = signal(Date.now());
  readonly currentSession = computed(() => this.#find(this.current.value));
  /** Names of chats whose first message is not in the list yet. */
  readonly #fresh = signal<ReadonlyMap<string, string>>(new Map());
  #limit = CHATS_PER_PAGE;
  readonly #newest = new NewestAnswer();
  /** Reloads the list soon: something happened in a chat. */
  readonly refreshSoon = soon(() => run(this.refresh()), RELOAD_AFTER_MS);

  constructor() {
    effect(() => {
      if (this.current.value !== '') run(untracked(() => this.#markRead()));
    });
  }

  /** Reloads the list in as many requests as it takes; `firstPage` if that was just read. Rejects with `ApiError`. */
  async refresh(firstPage?: Session[]): Promise<void> {
    const archived = this.archived.peek();
    const mayShow = this.#newest.begin();
    const first = firstPage ?? (await api.sessions({ limit: Math.min(this.#limit, MAX_LISTED), archived }));
    const sessions = [...first];
    for (let page = first; page.length >= MAX_LISTED && sessions.length < this.#limit;) {
      page = await api.sessions({ limit: MAX_LISTED, archived, before: page.at(-1)?.updatedAt });
      sessions.push(...page);
    }
    if (!mayShow()) return;
    this.hasMore.value = sessions.length >= this.#limit;
    this.sessions.value = sessions;
    this.now.value = Date.now();
    await this.#markRead();
  }

  /** The name of a chat; for one that the list does not know, the network's name of it, else the end of its key. */
  titleOf(key: string, chatName: string | null = null): string {
    const session = this.#find(key);
    return session === undefined
      ? (this.#fresh.value.get(key) ?? chatName ?? key.slice(key.indexOf(':') + 1))
      : nameOf(session);
  }

  /** Whose chat it is, if it is someone else's and the list knows it; else empty. */
  ownerOf(key: string): string {
    const session = this.#find(key);
    return session === undefined || session.own ? '' : (session.ownerName ?? '');
  }

  /** Names a chat that is not in the list yet by its first message. */
  setTitle(key: string, firstMessage: string): void {
    if (this.#fresh.peek().has(key)) return;
    const name = nameOf({ key, title: null, preview: firstMessage });
    this.#fresh.value = new Map([...this.#fresh.peek(), [key, name]]);
  }

  showArchived(archived: boolean): void {
    this.archived.value = archived;
    this.selected.value = undefined;
    this.#limit = CHATS_PER_PAGE;
    run(this.refresh());
  }

  showMore(): void {
    this.#limit += CHATS_PER_PAGE;
    run(this.refresh());
  }

  /** Selects a chat, or no longer. */
  toggle(key: string): void {
    const keys = new Set(this.selected.peek());
    if (!keys.delete(key)) keys.add(key);
    this.selected.value = keys;
  }

  /** Moves chats to the archive, or back; what was done can be undone for a while. */
  async archive(keys: string[], archived: boolean): Promise<void> {
    await this.change(keys, { archived, pinned: false });
    const done = archived ? 'page.chats.archived_now' : 'page.chats.unarchived_now';
    toast(say(done, { count: keys.length }), {
      undo: () => run(this.change(keys, { archived: !archived })),
    });
  }

  async rename(key: string): Promise<void> {
    const title = await askText(say('page.row.rename_chat'), this.titleOf(key), {
      hint: say('page.row.name_hint'),
    });
    if (title !== null) await this.change([key], { title: title.trim() === '' ? null : title.trim() });
  }

  async change(keys: Iterable<string>, change: SessionChange): Promise<void> {
    for (const key of keys) await api.changeSession(key, change);
    this.selected.value = undefined;
    await this.refresh();
  }

  /** Deletes chats after a question. */
  async delete(keys: readonly string[]): Promise<void> {
    const [only = ''] = keys;
    const question =
      keys.length === 1
        ? say('page.row.delete', { name: this.titleOf(only) })
        : say('page.chats.delete', { count: keys.length });
    if (!(await confirmDelete(question))) return;
    for (let from = 0; from < keys.length; from += MAX_DELETED) {
      const { deleted } = await api.deleteSessions(keys.slice(from, from + MAX_DELETED));
      if (deleted.includes(this.current.peek())) openNewChat();
    }
    this.selected.value = undefined;
    await this.refresh();
  }

  #find(key: string): Session | undefined {
    return this.sessions.value?.find((session) => session.key === key);
  }

  /** Notes that the open chat was read, as far as the list knows it. */
  async #markRead(): Promise<void> {
    const session = this.currentSession.peek();
    if (session === undefined || session.unread === 0 || document.hidden) return;
    const read = { ...session, readSeq: session.messageCount, unread: 0 };
    this.sessions.value = this.sessions.peek()?.map((one) => (one === session ? read : one));
    await api.changeSession(session.key, { readSeq: read.readSeq });
  }
}
