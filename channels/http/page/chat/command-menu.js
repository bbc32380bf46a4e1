/** The commands offered while somebody writes a `/`: by keyboard, by touch, and for those who listen. */
import { byId, h } from '../dom.js';

/** @typedef {import('../api.js').CommandListing} Command */

/** A list above the field; it only ever changes what is written, it sends nothing. */
export class CommandMenu {
  #draft;
  #changed;
  #list = byId('command-menu', HTMLElement);
  /** @type {Command[]} */
  #commands = [];
  /** @type {Command[]} */
  #offered = [];
  #chosen = 0;
  /** The draft the reader closed the list over. @type {string | undefined} */
  #closedOver;

  /**
   * @param {HTMLTextAreaElement} draft
   * @param {() => void} changed the draft holds something else now
   */
  constructor(draft, changed) {
    this.#draft = draft;
    this.#changed = changed;
    // Pressed, not clicked: a click would first take the focus from the field and close the list.
    this.#list.addEventListener('pointerdown', (event) => this.#pressed(event));
    draft.addEventListener('blur', () => this.#close());
  }

  /** @param {Command[]} commands */
  setCommands(commands) {
    this.#commands = commands;
  }

  /** The draft has changed: offers what begins like it. */
  look() {
    const [, begun] = /^\/([a-z]*)$/i.exec(this.#draft.value) ?? [];
    if (begun === undefined || this.#draft.value === this.#closedOver) {
      this.#close();
      return;
    }
    this.#closedOver = undefined;
    this.#offered = this.#commands.filter(({ name }) => name.startsWith(begun.toLowerCase()));
    this.#chosen = 0;
    this.#draw();
  }

  /**
   * Takes a key of the field; true when the list used it up.
   * @param {KeyboardEvent} event
   */
  key(event) {
    if (this.#list.hidden) return false;
    switch (event.key) {
      case 'ArrowDown':
        this.#choose(this.#chosen + 1);
        return true;
      case 'ArrowUp':
        this.#choose(this.#chosen - 1);
        return true;
      case 'Escape':
        this.#closedOver = this.#draft.value;
        this.#close();
        return true;
      case 'Tab':
        this.#take(this.#chosen);
        return true;
      case 'Enter':
        // A command written to its end is sent; one that is begun is written to its end first.
        if (this.#draft.value.toLowerCase() === `/${this.#offered[this.#chosen]?.name}`) return false;
        this.#take(this.#chosen);
        return true;
      default:
        return false;
    }
  }

  /** @param {number} index */
  #choose(index) {
    this.#chosen = (index + this.#offered.length) % this.#offered.length;
    this.#draw();
  }

  /** @param {number} index */
  #take(index) {
    const command = this.#offered[index];
    if (command === undefined) return;
    this.#draft.value = `/${command.name}${command.argument === undefined ? '' : ' '}`;
    this.#closedOver = this.#draft.value;
    this.#close();
    this.#changed();
  }

  /** @param {PointerEvent} event */
  #pressed(event) {
    event.preventDefault();
    const row = event.target instanceof Element ? event.target.closest('[data-index]') : null;
    if (row !== null) this.#take(Number(row.getAttribute('data-index')));
  }

  #close() {
    this.#offered = [];
    this.#draw();
  }

  #draw() {
    const open = this.#offered.length > 0;
    this.#list.hidden = !open;
    this.#list.replaceChildren(...this.#offered.map((command, index) => this.#row(command, index)));
    this.#draft.setAttribute('aria-expanded', String(open));
    if (!open) {
      this.#draft.removeAttribute('aria-activedescendant');
      return;
    }
    this.#draft.setAttribute('aria-activedescendant', `command-${this.#chosen}`);
    this.#list.children[this.#chosen]?.scrollIntoView({ block: 'nearest' });
  }

  /**
   * @param {Command} command
   * @param {number} index
   */
  #row({ name, description, argument }, index) {
    return h(
      'div',
      {
        id: `command-${index}`,
        class: 'command',
        role: 'option',
        'data-index': index,
        'aria-selected': String(index === this.#chosen),
      },
      h('code', {}, `/${name}`),
      ...(argument === undefined ? [] : [h('span', { class: 'command-argument' }, argument.name)]),
      h('span', { class: 'command-words' }, description),
    );
  }
}
