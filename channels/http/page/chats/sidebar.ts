/** The list of chats: pinned ones first, what runs or waits, search, and several at once. */
import type { Session, Api, SessionChange } from '../api.ts';
import { askText, confirmDelete } from '../confirm.ts';
import { byId, h } from '../dom.ts';
import { NewestAnswer } from '../newest.ts';
import { ChatSearch } from './search.ts';
import { nameOf, sessionRow } from './session-row.ts';
import { say } from '../texts.ts';

export { channelOf, setChannelLabels } from './session-row.ts';

/** Chats that the list shows at first, and that *More chats* adds. */
export const CHATS_PER_PAGE = 50;
/** Most chats that the API lists, and that it deletes, in one request. */
const MAX_LISTED = 200;
const MAX_DELETED = 100;
/** Events of many chats at once are one reload. */
const RELOAD_AFTER_MS = 250;

interface SidebarHost {
  /** Shows a chat, at the message with this number if there is one. */
  open: (key: string, seq?: number) => void;
  deleted: (key: string) => void;
  showError: (error: unknown) => void;
  /** The list has other chats now, or other names. */
  loaded: () => void;
  /** The name of a chat, or of its owner, has changed, or is known now. */
  renamed: (key: string) => void;
}

/** The list of chats. */
export class Sidebar {
  #api;
  #host;
  #list = byId('sessions', HTMLElement);
  #bar = byId('selection', HTMLElement);
  #sessions: Session[] = [];
  /** Names of chats whose first message is not in the list yet. */
  #fresh: Map<string, string> = new Map();
  #current = '';
  #shown = CHATS_PER_PAGE;
  #hasMore = false;
  #archived = false;
  /** Keys that are selected; undefined = no one is selecting. */
  #selected: Set<string> | undefined;
  /** The chat whose row is not drawn again, because its menu was open. */
  #inUse: string | null | undefined;
  /** It is loaded again soon. */
  #isDue = false;
  #newest = new NewestAnswer();

