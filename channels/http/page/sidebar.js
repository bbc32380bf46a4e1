/** The list of chats, with buttons to open and to delete one. */
import { confirmDelete } from './confirm.js';
import { byId, h, icon, shortTime } from './dom.js';

/** @typedef {import('./api.js').Session} Session */

const LISTED = 100;
/** Chats whose first message is read to get a title. */
const NAMED = 30;
const TITLE_LENGTH = 60;
/** Labels of the channels by name, as the gateway's health report gives them. @type {Map<string, string>} */
const labels = new Map();

/**
 * Stores the labels of a health report; true when one has changed.
 * @param {import('../../../src/contracts/gateway-api.ts').HealthReport['channels']} channels
 */
export function setChannelLabels(channels) {
  const changed = Object.entries(channels).filter(([name, { label }]) => labels.get(name) !== label);
  for (const [name, { label }] of changed) labels.set(name, label);
  return changed.length > 0;
}

/**
 * The label of a session's channel; until the first health report, its name.
 * @param {string} key
 */
export function channelOf(key) {
  const name = key.slice(0, key.indexOf(':'));
  return labels.get(name) ?? name;
}

/** The list of chats. */
export class Sidebar {
  #api;
  #open;
  #deleted;
  #list = byId('sessions', HTMLElement);
  /** @type {Session[]} */
  #sessions = [];
  /** Titles of chats (the first line of what was written), by key. @type {Map<string, string>} */
  #titles = new Map();
  #current = '';

  /**
   * @param {import('./api.js').Api} api
   * @param {(key: string) => void} open
   * @param {(key: string) => void} deleted
   */
  constructor(api, open, deleted) {
    this.#api = api;
    this.#open = open;
    this.#deleted = deleted;
  }

  /** Reloads the list, and the first message of chats that have no title yet. */
  async refresh() {
    this.#sessions = await this.#api.sessions(LISTED);
    this.redraw();
    const unnamed = this.#sessions.slice(0, NAMED).filter(({ key }) => !this.#titles.has(key));
    for (const { key } of unnamed) await this.#loadTitle(key);
    if (unnamed.length > 0) this.redraw();
  }

  /** @param {string} key */
  select(key) {
    this.#current = key;
    this.redraw();
  }

  /** @param {string} key */
  titleOf(key) {
    return this.#titles.get(key) ?? key.slice(key.indexOf(':') + 1);
  }

  /**
   * @param {string} key
   * @param {string} firstMessage
   */
  setTitle(key, firstMessage) {
    if (this.#titles.has(key)) return;
    const line = firstMessage.trim().split('\n', 1)[0] ?? '';
    this.#titles.set(key, line.length > TITLE_LENGTH ? `${line.slice(0, TITLE_LENGTH).trimEnd()}…` : line);
  }

  /** @param {string} key */
  async #loadTitle(key) {
    const [first] = await this.#api.messages(key, { limit: 1, before: 2 });
    this.setTitle(key, first?.content || this.titleOf(key));
  }

  /** Draws the list as it was loaded last. */
  redraw() {
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
    const deleteButton = h(
      'button',
      {
        type: 'button',
        class: 'icon-button delete',
        'aria-label': `Delete “${this.titleOf(key)}”`,
        onclick: () => void this.#deleteSession(key),
      },
      icon('M5 7h14M10 7V5h4v2M7 7l1 12h8l1-12'),
    );
    return h('div', { class: 'session-row', 'data-key': key }, open, deleteButton);
  }

  /** @param {string} key */
  async #deleteSession(key) {
    if (!(await confirmDelete(`Delete “${this.titleOf(key)}” and its messages? This cannot be undone.`)))
      return;
    await this.#api.deleteSession(key);
    this.#deleted(key);
    await this.refresh();
  }
}
