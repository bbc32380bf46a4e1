/**
 * The chats that share the open conversation: a dialog that lists them, gives and takes codes, asks for agreement, separates.
 */
import { computed, signal } from '@preact/signals';
import type { JSX } from 'preact';
import type { LinkCommand } from '../../../../src/protocol/sessions/surfaces.ts';
import { type Api, ApiError } from '../api.ts';
import { channelOf } from '../chats/chat-names.ts';
import { confirmDelete } from '../confirm.tsx';
import { messageOf } from '../failures/in-place.ts';
import { NewestAnswer } from '../newest.ts';
import { Dialog, showDialog } from '../parts/dialog.tsx';
import { Time } from '../parts/time.tsx';
import { pathOf } from '../requests.ts';
import { dayAndClock, say, sayParts } from '../texts.ts';

interface LinkedChat {
  address: string;
  place: 'private' | 'group';
  name: string | null;
}

type AskedChat = LinkedChat & { id: string };
type ListedChat = LinkedChat & { linkedAt: string };

interface LinkedHost {
  showError: (error: unknown) => void;
  /** The session exists now, and has events. */
  made: () => void;
}

/** Where a chat is, for people. */
function placeOf({ address, place, name }: LinkedChat): string {
  const network = channelOf(address);
  if (place === 'group') return say('page.linked.group', { network });
  return name === null
    ? say('page.linked.private', { network })
    : say('page.linked.private_with', { network, name });
}

/** What the open chat shares its conversation with. */
export class LinkedChats {
  readonly #api: Api;
  readonly #host: LinkedHost;
  readonly key = signal('');
  /** The other chats that share the conversation. */
  readonly others = signal<readonly ListedChat[]>([]);
  /** The chat that would like to. */
  readonly asks = signal<AskedChat | null>(null);
  /** The commands that enter the code of this chat elsewhere, once one was asked for. */
  readonly given = signal<readonly LinkCommand[] | undefined>(undefined);
  readonly note = signal('');
  /** What the menu of the chat calls the dialog. */
  readonly label = computed(() => {
    if (this.asks.value !== null) return say('page.linked.request');
    const count = this.others.value.length;
    return count > 0 ? say('page.linked.count', { count }) : say('page.linked.link');
  });
  #closeDialog: () => void = () => undefined;
  readonly #newest = new NewestAnswer();

  constructor(api: Api, host: LinkedHost) {
    this.#api = api;
    this.#host = host;
  }

  /** Switches to another chat. */
  open(key: string): void {
    this.#closeDialog();
    this.key.value = key;
    this.given.value = undefined;
    this.others.value = [];
    this.asks.value = null;
  }

  /** Opens the dialog. */
  show(): void {
    this.note.value = '';
    showDialog((close) => {
      this.#closeDialog = close;
      return <LinkedDialog linked={this} close={close} />;
    });
    void this.refresh();
  }

  apply({ type, code }: { type: string; code?: string }): void {
    if (type === 'surfaces_changed' || (type === 'notice' && code === 'surfaces')) void this.refresh();
  }

  /** Reloads what is linked; a chat that does not exist yet shares nothing. */
  async refresh(): Promise<void> {
    const key = this.key.value;
    const mayShow = this.#newest.begin();
    try {
      const { surfaces, asks } = await this.#api.ask<{ surfaces: ListedChat[]; asks: AskedChat | null }>(
        'GET',
        `${pathOf(key)}/surfaces`,
      );
      if (key !== this.key.value || !mayShow()) return;
      const others = surfaces.filter(({ address }) => address !== key);
      // The note about the agreement is obsolete once the chat is in the list.
      if (others.length > this.others.value.length) this.note.value = '';
      this.others.value = others;
      this.asks.value = asks;
      // The code that was given is used up once someone has entered it.
      if (asks !== null) this.given.value = undefined;
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 404)) this.#host.showError(error);
    }
  }

  async separate(chat: ListedChat): Promise<void> {
    const where = placeOf(chat);
    if (!(await confirmDelete(say('page.linked.separate_ask', { where }), say('page.linked.separate'))))
      return;
    await this.#act(() =>
      this.#api.ask('DELETE', `${pathOf(this.key.value)}/surfaces/${encodeURIComponent(chat.address)}`),
    );
  }

  async answer(asks: AskedChat, agree: boolean): Promise<void> {
    await this.#act(async () => {
      const { state } = await this.#api.ask<{ state: 'joined' | 'waiting' | 'declined' }>(
        'POST',
        `/v1/links/${encodeURIComponent(asks.id)}`,
        { session: this.key.value, agree },
      );
      this.note.value =
        state === 'joined'
          ? say('link.both_agreed')
          : state === 'waiting'
            ? say('page.linked.waiting', { where: placeOf(asks) })
            : say('link.declined_here');
    });
  }

  async give(): Promise<void> {
    await this.#act(async () => {
      const { commands } = await this.#api.ask<{ commands: LinkCommand[] }>(
        'POST',
        `${pathOf(this.key.value)}/links`,
      );
      this.given.value = commands;
    });
  }

  /** Enters the code of another chat; false when it was not accepted. */
  enter(code: string): Promise<boolean> {
    return this.#act(() => this.#api.ask('POST', `${pathOf(this.key.value)}/link`, { code }));
  }

  /** Does the work, and shows the outcome. */
  async #act(work: () => Promise<unknown>): Promise<boolean> {
    this.note.value = '';
    const hasWorked = await work().then(
      () => true,
      (error: unknown) => {
        this.note.value = messageOf(error);
        return false;
      },
    );
    if (hasWorked) this.#host.made();
    await this.refresh();
    return hasWorked;
  }
}

