/**
 * What waits behind the running answer: shown above the message field, edited, sent now, dropped; and how messages wait.
 */
import type { WireQueue } from '../../../wire.ts';
import { type Api, ApiError } from '../../api.ts';
import { byId, h } from '../../dom.ts';
import { NewestAnswer } from '../../newest.ts';
import { say } from '../../texts.ts';

type Waiting = WireQueue['messages'][number];

/** The queue modes, each with what it does with a message. */
const MODES: [WireQueue['mode'], string][] = [
  ['queue', say('page.queue.mode_queue')],
  ['steer', say('page.queue.mode_steer')],
  ['interrupt', say('page.queue.mode_interrupt')],
  ['collect', say('page.queue.mode_collect')],
];

/** Events after which something else may wait. */
const CHANGING = new Set([
  'message_received',
  'turn_started',
  'turn_ended',
  'messages_joined',
  'queue_changed',
]);
/** Events come in bursts; the list is read once for all of them. */
const READ_AFTER_MS = 60;

/** The panel of the open chat. */
export class QueuePanel {
  #api;
  #showError;
  #panel = byId('queue', HTMLElement);
  #list = byId('queue-list', HTMLElement);
  #mode = byId('queue-mode', HTMLSelectElement);
  #key = '';
  #newest = new NewestAnswer();
  #queue: WireQueue | undefined;
  /** The message that is being edited: the list is not redrawn in the meantime. */
  #edited = '';
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(api: Api, showError: (error: unknown) => void) {
    this.#api = api;
    this.#showError = showError;
    this.#mode.replaceChildren(...MODES.map(([mode, label]) => new Option(label, mode)));
    this.#mode.addEventListener('change', () => void this.#setMode());
  }

  open(key: string) {
    this.#key = key;
    this.#queue = undefined;
    this.#edited = '';
    this.#draw();
  }

  apply(event: { type: string }) {
    if (CHANGING.has(event.type)) this.refreshSoon();
  }

  refreshSoon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#refresh(), READ_AFTER_MS);
  }

  async #refresh() {
    const key = this.#key;
    const mayShow = this.#newest.begin();
    try {
      const queue = await this.#api.conversations.queue(key);
      if (key === this.#key && mayShow()) this.#show(queue);
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 404)) this.#showError(error);
    }
  }

  #show(queue: WireQueue) {
    this.#queue = queue;
    this.#draw();
  }

  #draw() {
    const { busy = false, mode = 'queue', messages = [] } = this.#queue ?? {};
    this.#panel.hidden = !busy && messages.length === 0;
    this.#mode.value = mode;
    if (messages.some(({ turnId }) => turnId === this.#edited)) return;
    this.#edited = '';
    this.#list.replaceChildren(...messages.map((message) => this.#row(message)));
  }

  #row(message: Waiting) {
    const { turnId, content, senderName, isEditable } = message;
    const text = h(
      'span',
      { class: 'queue-text', dir: 'auto' },
      senderName ? `${senderName}: ${content}` : content,
    );
    const row = h('li', { class: 'queue-row' }, text);
    const button = (label: string, act: () => void) =>
      h('button', { type: 'button', class: 'text-button', onclick: act }, label);
    row.append(
      ...(isEditable ? [button(say('page.edit'), () => this.#edit(row, message))] : []),
      button(say('page.queue.now'), () => void this.#act(this.#api.conversations.sendNow(this.#key, turnId))),
      button(say('page.drop'), () => void this.#act(this.#api.conversations.dropWaiting(this.#key, turnId))),
    );
    return row;
  }

  #edit(row: HTMLElement, { turnId, content }: Waiting) {
    this.#edited = turnId;
    const text = h('textarea', {
      class: 'edit-text',
      dir: 'auto',
      'aria-label': say('page.queue.message'),
      rows: 2,
    });
    text.value = content;
    const end = () => {
      this.#edited = '';
      this.#draw();
    };
    const save = () => {
      this.#edited = '';
      void this.#act(this.#api.conversations.editWaiting(this.#key, turnId, text.value));
    };
    text.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape') return;
      event.stopPropagation();
      end();
    });
    row.replaceChildren(
      text,
      h('button', { type: 'button', class: 'text-button', onclick: end }, say('page.cancel')),
      h('button', { type: 'button', class: 'primary', onclick: save }, say('page.save')),
    );
    text.focus();
  }

  async #act(change: Promise<WireQueue>) {
    const key = this.#key;
    const mayShow = this.#newest.begin();
    try {
      const queue = await change;
      if (key === this.#key && mayShow()) this.#show(queue);
    } catch (error) {
      this.#showError(error);
      this.refreshSoon();
    }
  }

  async #setMode() {
    try {
      await this.#api.changeSession(this.#key, { queueMode: this.#mode.value });
    } catch (error) {
      this.#showError(error);
    }
    this.refreshSoon();
  }
}
