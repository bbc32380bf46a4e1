/**
 * The chats that share the open conversation: a dialog that lists them, gives and takes codes, asks for agreement, separates.
 */
import type { Signal } from '@preact/signals';
import type { LinkCommand } from '../../../../src/protocol/sessions/surfaces.ts';
import { type Api, ApiError } from '../api.ts';
import { channelOf } from '../chats/chat-names.ts';
import { confirmDelete } from '../confirm.tsx';
import { byId, h } from '../dom.ts';
import { NewestAnswer } from '../newest.ts';
import { pathOf } from '../requests.ts';
import { dayAndClock, say, sayParts } from '../texts.ts';
import { timeElement } from '../times.ts';
import { attempt } from '../failures/in-place.ts';

interface LinkedChat {
  address: string;
  place: 'private' | 'group';
  name: string | null;
}

type AskedChat = LinkedChat & { id: string };
type Linked = { surfaces: (LinkedChat & { linkedAt: string })[]; asks: AskedChat | null };

interface LinkedHost {
  showError: (error: unknown) => void;
  /** The session exists now, and has events. */
  made: () => void;
  /** What the menu of the chat calls the dialog. */
  label: Signal<string>;
}

const ALONE: Linked = { surfaces: [], asks: null };

/** Where a chat is, for people. */
function placeOf({ address, place, name }: LinkedChat) {
  const network = channelOf(address);
  if (place === 'group') return say('page.linked.group', { network });
  return name === null
    ? say('page.linked.private', { network })
    : say('page.linked.private_with', { network, name });
}

/** The dialog, and what the menu of the chat calls it. */
export class LinkedChats {
  #api;
  #host;
  #dialog = byId('linked', HTMLDialogElement);
  #list = byId('linked-list', HTMLElement);
  #asks = byId('linked-asks', HTMLElement);
  /** The same question in the chat itself. */
  #askedHere = byId('link-asks', HTMLElement);
  #own = byId('linked-own', HTMLElement);
  #given = byId('linked-given', HTMLElement);
  #form = byId('linked-form', HTMLFormElement);
  #code = byId('linked-code', HTMLInputElement);
  #note = byId('linked-note', HTMLElement);
  #key = '';
  #newest = new NewestAnswer();

  constructor(api: Api, host: LinkedHost) {
    this.#api = api;
    this.#host = host;
    byId('close-linked', HTMLElement).addEventListener('click', () => this.#dialog.close());
    byId('give-code', HTMLElement).addEventListener('click', () => void this.#act(() => this.#give()));
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#act(() => this.#enter());
    });
  }

  show() {
    this.#note.textContent = '';
    this.#dialog.showModal();
    void this.refresh();
  }

  /** Switches to another chat; only a chat of the page can give and take codes. */
  open(key: string) {
    this.#key = key;
    this.#dialog.close();
    this.#own.hidden = !key.startsWith('http:');
    this.#given.replaceChildren();
    this.#code.value = '';
    this.#show(ALONE);
  }

  apply({ type, code }: { type: string; code?: string }) {
    if (type === 'surfaces_changed' || (type === 'notice' && code === 'surfaces')) void this.refresh();
  }

  /** Reloads what is linked; a chat that does not exist yet shares nothing. */
  async refresh() {
    const key = this.#key;
    const mayShow = this.#newest.begin();
    try {
      const linked: Linked = await this.#api.ask('GET', `${pathOf(key)}/surfaces`);
      if (key === this.#key && mayShow()) this.#show(linked);
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 404)) this.#host.showError(error);
    }
  }

  #show(linked: Linked) {
    // The note about the agreement is obsolete once the chat is in the list.
    if (linked.surfaces.length > this.#list.childElementCount + 1) this.#note.textContent = '';
    const others = linked.surfaces.filter(({ address }) => address !== this.#key);
    this.#host.label.value =
      linked.asks !== null
        ? say('page.linked.request')
        : others.length > 0
          ? say('page.linked.count', { count: others.length })
          : say('page.linked.link');
    this.#list.replaceChildren(...others.map((chat) => this.#row(chat)));
    const { asks } = linked;
    for (const place of [this.#asks, this.#askedHere]) {
      place.replaceChildren(
        ...(asks === null ? [] : [h('div', { class: 'approval' }, ...this.#question(asks))]),
      );
      place.hidden = asks === null;
    }
    // The code that was given is used up once someone has entered it.
    if (asks !== null) this.#given.replaceChildren();
  }

  #row(chat: LinkedChat & { linkedAt: string }) {
    const where = placeOf(chat);
    const separate = async () => {
      if (!(await confirmDelete(say('page.linked.separate_ask', { where }), say('page.linked.separate'))))
        return;
      await this.#act(() =>
        this.#api.ask('DELETE', `${pathOf(this.#key)}/surfaces/${encodeURIComponent(chat.address)}`),
      );
    };
    return h(
      'li',
      { class: 'linked-row' },
      h('span', { dir: 'auto' }, where),
      h(
        'span',
        { class: 'quiet' },
        ...sayParts('page.linked.since', { moment: timeElement(chat.linkedAt, dayAndClock) }),
      ),
      h(
        'button',
        {
          type: 'button',
          class: 'text-button',
          'aria-label': say('page.linked.separate_of', { where }),
          onclick: () => void separate(),
        },
        say('page.linked.separate'),
      ),
    );
  }

  #question(asks: AskedChat) {
    const group = asks.place === 'group' ? ` ${say('link.group_reads_here')}` : '';
    return [
      h(
        'p',
        {},
        `${say('page.linked.would', { where: placeOf(asks) })}${group} ${say('link.decline_strangers')}`,
      ),
      h(
        'div',
        { class: 'linked-answer' },
        h(
          'button',
          { type: 'button', class: 'primary', onclick: () => void this.#answer(asks, true) },
          say('link.join'),
        ),
        h('button', { type: 'button', onclick: () => void this.#answer(asks, false) }, say('link.decline')),
      ),
    ];
  }

  async #answer(asks: AskedChat, agree: boolean) {
    await this.#act(async () => {
      const { state }: { state: 'joined' | 'waiting' | 'declined' } = await this.#api.ask(
        'POST',
        `/v1/links/${encodeURIComponent(asks.id)}`,
        {
          session: this.#key,
          agree,
        },
      );
      this.#note.textContent =
        state === 'joined'
          ? say('link.both_agreed')
          : state === 'waiting'
            ? say('page.linked.waiting', { where: placeOf(asks) })
            : say('link.declined_here');
    });
  }

  async #give() {
    const { commands }: { commands: LinkCommand[] } = await this.#api.ask(
      'POST',
      `${pathOf(this.#key)}/links`,
    );
    const ways = commands.map(({ command, networks }) =>
      h('span', {}, h('code', {}, command), commands.length > 1 ? ` (${networks.join(', ')}) ` : ' '),
    );
    this.#given.replaceChildren(...sayParts('page.linked.code_sent', { command: h('span', {}, ...ways) }));
  }

  async #enter() {
    const code = this.#code.value;
    await this.#api.ask('POST', `${pathOf(this.#key)}/link`, { code });
    this.#code.value = '';
  }

  /** Does the work, and shows the outcome. */
  async #act(work: () => Promise<unknown>) {
    await attempt(this.#note, async () => {
      await work();
      this.#host.made();
    });
    await this.refresh();
  }
}
