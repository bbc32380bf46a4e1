/**
 * The menu of commands, shown after a `/`: for keyboard, touch and screen readers.
 *
 * The field has no role `combobox`, though a list belongs to it: ARIA allows that role on a field of one line, and screen readers
 * would read a message of several lines as one. It stays a text box of several lines, for which ARIA allows all that is needed:
 * `aria-autocomplete`, `aria-haspopup` and `aria-controls` name the list, `aria-activedescendant` the command that Enter or Tab
 * takes. There is no `aria-expanded`, which a text box may not have: whether the list is open follows from the latter.
 */
import { type JSX, render } from 'preact';
import type { CommandListing } from '../api.ts';
import { byId } from '../dom.ts';

/** What the menu gets from the field around it. */
interface MenuHost {
  read: () => Promise<CommandListing[]>;
  /** Called when the menu has changed the draft. */
  changed: () => void;
  showError: (error: unknown) => void;
}

/** The menu above the field. It changes the draft and sends nothing. */
export class CommandMenu {
  readonly #draft: HTMLTextAreaElement;
  readonly #host: MenuHost;
  readonly #list = byId('command-menu', HTMLElement);
  /** Read at the first `/`. */
  #commands: CommandListing[] | undefined;
  #isReading = false;
  #offered: CommandListing[] = [];
  #highlighted = 0;
  /** The draft for which the list was closed. */
  #closedFor: string | undefined;

  constructor(draft: HTMLTextAreaElement, host: MenuHost) {
    this.#draft = draft;
    this.#host = host;
    // On pointerdown: a click would first take the focus from the field, which closes the menu.
    this.#list.addEventListener('pointerdown', (event) => this.#pressed(event));
    draft.addEventListener('blur', () => this.#close());
  }

  /** Offers the commands that start with the draft. */
  update(): void {
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
  async #read(): Promise<void> {
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

  /** Handles a key of the field; true when the menu has used it. */
  handleKey(event: KeyboardEvent): boolean {
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

  #highlight(index: number): void {
    this.#highlighted = (index + this.#offered.length) % this.#offered.length;
    this.#draw();
  }

  #insert(index: number): void {
    const command = this.#offered[index];
    if (command === undefined) return;
    this.#draft.value = `/${command.name}${command.argument === undefined ? '' : ' '}`;
    this.#closedFor = this.#draft.value;
    this.#close();
    this.#host.changed();
  }

  #pressed(event: PointerEvent): void {
    event.preventDefault();
    const row = event.target instanceof Element ? event.target.closest('[data-index]') : null;
    if (row !== null) this.#insert(Number(row.getAttribute('data-index')));
  }

  #close(): void {
    this.#offered = [];
    this.#draw();
  }

  #draw(): void {
    const open = this.#offered.length > 0;
    this.#list.hidden = !open;
    render(
      this.#offered.map((command, index) => (
        <Command key={command.name} command={command} index={index} selected={index === this.#highlighted} />
      )),
      this.#list,
    );
    if (!open) {
      this.#draft.removeAttribute('aria-activedescendant');
      return;
    }
    this.#draft.setAttribute('aria-activedescendant', `command-${this.#highlighted}`);
    this.#list.children[this.#highlighted]?.scrollIntoView({ block: 'nearest' });
  }
}

function Command(props: { command: CommandListing; index: number; selected: boolean }): JSX.Element {
  const { name, description, argument } = props.command;
  return (
    <div
      id={`command-${props.index}`}
      class="command"
      role="option"
      data-index={props.index}
      aria-selected={props.selected}
    >
      <code>/{name}</code>
      {argument !== undefined && <span class="command-argument">{argument.name}</span>}
      <span class="command-description">{description}</span>
    </div>
  );
}
