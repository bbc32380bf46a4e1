/** The open chat: its title, its connection, and sending messages. */
import { type Api, ApiError, type StoredFile } from '../api.ts';
import { ApprovalCards } from './approvals/approval-cards.js';
import { Composer } from './composer/composer.ts';
import { byId } from '../dom.ts';
import { asSentAgain } from './file-views.ts';
import { noteStream } from '../failures/reachability.js';
import { followSession } from '../follow.ts';
import { InOrder } from './in-order.ts';
import { showGreeting } from './greeting.ts';
import { ChatDetails } from './chat-details.ts';
import { LinkedChats } from './linked-chats.ts';
import { SessionHead } from './session-head.ts';
import { channelOf, type Sidebar } from '../chats/sidebar.ts';
import { showChatInTitle } from '../chats/title.ts';
import { QueuePanel } from './composer/queue-panel.ts';
import { TurnActs } from './turn/turn-acts.ts';
import { Transcript } from './transcript.ts';
import { say } from '../texts.ts';

interface ChatHost {
  showError: (error: unknown) => void;
  /** Shows another chat. */
  open: (key: string) => void;
  /** The list of chats may have changed. */
  changed: () => void;
}

/** Events that begin or end a turn; token events are far more frequent. */
const TURNING = new Set(['turn_started', 'turn_ended']);
/** Events after which the stored messages are read again. */
const REFRESHING = new Set(['message_received', 'message_sent', 'context_changed', 'queue_changed']);

/** The main part of the page, which shows one session at a time. */
export class ChatView {
  key = '';
  #api;
  #sidebar;
  #host;
  #head;
  #approvals;
  #queue;
  #linked;
  #details;
  #composer;
  #sends = new InOrder();
  #transcript: Transcript | undefined;
  #stopFollowing: () => void = () => undefined;
  #following = false;
  /** A message was accepted since the events were last asked for: the chat exists now. */
  #isBegun = false;

