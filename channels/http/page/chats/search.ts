/** The search over chats: by words of titles and messages, as the user types. */
import type { Api, FoundSession } from '../api.ts';
import { byId, h } from '../dom.ts';
import { say } from '../texts.ts';
import { timeElement } from '../times.ts';
import { channelOf, nameOf } from './session-row.ts';

const WAIT_MS = 200;
const MAX_FOUND = 30;

/** The field above the list and what it found, which replaces the list. */
export class ChatSearch {
  #api;
  #host;
  #searching;
  #field = byId('search', HTMLInputElement);
  #results = byId('search-results', HTMLElement);
  /** Number of the newest search: the answer to an older one may arrive later. */
  #searches = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param searching called when results replace the list, or the list them */
  constructor(
    api: Api,
    host: { open: (key: string, seq?: number) => void; showError: (error: unknown) => void },
    searching: (searching: boolean) => void,
  ) {
    this.#api = api;
    this.#host = host;
    this.#searching = searching;
  }

  /** Searches as the user types, from now on. */
  start() {
    this.#field.addEventListener('input', () => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => void this.#search(), WAIT_MS);
    });
    this.#field.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape' || this.#field.value === '') return;
      event.stopPropagation();
      this.#field.value = '';
      void this.#search();
    });
  }

  async #search() {
    const text = this.#field.value.trim();
    const nth = (this.#searches += 1);
    this.#searching(text !== '');
    this.#results.hidden = text === '';
    if (text === '') return;
    try {
      const { found: sessions, more } = await this.#api.search(text, MAX_FOUND);
      if (nth !== this.#searches) return;
      this.#results.replaceChildren(
        h('p', { class: 'quiet', role: 'status' }, summaryOf(sessions.length, more)),
        ...sessions.map((session) => this.#row(session)),
      );
    } catch (error) {
      this.#host.showError(error);
    }
  }

  #row({ key, title, match, updatedAt }: FoundSession) {
    const where = key.startsWith('http:') ? '' : `${channelOf(key)} · `;
    return h(
      'button',
      { type: 'button', class: 'session found', onclick: () => this.#host.open(key, match?.seq) },
      h('span', { class: 'session-title', dir: 'auto' }, nameOf({ key, title, preview: '' })),
      ...(match === null ? [] : [h('span', { class: 'snippet', dir: 'auto' }, match.snippet)]),
      h('span', { class: 'session-meta' }, where, timeElement(match?.createdAt ?? updatedAt)),
    );
  }
}

function summaryOf(count: number, more: boolean) {
  if (count === 0) return say('page.search.nothing');
  return more ? say('page.search.more', { count }) : say('page.search.found', { count });
}