  constructor(api: Api, host: SidebarHost) {
    this.#api = api;
    this.#host = host;
    new ChatSearch(api, host, (searching) => (this.#list.hidden = searching)).start();
    const checkbox = byId('archived', HTMLInputElement);
    checkbox.addEventListener('change', () => {
      this.#archived = checkbox.checked;
      this.#shown = CHATS_PER_PAGE;
      this.#run(this.refresh());
    });
    byId('select-chats', HTMLElement).addEventListener('click', () =>
      this.#select(this.#selected === undefined),
    );
  }

  /**
   * Reloads the list in as many requests as it takes.
   * @param firstPage the first page, if it was just read
   */
  async refresh(firstPage?: Session[]) {
    const archived = this.#archived;
    const mayShow = this.#newest.begin();
    const first =
      firstPage ?? (await this.#api.sessions({ limit: Math.min(this.#shown, MAX_LISTED), archived }));
    const sessions = [...first];
    for (let page = first; page.length >= MAX_LISTED && sessions.length < this.#shown;) {
      page = await this.#api.sessions({ limit: MAX_LISTED, archived, before: page.at(-1)?.updatedAt });
      sessions.push(...page);
    }
    if (!mayShow()) return;
    this.#hasMore = sessions.length >= this.#shown;
    const heading = () => [this.titleOf(this.#current), this.ownerOf(this.#current)].join('\n');
    const before = heading();
    this.#sessions = sessions;
    this.redraw();
    this.#host.loaded();
    if (heading() !== before) this.#host.renamed(this.#current);
    await this.#markRead();
  }

  /** Reloads the list soon: something happened in a chat. */
  refreshSoon() {
    if (this.#isDue) return;
    this.#isDue = true;
    setTimeout(() => {
      this.#isDue = false;
      this.#run(this.refresh());
    }, RELOAD_AFTER_MS);
  }

  select(key: string) {
    this.#current = key;
    this.redraw();
    this.#run(this.#markRead());
  }

  titleOf(key: string) {
    const session = this.#sessions.find((candidate) => candidate.key === key);
    return session === undefined
      ? (this.#fresh.get(key) ?? key.slice(key.indexOf(':') + 1))
      : nameOf(session);
  }

  /** Whose chat it is, if it is someone else's and the list knows it; else empty. */
  ownerOf(key: string) {
    const session = this.#sessions.find((candidate) => candidate.key === key);
    return session === undefined || session.own ? '' : (session.ownerName ?? '');
  }

  /** Names a chat that is not in the list yet by its first message. */
  setTitle(key: string, firstMessage: string) {
    if (!this.#fresh.has(key)) this.#fresh.set(key, nameOf({ key, title: null, preview: firstMessage }));
  }

  /** Notes that the open chat was read, as far as the list knows it. */
  async #markRead() {
    const session = this.#sessions.find(({ key }) => key === this.#current);
    if (session === undefined || session.unread === 0 || document.hidden) return;
    session.readSeq = session.messageCount;
    session.unread = 0;
    await this.#api.changeSession(session.key, { readSeq: session.readSeq });
  }

  /** Draws the list as it was loaded last. A row whose menu is open stays as it is until that closes. */
  redraw() {
    const active = document.activeElement;
    const focused = active?.closest('[data-key]')?.getAttribute('data-key');
    const inUse = this.#list.querySelector('.session-row:has(> [open])');
    this.#inUse = this.#selected === undefined ? inUse?.getAttribute('data-key') : undefined;
    const rows = this.#sessions.map((session) =>
      inUse !== null && session.key === this.#inUse ? inUse : this.#row(session),
    );
    this.#list.replaceChildren(...rows);
    if (this.#hasMore) {
      const attributes = { type: 'button', class: 'earlier', onclick: () => this.#more() };
      this.#list.append(h('button', attributes, say('page.chats.more')));
    }
    const place = active?.tagName === 'SUMMARY' ? 'summary' : '.session';
    const target = this.#list.contains(active)
      ? active
      : focused && this.#list.querySelector(`[data-key="${CSS.escape(focused)}"] ${place}`);
    if (target instanceof HTMLElement) target.focus({ preventScroll: true });
    if (rows.length === 0) {
      const text = this.#archived ? say('page.chats.none_archived') : say('page.chats.none');
      this.#list.append(h('p', { class: 'quiet empty-list' }, text));
    }
  }

  #row(session: Session) {
    const { key } = session;
    return sessionRow(session, {
      isCurrent: key === this.#current,
      selected: this.#selected?.has(key),
      open: () => (this.#selected === undefined ? this.#host.open(key) : this.#toggle(key)),
      menuClosed: () => this.#inUse === key && this.redraw(),
      actions: [
        [say('page.row.rename'), () => this.#run(this.#rename(session))],
        [
          session.pinned ? say('page.row.unpin') : say('page.row.pin'),
          () => this.#run(this.#change(key, { pinned: !session.pinned })),
        ],
        [
          session.archived ? say('page.row.unarchive') : say('page.row.archive'),
          () => this.#run(this.#change(key, { archived: !session.archived, pinned: false })),
        ],
        [say('page.delete'), () => this.#run(this.#delete([key], nameOf(session)))],
      ],
    });
  }

  #more() {
    this.#shown += CHATS_PER_PAGE;
    this.#run(this.refresh());
  }

  #select(on: boolean) {
    this.#selected = on ? new Set() : undefined;
    this.#drawSelection();
    this.redraw();
  }

  #toggle(key: string) {
    if (this.#selected?.delete(key) === false) this.#selected.add(key);
    this.#drawSelection();
    this.redraw();
  }

  #drawSelection() {
    const keys = [...(this.#selected ?? [])];
    const archive = this.#archived ? say('page.row.unarchive') : say('page.row.archive');
    this.#bar.hidden = this.#selected === undefined;
    this.#bar.replaceChildren(
      h('span', {}, say('page.chats.selected_many', { count: keys.length })),
      h(
        'button',
        {
          type: 'button',
          disabled: keys.length === 0,
          onclick: () => this.#run(this.#changeAll(keys, { archived: !this.#archived, pinned: false })),
        },
        archive,
      ),
      h(
        'button',
        {
          type: 'button',
          class: 'danger',
          disabled: keys.length === 0,
          onclick: () => this.#run(this.#delete(keys)),
        },
        say('page.delete'),
      ),
      h(
        'button',
        { type: 'button', class: 'text-button', onclick: () => this.#select(false) },
        say('page.chats.done'),
      ),
    );
  }

  async #rename(session: Session) {
    const title = await askText(say('page.row.name'), nameOf(session));
    if (title === null) return;
    await this.#change(session.key, { title: title.trim() === '' ? null : title.trim() });
    this.#host.renamed(session.key);
  }

  async #change(key: string, change: SessionChange) {
    await this.#api.changeSession(key, change);
    await this.refresh();
  }

  async #changeAll(keys: string[], change: SessionChange) {
    for (const key of keys) await this.#api.changeSession(key, change);
    this.#select(false);
    await this.refresh();
  }

  /** @param name of the only one */
  async #delete(keys: string[], name?: string) {
    const question =
      name === undefined
        ? say('page.chats.delete', { count: keys.length })
        : say('page.row.delete', { name });
    if (!(await confirmDelete(question))) return;
    for (let from = 0; from < keys.length; from += MAX_DELETED) {
      const { deleted } = await this.#api.deleteSessions(keys.slice(from, from + MAX_DELETED));
      for (const key of deleted) this.#host.deleted(key);
    }
    if (this.#selected !== undefined) this.#select(false);
    await this.refresh();
  }

  #run(work: Promise<unknown>) {
    work.catch((error) => this.#host.showError(error));
  }
}