/** The question of another chat, where there is one. */
export function LinkQuestion({ linked, id }: { linked: LinkedChats; id: string }): JSX.Element {
  const asks = linked.asks.value;
  const group = asks?.place === 'group' ? ` ${say('link.group_reads_here')}` : '';
  return (
    <div id={id} class="approvals" aria-live="polite" hidden={asks === null}>
      {asks && (
        <div class="approval">
          <p>{`${say('page.linked.would', { where: placeOf(asks) })}${group} ${say('link.decline_strangers')}`}</p>
          <div class="linked-answer">
            <button type="button" class="primary" onClick={() => void linked.answer(asks, true)}>
              {say('link.join')}
            </button>
            <button type="button" onClick={() => void linked.answer(asks, false)}>
              {say('link.decline')}
            </button>
          </div>
        </div>
      )}
    </div>
  );
}

function LinkedDialog({ linked, close }: { linked: LinkedChats; close: () => void }): JSX.Element {
  return (
    <Dialog id="linked" class="linked" title={say('page.linked')} close={close}>
      <ul class="linked-list" aria-label={say('page.linked.list')}>
        {linked.others.value.map((chat) => (
          <li class="linked-row" key={chat.address}>
            <span dir="auto">{placeOf(chat)}</span>
            <span class="quiet">
              {sayParts('page.linked.since', { moment: <Time at={chat.linkedAt} format={dayAndClock} /> })}
            </span>
            <button
              type="button"
              class="text-button"
              aria-label={say('page.linked.separate_of', { where: placeOf(chat) })}
              onClick={() => void linked.separate(chat)}
            >
              {say('page.linked.separate')}
            </button>
          </li>
        ))}
      </ul>
      <LinkQuestion id="linked-asks" linked={linked} />
      {linked.key.value.startsWith('http:') && <Codes linked={linked} />}
      <p id="linked-note" role="status">
        {linked.note}
      </p>
    </Dialog>
  );
}

/** Only a chat of the page can give and take codes here. */
function Codes({ linked }: { linked: LinkedChats }): JSX.Element {
  const given = linked.given.value;
  const how = say('page.linked.how').split('`');
  const enter = async (form: HTMLFormElement): Promise<void> => {
    const field = form.elements.namedItem('code');
    if (field instanceof HTMLInputElement && (await linked.enter(field.value))) form.reset();
  };
  return (
    <>
      <p class="quiet">{how.map((part, nth) => (nth % 2 === 0 ? part : <code>{part}</code>))}</p>
      <p class="linked-form">
        <button id="give-code" type="button" onClick={() => void linked.give()}>
          {say('page.linked.give')}
        </button>
      </p>
      <p id="linked-given" class="linked-given" aria-live="polite">
        {given && sayParts('page.linked.code_sent', { command: <Commands commands={given} /> })}
      </p>
      <form
        class="linked-form"
        onSubmit={(event) => {
          event.preventDefault();
          void enter(event.currentTarget);
        }}
      >
        <input
          name="code"
          type="text"
          aria-label={say('page.linked.code')}
          placeholder={say('page.linked.code')}
          maxlength={100}
          autocomplete="off"
          spellcheck={false}
          required
        />
        <button type="submit" class="primary">
          {say('page.linked.enter')}
        </button>
      </form>
    </>
  );
}

function Commands({ commands }: { commands: readonly LinkCommand[] }): JSX.Element {
  return (
    <span>
      {commands.map(({ command, networks }) => (
        <span key={command}>
          <code>{command}</code>
          {commands.length > 1 ? ` (${networks.join(', ')}) ` : ' '}
        </span>
      ))}
    </span>
  );
}
