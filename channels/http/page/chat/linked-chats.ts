/** The chats that share the open conversation. */
import { computed, signal } from '@preact/signals';
import type { LinkCommand } from '../../../../src/protocol/sessions/surfaces.ts';
import { type Api, ApiError } from '../api.ts';
import { channelOf } from '../chats/chat-names.ts';
import { confirmDelete } from '../confirm.tsx';
import { messageOf } from '../failures/in-place.ts';
import { NewestAnswer } from '../newest.ts';
import { pathOf } from '../requests.ts';
import { say } from '../texts.ts';

/** A chat on any network. */
export interface LinkedChat {
  address: string;
  place: 'private' | 'group';
  name: string | null;
}

/** Where a chat is, for people. */
export function placeOf({ address, place, name }: LinkedChat): string {
  const network = channelOf(address);
  if (place === 'group') return say('page.linked.group', { network });
  return name === null
    ? say('page.linked.private', { network })
    : say('page.linked.private_with', { network, name });
}

type AskedChat = LinkedChat & { id: string };
export type ListedChat = LinkedChat & { linkedAt: string };

interface LinkedHost {
  showError: (error: unknown) => void;
  /** The session exists now, and has events. */
  made: () => void;
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

  /** Its dialog is open; `close` closes it. */
  follow(close: () => void): void {
    this.#closeDialog = close;
    this.note.value = '';
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