  constructor(api: Api, sidebar: Sidebar, host: ChatHost) {
    this.#api = api;
    this.#sidebar = sidebar;
    this.#host = host;
    this.#head = new SessionHead(api, host.showError);
    this.#queue = new QueuePanel(api, host.showError);
    this.#linked = new LinkedChats(api, {
      showError: host.showError,
      made: () => this.#follow(),
    });
    this.#details = new ChatDetails(api);
    this.#approvals = new ApprovalCards(api, host.showError, (approvals) =>
      this.#transcript?.setPlanApprovals(approvals),
    );
    this.#composer = new Composer(
      api,
      (content, files) => void this.#send(content, files),
      () => void this.#stop(),
      host.showError,
    );
  }

  /** Stops the running answer with Escape, wherever the focus is; dialogs and menus close first. */
  stopWithEscape() {
    addEventListener('keydown', (event) => {
      const isFree = !event.defaultPrevented && document.querySelector('dialog[open]') === null;
      if (event.key === 'Escape' && isFree && this.#transcript?.running === true) void this.#stop();
    });
  }

  /** Shows a chat; `fresh` means that it cannot have messages yet, `seq` is the message to show first. */
  open(key: string, { fresh = false, seq }: { fresh?: boolean; seq?: number | undefined }) {
    this.#closeCurrent();
    this.key = key;
    const acts = new TurnActs(this.#api, key, {
      showError: this.#host.showError,
      refresh: async () => {
        this.#follow();
        await this.#transcript?.refresh(false);
      },
      forked: (fork, message) => this.#openFork(fork, message),
    });
    this.#transcript = new Transcript(this.#api, key, (signal) => acts.listen(signal));
    const isPageChat = key.startsWith('http:');
    byId('transcript', HTMLElement).classList.toggle('writable', isPageChat);
    this.#composer.open(key);
    this.#setTitle(fresh ? say('page.chat.new') : this.#sidebar.titleOf(key));
    this.showChannel();
    this.#setRunning(false);
    this.#head.open(key, fresh);
    this.#approvals.open(key);
    this.#queue.open(key);
    this.#linked.open(key);
    this.#details.open(key, !fresh);
    this.#showGreeting(fresh);
    if (!fresh) this.#follow();
    if (seq !== undefined) void this.#transcript.show(seq).catch((error) => this.#host.showError(error));
    else if (isPageChat) this.#composer.focus();
  }

  /** Opens the chat that was made from this one, and sends the edited message there. */
  #openFork(key: string, message: { content: string; files: readonly string[] } | undefined) {
    this.#host.changed();
    this.#host.open(key);
    if (message !== undefined) void this.#send(message.content, message.files.map(asSentAgain));
  }

  /** Shows the chat's name as the list has it now. */
  showTitle() {
    this.#setTitle(this.#sidebar.titleOf(this.key));
  }

  /** Shows the chat's channel; only chats of this channel can be written in. */
  showChannel() {
    if (this.key === '') return;
    const isPageChat = this.key.startsWith('http:');
    const label = channelOf(this.key);
    const badge = byId('channel-badge', HTMLElement);
    badge.hidden = isPageChat;
    badge.textContent = label;
    const note = isPageChat ? '' : say('page.chat.elsewhere', { label });
    this.#composer.setWritable(isPageChat, note);
  }

  #closeCurrent() {
    this.#stopFollowing();
    this.#stopFollowing = () => undefined;
    this.#following = false;
    this.#isBegun = false;
    this.#transcript?.close();
    noteStream(false);
  }

  /** Follows the session's events; each time the connection opens, the stored messages are reloaded. */
  #follow() {
    const transcript = this.#transcript;
    if (transcript === undefined || this.#following) return;
    this.#following = true;
    const refresh = (withWork = false) =>
      void transcript.refresh(withWork).catch((error) => this.#host.showError(error));
    this.#stopFollowing = followSession(this.#api, this.key, {
      open: () => {
        noteStream(false);
        void this.#head.refresh();
        void this.#approvals.refresh();
        this.#queue.refreshSoon();
        void this.#linked.refresh();
        refresh(true);
      },
      lost: () => noteStream(true),
      refused: (error) => this.#refused(error),
      event: (event) => {
        transcript.apply(event);
        this.#approvals.apply(event);
        this.#queue.apply(event);
        this.#linked.apply(event);
        if (TURNING.has(event.type)) this.#setRunning(transcript.running);
        if (event.type === 'mode_changed' || event.type === 'profile_switched') void this.#head.refresh();
        if (REFRESHING.has(event.type)) refresh();
        if (event.type !== 'turn_ended') return;
        byId('announcer', HTMLElement).textContent = transcript.spokenText(event.turnId);
        refresh();
        this.#head.refreshModel();
        this.#host.changed();
      },
    });
  }

  #setRunning(running: boolean) {
    this.#composer.setRunning(running);
    this.#head.setRunning(running);
  }

  #refused(error: ApiError) {
    this.#following = false;
    if (error.status !== 404) {
      this.#host.showError(error);
      return;
    }
    if (this.#isBegun) {
      // The first message was accepted while the answer was on its way.
      this.#isBegun = false;
      this.#follow();
      return;
    }
    // The address names a chat that has no message yet, as after a reload of a new one.
    this.#details.open(this.key, false);
    this.#setTitle(say('page.chat.new'));
    this.#showGreeting(this.#transcript?.showCommands() !== true);
  }

  async #send(content: string, files: StoredFile[]) {
    const { key } = this;
    const delivery = this.#transcript?.sending(content, files);
    if (delivery === undefined) return;
    this.#showGreeting(false);
    const idempotencyKey = crypto.randomUUID();
    const session = this.#head.beginning;
    const attempt = async () => {
      try {
        const fileIds = files.map(({ file }) => file);
        const body = {
          content,
          ...(session && { session }),
          ...(fileIds.length > 0 && { files: fileIds }),
        };
        const receipt = await this.#api.postMessage(key, body, idempotencyKey);
        if (receipt.handled) delivery.handled(receipt.reply);
        else {
          delivery.accepted(receipt);
          if (key === this.key) this.#head.begun();
        }
        if (receipt.handled && !receipt.session) return;
        this.#sent(key, content.trim() === '' ? (files[0]?.name ?? '') : content);
      } catch (error) {
        const refusal = error instanceof ApiError && error.isRefusal ? error.message : undefined;
        if (refusal !== undefined && key === this.key && this.#composer.giveBack(content, refusal)) {
          this.#showGreeting(delivery.takeBack());
          return;
        }
        delivery.failed(error, () => {
          delivery.again();
          void attempt();
        });
      }
    };
    await this.#sends.run(key, attempt);
  }

  #sent(key: string, content: string) {
    this.#sidebar.setTitle(key, content);
    if (key === this.key) {
      this.#details.open(key, true);
      this.#setTitle(this.#sidebar.titleOf(key));
      this.#isBegun = this.#following;
      this.#follow();
    }
    this.#host.changed();
  }

  async #stop() {
    try {
      await this.#api.stopSession(this.key);
    } catch (error) {
      this.#host.showError(error);
    }
  }

  #setTitle(title: string) {
    byId('chat-title', HTMLElement).textContent = title;
    const owner = this.#sidebar.ownerOf(this.key);
    const badge = byId('owner-badge', HTMLElement);
    badge.hidden = owner === '';
    badge.textContent = say('page.chat.owner', { name: owner });
    showChatInTitle(title === say('page.chat.new') ? '' : title);
  }

  #showGreeting(isShown: boolean) {
    showGreeting(isShown, (prompt) => this.#composer.begin(prompt));
  }
}
