/** The settings of the gateway, for admin tokens: one screen for each part, by the address (`#settings/tokens`). */
import { byId, h, icon } from '../dom.ts';
import { accessScreen } from './access.js';
import { configScreen } from './config.js';
import { deadLettersScreen } from './dead-letters.js';
import { logScreen } from './log.js';
import { memoriesScreen } from './memories.js';
import { overviewScreen } from './overview.js';
import { profilesScreen } from './profiles.js';
import { rulesScreen } from './rules.js';
import { schedulesScreen } from './schedules.js';
import { signInsScreen } from './sign-ins.js';
import { tokensScreen } from './tokens.js';
import { usageScreen } from './usage.js';
import { say } from '../texts.ts';

/** @typedef {import('./parts.js').Screen} Screen */

/**
 * @typedef {object} SettingsHost
 * @property {(error: unknown) => void} showError
 * @property {() => void} showSidebar
 * @property {<Button extends Element>(menu: Button) => Button} labelled Says on a button that shows the list of chats what waits there.
 */

/** @type {{ title: string, draw: Screen }} */
const OVERVIEW = { title: say('page.set.overview'), draw: overviewScreen };
/** @type {Record<string, { title: string, draw: Screen }>} */
const SCREENS = {
  overview: OVERVIEW,
  configuration: { title: say('page.set.configuration'), draw: configScreen },
  usage: { title: say('page.set.usage'), draw: usageScreen },
  access: { title: say('page.set.people'), draw: accessScreen },
  tokens: { title: say('page.set.tokens'), draw: tokensScreen },
  'sign-ins': { title: say('page.set.sign_ins'), draw: signInsScreen },
  rules: { title: say('page.set.rules'), draw: rulesScreen },
  schedules: { title: say('page.schedules'), draw: schedulesScreen },
  memory: { title: say('page.set.memory'), draw: memoriesScreen },
  profiles: { title: say('page.set.profiles'), draw: profilesScreen },
  'dead-letters': { title: say('page.set.dead_letters'), draw: deadLettersScreen },
  log: { title: say('page.set.log'), draw: logScreen },
};

/** The settings next to the list of chats, in place of the open one. */
export class Settings {
  #api;
  #host;
  #place = byId('settings', HTMLElement);
  #chat = byId('chat', HTMLElement);
  #name = 'overview';
  /** Number of the newest drawing: the answer for an older one may arrive later. */
  #drawings = 0;

  /**
   * @param {import('../api.ts').Api} api
   * @param {SettingsHost} host
   */
  constructor(api, host) {
    this.#api = api;
    this.#host = host;
  }

  /**
   * Shows a screen, in place of the chat.
   * @param {string} [name]
   */
  show(name = 'overview') {
    this.#name = name in SCREENS ? name : 'overview';
    this.#chat.hidden = true;
    this.#place.hidden = false;
    void this.#draw();
  }

  /** Shows the chat again. */
  hide() {
    this.#drawings += 1;
    this.#place.hidden = true;
    this.#place.replaceChildren();
    this.#chat.hidden = false;
  }

  async #draw() {
    const drawing = (this.#drawings += 1);
    const name = this.#name;
    const { title, draw } = SCREENS[name] ?? OVERVIEW;
    try {
      const content = await draw({
        ask: this.#api.ask,
        showError: this.#host.showError,
        act: async (work) => {
          try {
            await work();
          } catch (error) {
            this.#host.showError(error);
          }
          // Another act may have redrawn it in the meantime, without this one's effect.
          if (name === this.#name && !this.#place.hidden) await this.#draw();
        },
      });
      if (drawing !== this.#drawings) return;
      this.#place.replaceChildren(...this.#frame(title, content));
      // On a phone the list of screens is wider than the screen.
      this.#place.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
    } catch (error) {
      if (drawing !== this.#drawings) return;
      this.#place.replaceChildren(...this.#frame(title, []));
      this.#host.showError(error);
    }
  }

  /**
   * @param {string} title
   * @param {Node[]} content
   */
  #frame(title, content) {
    const menu = h(
      'button',
      { type: 'button', class: 'icon-button only-phone', onclick: () => this.#host.showSidebar() },
      icon('M4 7h16M4 12h16M4 17h10'),
    );
    const links = Object.entries(SCREENS).map(([name, screen]) =>
      h('a', { href: `#settings/${name}`, 'aria-current': name === this.#name && 'page' }, screen.title),
    );
    return [
      h('header', { class: 'chat-head' }, this.#host.labelled(menu), h('h1', { class: 'chat-title' }, title)),
      h('nav', { class: 'settings-nav', 'aria-label': say('page.settings') }, ...links),
      // It scrolls, also with the keyboard when it holds no control.
      h(
        'div',
        {
          class: 'settings-body',
          'data-screen': this.#name,
          tabindex: '0',
          role: 'region',
          'aria-label': title,
        },
        ...content,
      ),
    ];
  }
}
