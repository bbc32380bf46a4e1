/** The list of chats: which there are, which is open, and how one is forgotten. */
import { byId, h, icon, shortTime } from './dom.js';

/** @typedef {import('./api.js').Session} Session */

const LISTED = 100;
/** Chats whose first words are looked up to name them. */
const NAMED = 30;
const TITLE_LENGTH = 60;
/** Labels of the channels by name, as the gateway's health report gives them. @type {Map<string, string>} */
const labels = new Map();

/**
 * Keeps the labels of a health report.
 * @param {Record<string, { label: string }>} channels
 */
export function nameChannels(channels) {
  for (const [name, { label }] of Object.entries(channels)) labels.set(name, label);
}

/**
 * The label of the channel a session lives on.
 * @param {string} key
 */
export function channelOf(key) {
  const name = key.slice(0, key.indexOf(':'));
  return labels.get(name) ?? name.charAt(0).toUpperCase() + name.slice(1);
}

/** The left side of the page. */
export class Sidebar {
  #api;
  #open;
  #forgotten;
  #list = byId('sessions', HTMLElement);
  /** @type {Session[]} */
  #sessions = [];
  /** First words of chats, by key. @type {Map<string, string>} */
  #titles = new Map();
  #current = '';

  /**
   * @param {import('./api.js').Api} api
   * @param {(key: string) => void} open
   * @param {(key: string) => void} forgotten
   */
  constructor(api, open, forgotten) {
    this.#api = api;
    this.#open = open;
    this.#forgotten = forgotten;
  }

  /** Reads the list anew, and the first words of chats that have no name yet. */
  async refresh() {
    this.#sessions = await this.#api.sessions(LISTED);
    this.#draw();
    const unnamed = this.#sessions.slice(0, NAMED).filter(({ key }) => !this.#titles.has(key));
    for (const { key } of unnamed) await this.#learnTitle(key);
    if (unnamed.length > 0) this.#draw();
  }

  /** @param {string} key */
  select(key) {
    this.#current = key;
    this.#draw();
  }

  /**
   * @param {string} key
   * @returns {Session | undefined}
   */
  find(key) {
    return this.#sessions.find((session) => session.key === key);
  }

  /** @param {string} key */
  titleOf(key) {
    return this.#titles.get(key) ?? key.slice(key.indexOf(':') + 1);
  }

  /**
   * @param {string} key
   * @param {string} firstWords
   */
  name(key, firstWords) {
    if (this.#titles.has(key)) return;
    const line = firstWords.trim().split('\n', 1)[0] ?? '';
    this.#titles.set(key, line.length > TITLE_LENGTH ? `${line.slice(0, TITLE_LENGTH).trimEnd()}…` : line);
  }

  /** @param {string} key */
  async #learnTitle(key) {
    const [first] = await this.#api.messages(key, { limit: 1, before: 2 });
    this.name(key, first?.content || this.titleOf(key));
  }

  #draw() {
    const focused = document.activeElement?.closest('[data-key]')?.getAttribute('data-key');
    this.#list.replaceChildren(...this.#sessions.map((session) => this.#row(session)));
    const again = focused ? this.#list.querySelector(`[data-key="${CSS.escape(focused)}"] .session`) : null;
    if (again instanceof HTMLElement) again.focus({ preventScroll: true });
    if (this.#sessions.length === 0)
      this.#list.append(h('p', { class: 'quiet empty-list' }, 'No chats yet.'));
  }

  /** @param {Session} session */
  #row({ key, updatedAt }) {
    const channel = key.startsWith('http:') ? '' : `${channelOf(key)} · `;
    const open = h(
      'button',
      {
        type: 'button',
        class: 'session',
        'aria-current': key === this.#current ? 'true' : undefined,
        onclick: () => this.#open(key),
      },
      h('span', { class: 'session-title', dir: 'auto' }, this.titleOf(key)),
      h('span', { class: 'session-meta' }, `${channel}${shortTime(updatedAt)}`),
    );
    const forget = h(
      'button',
      {
        type: 'button',
        class: 'icon-button forget',
        'aria-label': `Forget “${this.titleOf(key)}”`,
        onclick: () => void this.#forget(key),
      },
      icon('M5 7h14M10 7V5h4v2M7 7l1 12h8l1-12'),
    );
    return h('div', { class: 'session-row', 'data-key': key }, open, forget);
  }

  /** @param {string} key */
  async #forget(key) {
    if (!(await confirmed(`Forget “${this.titleOf(key)}”? Its messages are deleted for good.`))) return;
    await this.#api.deleteSession(key);
    this.#forgotten(key);
    await this.refresh();
  }
}

/**
 * Asks; false when the answer is no or the question was closed.
 * @param {string} question
 * @returns {Promise<boolean>}
 */
export function confirmed(question) {
  const dialog = byId('confirm', HTMLDialogElement);
  byId('confirm-text', HTMLElement).textContent = question;
  dialog.returnValue = 'no';
  const asked = new AbortController();
  for (const answer of ['yes', 'no']) {
    const button = byId(`confirm-${answer}`, HTMLButtonElement);
    button.addEventListener('click', () => dialog.close(answer), { signal: asked.signal });
  }
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener(
      'close',
      () => {
        asked.abort();
        resolve(dialog.returnValue === 'yes');
      },
      { once: true },
    );
  });
}
