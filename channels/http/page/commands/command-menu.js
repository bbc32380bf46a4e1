/**
 * The menu of commands, shown after a `/`: for keyboard, touch and screen readers.
 *
 * The field has no role `combobox`, though a list belongs to it: ARIA allows that role on a field of one line, and screen readers
 * would read a message of several lines as one. It stays a text box of several lines, for which ARIA allows all that is needed:
 * `aria-autocomplete`, `aria-haspopup` and `aria-controls` name the list, `aria-activedescendant` the command that Enter or Tab
 * takes. There is no `aria-expanded`, which a text box may not have: whether the list is open follows from the latter.
 */
import { byId, h } from '../dom.ts';

/** @typedef {import('../api.ts').CommandListing} Command */

/** The menu above the field. It changes the draft and sends nothing. */
export class CommandMenu {
  #draft;
  #host;
  #list = byId('command-menu', HTMLElement);
  /** Read at the first `/`. @type {Command[] | undefined} */
  #commands;
  #isReading = false;
  /** @type {Command[]} */
  #offered = [];
  #highlighted = 0;
  /** The draft for which the list was closed. @type {string | undefined} */
  #closedFor;

  /**
   * @param {HTMLTextAreaElement} draft
   * @param {object} host
   * @param {() => Promise<Command[]>} host.read
   * @param {() => void} host.changed called when the menu has changed the draft
   * @param {(error: unknown) => void} host.showError
   */
  constructor(draft, host) {
    this.#draft = draft;
    this.#host = host;
    // On pointerdown: a click would first take the focus from the field, which closes the menu.
    this.#list.addEventListener('pointerdown', (event) => this.#pressed(event));
    draft.addEventListener('blur', () => this.#close());
  }

  /** Offers the commands that start with the draft. */
  update() {
    const [, prefix] = /^\/([a-z]*)$/i.exec(this.#draft.value) ?? [];
    if (prefix === undefined || this.#draft.value === this.#closedFor) {
      this.#close();
      return;
    }
    this.#closedFor = undefined;
    if (this.#commands === undefined) {
      void this.#read();
      return;
    }
    this.#offered = this.#commands.filter(({ name }) => name.startsWith(prefix.toLowerCase()));
    this.#highlighted = 0;
    this.#draw();
  }

  /** Reads the commands, then offers those that match what is in the field by then. */
  async #read() {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      this.#commands = await this.#host.read();
      if (document.activeElement === this.#draft) this.update();
    } catch (error) {
      this.#host.showError(error);
    } finally {
      this.#isReading = false;
    }
  }

  /**
   * Handles a key of the field; true when the menu has used it.
   * @param {KeyboardEvent} event
   */
  handleKey(event) {
    if (this.#list.hidden) return false;
    switch (event.key) {
      case 'ArrowDown':
        this.#highlight(this.#highlighted + 1);
        return true;
      case 'ArrowUp':
        this.#highlight(this.#highlighted - 1);
        return true;
      case 'Escape':
        this.#closedFor = this.#draft.value;
        this.#close();
        return true;
      case 'Tab':
        this.#insert(this.#highlighted);
        return true;
      case 'Enter':
        // A complete command is sent, an incomplete one is completed first.
        if (this.#draft.value.toLowerCase() === `/${this.#offered[this.#highlighted]?.name}`) return false;
        this.#insert(this.#highlighted);
        return true;
      default:
        return false;
    }
  }

  /** @param {number} index */
  #highlight(index) {
    this.#highlighted = (index + this.#offered.length) % this.#offered.length;
    this.#draw();
  }

  /** @param {number} index */
  #insert(index) {
    const command = this.#offered[index];
    if (command === undefined) return;
    this.#draft.value = `/${command.name}${command.argument === undefined ? '' : ' '}`;
    this.#closedFor = this.#draft.value;
    this.#close();
    this.#host.changed();
  }

  /** @param {PointerEvent} event */
  #pressed(event) {
    event.preventDefault();
    const row = event.target instanceof Element ? event.target.closest('[data-index]') : null;
    if (row !== null) this.#insert(Number(row.getAttribute('data-index')));
  }

  #close() {
    this.#offered = [];
    this.#draw();
  }

  #draw() {
    const open = this.#offered.length > 0;
    this.#list.hidden = !open;
    this.#list.replaceChildren(...this.#offered.map((command, index) => this.#row(command, index)));
    if (!open) {
      this.#draft.removeAttribute('aria-activedescendant');
      return;
    }
    this.#draft.setAttribute('aria-activedescendant', `command-${this.#highlighted}`);
    this.#list.children[this.#highlighted]?.scrollIntoView({ block: 'nearest' });
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
        'aria-selected': String(index === this.#highlighted),
      },
      h('code', {}, `/${name}`),
      ...(argument === undefined ? [] : [h('span', { class: 'command-argument' }, argument.name)]),
      h('span', { class: 'command-description' }, description),
    );
  }
}
