/**
 * The menu of commands, shown after a `/`: for keyboard, touch and screen readers.
 *
 * The field has no role `combobox`, though a list belongs to it: ARIA allows that role on a field of one line, and screen readers
 * would read a message of several lines as one. It stays a text box of several lines, for which ARIA allows all that is needed:
 * `aria-autocomplete`, `aria-haspopup` and `aria-controls` name the list, `aria-activedescendant` the command that Enter or Tab
 * takes. There is no `aria-expanded`, which a text box may not have: whether the list is open follows from the latter.
 */
import { computed, signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { api, type CommandListing } from '../api.ts';
import { showError } from '../failures/show-error.ts';
import { say } from '../texts.ts';

let commands: Promise<CommandListing[]> | undefined;

/** The commands of the gateway, read once. Rejects with `ApiError`; the next call tries again then. */
export function gatewayCommands(): Promise<CommandListing[]> {
  commands ??= api.commands().catch((error: unknown) => {
    commands = undefined;
    throw error;
  });
  return commands;
}

/** What is offered for a draft, and which of it is highlighted. It changes the draft and sends nothing. */
export class CommandMenu {
  readonly offered = signal<readonly CommandListing[]>([]);
  readonly highlighted = signal(0);
  /** The id of the highlighted command; undefined while nothing is offered. */
  readonly active = computed(() =>
    this.offered.value.length === 0 ? undefined : `command-${this.highlighted.value}`,
  );
  readonly #write: (draft: string) => void;
  /** Read at the first `/`. */
  #commands: readonly CommandListing[] | undefined;
  #draft = '';
  /** The draft for which the list was closed. */
  #closedFor: string | undefined;

  /** @param write changes the draft */
  constructor(write: (draft: string) => void) {
    this.#write = write;
  }

  /** Offers the commands that start with the draft. */
  update(draft: string): void {
    this.#draft = draft;
    const [, prefix] = /^\/([a-z]*)$/i.exec(draft) ?? [];
    if (prefix === undefined || draft === this.#closedFor) {
      this.close();
      return;
    }
    this.#closedFor = undefined;
    if (this.#commands === undefined) void this.#read();
    else {
      this.offered.value = this.#commands.filter(({ name }) => name.startsWith(prefix.toLowerCase()));
      this.highlighted.value = 0;
    }
  }

  /** Reads the commands, then offers those that match what is in the field by then. */
  async #read(): Promise<void> {
    try {
      this.#commands = await gatewayCommands();
      if (document.activeElement?.id === 'draft') this.update(this.#draft);
    } catch (error) {
      showError(error);
    }
  }

  /** Handles a key of the field; true when the menu has used it. */
  handleKey(key: string): boolean {
    const offered = this.offered.peek();
    const at = this.highlighted.peek();
    if (offered.length === 0) return false;
    switch (key) {
      case 'ArrowDown':
      case 'ArrowUp':
        this.highlighted.value = (at + (key === 'ArrowDown' ? 1 : -1) + offered.length) % offered.length;
        return true;
      case 'Escape':
        this.#closedFor = this.#draft;
        this.close();
        return true;
      case 'Enter':
        // A complete command is sent, an incomplete one is completed first.
        if (this.#draft.toLowerCase() === `/${offered[at]?.name}`) return false;
        this.insert(offered[at]);
        return true;
      case 'Tab':
        this.insert(offered[at]);
        return true;
      default:
        return false;
    }
  }

  insert(command: CommandListing | undefined): void {
    if (command === undefined) return;
    this.#closedFor = `/${command.name}${command.argument === undefined ? '' : ' '}`;
    this.close();
    this.#write(this.#closedFor);
  }

  close(): void {
    this.offered.value = [];
  }
}

/** The list above the field. */
export function CommandList({ menu }: { menu: CommandMenu }): JSX.Element {
  const list = useRef<HTMLDivElement>(null);
  const offered = menu.offered.value;
  const highlighted = menu.highlighted.value;
  useLayoutEffect(() => list.current?.children[highlighted]?.scrollIntoView({ block: 'nearest' }));
  return (
    <div
      ref={list}
      id="command-menu"
      class="command-menu"
      role="listbox"
      tabIndex={0}
      aria-label={say('page.commands')}
      hidden={offered.length === 0}
    >
      {offered.map((command, index) => (
        <Command
          key={command.name}
          command={command}
          index={index}
          selected={index === highlighted}
          // A click would first take the focus from the field, which closes the menu.
          press={(event) => {
            event.preventDefault();
            menu.insert(command);
          }}
        />
      ))}
    </div>
  );
}

function Command(props: {
  command: CommandListing;
  index: number;
  selected: boolean;
  press: (event: PointerEvent) => void;
}): JSX.Element {
  const { name, description, argument } = props.command;
  return (
    <div
      id={`command-${props.index}`}
      class="command"
      role="option"
      aria-selected={props.selected}
      onPointerDown={props.press}
    >
      <code>/{name}</code>
      {argument !== undefined && <span class="command-argument">{argument.name}</span>}
      <span class="command-description">{description}</span>
    </div>
  );
}
