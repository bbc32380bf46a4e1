/** The open chat: its title, its connection, what is written into it. */
import { ApiError } from '../api.js';
import { ApprovalCards } from './approval-cards.js';
import { Composer } from './composer.js';
import { byId, h } from '../dom.js';
import { followSession } from '../follow.js';
import { SessionHead } from './session-head.js';
import { channelOf } from '../sidebar.js';
import { Transcript } from './transcript.js';

/**
 * @typedef {object} ChatHost
 * @property {(error: unknown) => void} complain
 * @property {() => void} changed The list of chats may look different now.
 */

/** The right side of the page; one for the whole visit, showing one session after the other. */
export class ChatView {
  key = '';
  #api;
  #sidebar;
  #host;
  #head;
  #approvals;
  #composer;
  #model = byId('model', HTMLSelectElement);
  #banner = byId('connection-banner', HTMLElement);
  /** @type {Transcript | undefined} */
  #transcript;
  /** @type {() => void} */
  #endFollowing = () => undefined;
  #following = false;

  /**
   * @param {import('../api.js').Api} api
   * @param {import('../sidebar.js').Sidebar} sidebar
   * @param {ChatHost} host
   */
  constructor(api, sidebar, host) {
    this.#api = api;
    this.#sidebar = sidebar;
    this.#host = host;
    this.#head = new SessionHead(api, host.complain);
    this.#approvals = new ApprovalCards(api, host.complain, (waits) => this.#transcript?.setWaits(waits));
    this.#composer = new Composer(
      (content) => void this.#send(content),
      () => void this.#stop(),
    );
  }

  /** Fills the picker; `default` is the session's own choice. */
  async loadModels() {
    const ids = await this.#api.models();
    const options = ids.map((id) => h('option', { value: id }, id === 'default' ? 'Default model' : id));
    this.#model.replaceChildren(...options);
  }

  /** Learns what the field offers behind a `/`. */
  async loadCommands() {
    this.#composer.setCommands(await this.#api.commands());
  }

  /**
   * Shows a chat; `fresh` when nothing can have been said in it yet.
   * @param {string} key
   * @param {boolean} fresh
   */
  open(key, fresh) {
    this.#leave();
    this.key = key;
    this.#transcript = new Transcript(this.#api, key);
    const here = key.startsWith('http:');
    this.#title(fresh ? 'New chat' : this.#sidebar.titleOf(key));
    const badge = byId('channel-badge', HTMLElement);
    badge.hidden = here;
    byId('model-picker', HTMLElement).hidden = !here;
    badge.textContent = channelOf(key);
    this.#composer.setWritable(
      here,
      here ? '' : `This chat lives on ${channelOf(key)}. You can watch it here and stop an answer.`,
    );
    this.#setRunning(false);
    this.#head.open(key);
    this.#approvals.open(key);
    this.#greet(fresh);
    if (!fresh) this.#follow();
    if (here) this.#composer.focus();
  }

  #leave() {
    this.#endFollowing();
    this.#endFollowing = () => undefined;
    this.#following = false;
    this.#transcript?.close();
    this.#banner.hidden = true;
  }

  /** Connects to the session's events; each time a connection stands, the stored messages are read again. */
  #follow() {
    const transcript = this.#transcript;
    if (transcript === undefined || this.#following) return;
    this.#following = true;
    const refresh = () => void transcript.refresh().catch((error) => this.#host.complain(error));
    this.#endFollowing = followSession(this.#api, this.key, {
      open: () => {
        this.#banner.hidden = true;
        void this.#head.refresh();
        void this.#approvals.refresh();
        refresh();
      },
      lost: () => (this.#banner.hidden = false),
      refused: (error) => this.#refused(error),
      event: (event) => {
        transcript.apply(event);
        this.#approvals.apply(event);
        this.#setRunning(transcript.running);
        if (event.type === 'mode_changed' || event.type === 'profile_switched') void this.#head.refresh();
        if (event.type === 'message_received' || event.type === 'message_sent') refresh();
        if (event.type !== 'turn_ended') return;
        byId('announcer', HTMLElement).textContent = transcript.newestText;
        refresh();
        this.#host.changed();
      },
    });
  }

  /** @param {boolean} running */
  #setRunning(running) {
    this.#composer.setRunning(running);
    this.#head.setRunning(running);
  }

  /** @param {ApiError} error */
  #refused(error) {
    this.#following = false;
    if (error.status === 404) this.#greet(true);
    else this.#host.complain(error);
  }

  /** @param {string} content */
  async #send(content) {
    const { key } = this;
    const shown = this.#transcript?.sending(content);
    if (shown === undefined) return;
    this.#greet(false);
    const idempotencyKey = crypto.randomUUID();
    const model =
      this.#model.value === 'default' || this.#model.value === '' ? {} : { model: this.#model.value };
    const attempt = async () => {
      try {
        const receipt = await this.#api.postMessage(key, { content, ...model }, idempotencyKey);
        if (receipt.turnId !== undefined && receipt.seq !== undefined) {
          shown.accepted({ turnId: receipt.turnId, seq: receipt.seq });
        } else shown.handled(receipt.reply ?? null);
        this.#sent(key, content);
      } catch (error) {
        shown.failed(error instanceof ApiError ? error.message : String(error), () => {
          shown.again();
          void attempt();
        });
      }
    };
    await attempt();
  }

  /**
   * @param {string} key
   * @param {string} content
   */
  #sent(key, content) {
    this.#sidebar.name(key, content);
    if (key === this.key) {
      this.#title(this.#sidebar.titleOf(key));
      this.#follow();
    }
    this.#host.changed();
  }

  async #stop() {
    try {
      await this.#api.stopSession(this.key);
    } catch (error) {
      this.#host.complain(error);
    }
  }

  /** @param {string} title */
  #title(title) {
    byId('chat-title', HTMLElement).textContent = title;
    document.title = title === 'New chat' ? 'Parley' : `${title} · Parley`;
  }

  /** @param {boolean} shown */
  #greet(shown) {
    document.getElementById('greeting')?.remove();
    if (!shown) return;
    byId('transcript', HTMLElement).append(
      h(
        'div',
        { id: 'greeting', class: 'greeting' },
        h('img', { src: '/page/icon.svg', alt: '', width: 48, height: 48 }),
        h('p', { class: 'greeting-words' }, 'What shall we talk about?'),
        h(
          'p',
          { class: 'quiet' },
          'Write below. A ',
          h('code', {}, '/'),
          ' shows what else you can ask of it.',
        ),
      ),
    );
  }
}
