/** The chats that share the open conversation. */
import { computed, signal } from '@preact/signals';
import type { JSX } from 'preact';
import type { LinkCommand } from '../../../../src/protocol/sessions/surfaces.ts';
import { api, ApiError } from '../api.ts';
import { channelOf } from '../chats/chat-names.ts';
import { confirmDelete } from '../confirm.tsx';
import { messageOf } from '../failures/in-place.ts';
import { showError } from '../failures/show-error.ts';
import { NewestAnswer } from '../newest.ts';
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

/** What the open chat shares its conversation with. */
export class LinkedChats {
  readonly key: string;
  readonly #path: string;
  readonly #begin: () => void;
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

  /** @param begin called when the session exists now, and has events */
  constructor(key: string, begin: () => void) {
    this.key = key;
    this.#path = `/v1/sessions/${encodeURIComponent(key)}`;
    this.#begin = begin;
  }

  /** Another chat is opened. */
  close(): void {
    this.#closeDialog();
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
    const mayShow = this.#newest.begin();
    try {
      const { surfaces, asks } = await api.ask<{ surfaces: ListedChat[]; asks: AskedChat | null }>(
        'GET',
        `${this.#path}/surfaces`,
      );
      if (!mayShow()) return;
      const others = surfaces.filter(({ address }) => address !== this.key);
      // The note about the agreement is obsolete once the chat is in the list.
      if (others.length > this.others.value.length) this.note.value = '';
      this.others.value = others;
      this.asks.value = asks;
      // The code that was given is used up once someone has entered it.
      if (asks !== null) this.given.value = undefined;
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 404)) showError(error);
    }
  }

  async separate(chat: ListedChat): Promise<void> {
    const where = placeOf(chat);
    if (!(await confirmDelete(say('page.linked.separate_ask', { where }), say('page.linked.separate'))))
      return;
    await this.#act(() => api.ask('DELETE', `${this.#path}/surfaces/${encodeURIComponent(chat.address)}`));
  }

  async answer(asks: AskedChat, agree: boolean): Promise<void> {
    await this.#act(async () => {
      const { state } = await api.ask<{ state: 'joined' | 'waiting' | 'declined' }>(
        'POST',
        `/v1/links/${encodeURIComponent(asks.id)}`,
        { session: this.key, agree },
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
      const { commands } = await api.ask<{ commands: LinkCommand[] }>('POST', `${this.#path}/links`);
      this.given.value = commands;
    });
  }

  /** Enters the code of another chat; false when it was not accepted. */
  enter(code: string): Promise<boolean> {
    return this.#act(() => api.ask('POST', `${this.#path}/link`, { code }));
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
    if (hasWorked) this.#begin();
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
          <div class="approval-foot">
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
