/** The open chat: its title, its connection, and sending messages. */
import { closestNames } from '../../../../src/lib/text.ts';
import { computed, effect, type ReadonlySignal, signal, untracked } from '@preact/signals';
import { type Api, ApiError, type StoredFile } from '../api.ts';
import { ApprovalCards } from './approvals/approval-cards.tsx';
import type { Composer } from './composer/composer.tsx';
import { confirmDelete } from '../confirm.tsx';
import { byId, randomId } from '../dom.ts';
import { asSentAgain } from './files.tsx';
import { connectionLost, noteStream } from '../failures/reachability.ts';
import { followSession } from '../follow.ts';
import { InOrder } from './in-order.ts';
import type { LinkedChats } from './linked-chats.ts';
import type { ChatChoices } from './chat-choices.ts';
import type { ChatList } from '../chats/chat-list.ts';
import { channelOf } from '../chats/chat-names.ts';
import type { Queue } from './composer/queue-panel.tsx';
import { TurnActs } from './turn-acts.ts';
import { Conversation } from './conversation.ts';
import { say } from '../texts.ts';

interface ChatHost {
  showError: (error: unknown) => void;
  /** Shows another chat. */
  open: (key: string) => void;
  /** The list of chats may have changed. */
  changed: () => void;
}

/** What is kept of the open chat, and drawn by components. */
interface ChatStores {
  list: ChatList;
  choices: ChatChoices;
  chat: OpenChat;
  composer: Composer;
  queue: Queue;
  linked: LinkedChats;
}

/** Events that begin or end a turn; token events are far more frequent. */
const TURNING = new Set(['turn_started', 'turn_ended']);
/** Events after which the stored messages are read again. */
const REFRESHING = new Set(['message_received', 'message_sent', 'context_changed', 'queue_changed']);

/** What the frame of the page shows of the open chat. */
export class OpenChat {
  /** It has a message. */
  readonly exists = signal(false);
  /** Nothing is shown in it yet. */
  readonly isEmpty = signal(false);
  readonly title: ReadonlySignal<string>;
  readonly conversation = signal<Conversation | undefined>(undefined);

  constructor(list: ChatList) {
    this.title = computed(() =>
      this.exists.value ? list.titleOf(list.current.value) : say('page.chat.new'),
    );
  }
}

/** The main part of the page, which shows one session at a time. */
export class ChatView {
  key = '';
  #api;
  #list;
  #choices;
  #chat;
  #host;
  #approvals;
  #queue;
  #linked;
  #composer;
  #sends = new InOrder();
  /** How messages that were not sent are tried again, and whether that happens by itself after a reconnect. */
  #unsent = new Map<() => void, boolean>();
  /** Ends once what was written before is on its way, or was taken back. */
  #asking = Promise.resolve();
  #stopFollowing: () => void = () => undefined;
  #following = false;
  /** A message was accepted since the events were last asked for: the chat exists now. */
  #isBegun = false;

  constructor(api: Api, { list, choices, chat, composer, queue, linked }: ChatStores, host: ChatHost) {
    this.#api = api;
    this.#list = list;
    this.#choices = choices;
    this.#chat = chat;
    this.#host = host;
    this.#queue = queue;
    this.#composer = composer;
    this.#linked = linked;
    this.#approvals = new ApprovalCards(api, host.showError, (approvals) =>
      this.#conversation?.setPlanApprovals(approvals),
    );
    // Only chats of this channel can be written in.
    effect(() => {
      const key = list.current.value;
      const isPageChat = key.startsWith('http:');
      const note = isPageChat ? '' : say('page.chat.elsewhere', { label: channelOf(key) });
      composer.isWritable.value = isPageChat;
      composer.note.value = note;
    });
    effect(() => {
      if (!connectionLost.value) untracked(() => this.#resend());
    });
  }

  get #conversation(): Conversation | undefined {
    return this.#chat.conversation.peek();
  }

  /** Stops the running answer with Escape, wherever the focus is; dialogs and menus close first. */
  stopWithEscape() {
    addEventListener('keydown', (event) => {
      const isFree =
        !event.defaultPrevented && document.querySelector('dialog[open], :popover-open') === null;
      if (event.key === 'Escape' && isFree && this.#conversation?.running === true) void this.stop();
    });
  }

  /** Shows a chat; `fresh` means that it cannot have messages yet, `seq` is the message to show first. */
  open(key: string, { fresh = false, seq }: { fresh?: boolean; seq?: number | undefined }) {
    this.#closeCurrent();
    this.key = key;
    const acts = new TurnActs(this.#api, key, {
      showError: this.#host.showError,
      refresh: async () => {
        this.follow();
        await this.#conversation?.refresh(false);
      },
      forked: (fork, message) => this.#openFork(fork, message),
    });
    const conversation = new Conversation(this.#api, key, { act: (act) => acts.act(act) });
    this.#chat.conversation.value = conversation;
    const isPageChat = key.startsWith('http:');
    this.#composer.open(key);
    this.#setRunning(false);
    this.#choices.open(key, fresh);
    this.#approvals.open(key);
    this.#queue.open(key);
    this.#linked.open(key);
    this.#chat.exists.value = !fresh;
    this.#chat.isEmpty.value = fresh;
    if (!fresh) this.follow();
    if (seq !== undefined) void conversation.show(seq).catch((error) => this.#host.showError(error));
    else if (isPageChat) this.#composer.focus();
  }

  /** Opens the chat that was made from this one, and sends the edited message there. */
  #openFork(key: string, message: { content: string; files: readonly string[] } | undefined) {
    this.#host.changed();
    this.#host.open(key);
    if (message !== undefined) void this.#send(message.content, message.files.map(asSentAgain));
  }

  /** Opens the trace of the newest answer. */
  showTrace() {
    this.#conversation?.showNewestTrace().catch(this.#host.showError);
  }

  /** Lets screen readers read an answer that has ended. */
  async #announce(conversation: Conversation, turnId: string | undefined): Promise<void> {
    byId('announcer', HTMLElement).textContent = await conversation.spokenText(turnId);
  }

  /** Sends a message without files. */
  send(content: string) {
    void this.#send(content, []);
  }

  #closeCurrent() {
    this.#stopFollowing();
    this.#stopFollowing = () => undefined;
    this.#following = false;
    this.#isBegun = false;
    this.#conversation?.close();
    noteStream(false);
  }

  /** Follows the session's events; each time the connection opens, the stored messages are reloaded. */
  follow() {
    const conversation = this.#conversation;
    if (conversation === undefined || this.#following) return;
    this.#following = true;
    const refresh = (withWork = false) =>
      void conversation.refresh(withWork).catch((error) => this.#host.showError(error));
    this.#stopFollowing = followSession(this.#api, this.key, {
      open: () => {
        noteStream(false);
        void this.#choices.refresh();
        void this.#approvals.refresh();
        this.#queue.refreshSoon();
        void this.#linked.refresh();
        refresh(true);
      },
      lost: () => noteStream(true),
      refused: (error) => this.#refused(error),
      event: (event) => {
        conversation.apply(event);
        this.#approvals.apply(event);
        this.#queue.apply(event);
        this.#linked.apply(event);
        if (TURNING.has(event.type)) this.#setRunning(conversation.running);
        if (event.type === 'mode_changed' || event.type === 'profile_switched') void this.#choices.refresh();
        if (REFRESHING.has(event.type)) refresh();
        if (event.type !== 'turn_ended') return;
        this.#announce(conversation, event.turnId).catch(this.#host.showError);
        refresh();
        void this.#choices.refreshModel();
        this.#host.changed();
      },
    });
  }

  #setRunning(running: boolean) {
    this.#composer.isRunning.value = running;
    this.#choices.running.value = running;
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
      this.follow();
      return;
    }
    // The address names a chat that has no message yet, as after a reload of a new one.
    this.#chat.exists.value = false;
    this.#chat.isEmpty.value = this.#conversation?.showCommands() !== true;
  }

  /** Sends what waited for the connection, in its order. */
  #resend() {
    for (const [again, isAutomatic] of this.#unsent) if (isAutomatic) again();
  }

  /** Sends a message after those before it; asks before something that looks like a command, and is none, goes to the model. */
  sendOrAsk(content: string, files: StoredFile[]) {
    this.#asking = this.#asking.then(() => this.#sendOrAsk(content, files)).catch(this.#host.showError);
  }

  async #sendOrAsk(content: string, files: StoredFile[]) {
    const [, name] = /^\/([a-z][\w-]*)(?:\s|$)/i.exec(content) ?? [];
    const question = name === undefined ? undefined : await this.#questionAbout(name.toLowerCase());
    if (question === undefined || (await confirmDelete(question, say('page.command.send'))))
      void this.#send(content, files);
    else this.#composer.giveBack(content);
  }

  /** Undefined for a command of the gateway, and while it cannot be asked for them. */
  async #questionAbout(name: string) {
    const names = await this.#composer.commands().then(
      (commands) => commands.map((command) => command.name),
      () => [name],
    );
    if (names.includes(name)) return undefined;
    const [like] = closestNames(name, names);
    return like === undefined
      ? say('page.command.unknown', { name })
      : say('page.command.unknown_like', { name, like });
  }

  async #send(content: string, files: StoredFile[]) {
    const { key } = this;
    const delivery = this.#conversation?.sending(content, files);
    if (delivery === undefined) return;
    this.#chat.isEmpty.value = false;
    const idempotencyKey = randomId();
    const session = this.#choices.beginning;
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
          if (key === this.key) this.#choices.begun();
        }
        if (receipt.handled && !receipt.session) return;
        this.#sent(key, content.trim() === '' ? (files[0]?.name ?? '') : content);
      } catch (error) {
        const refusal = error instanceof ApiError && error.isRefusal ? error.message : undefined;
        if (refusal !== undefined && key === this.key && this.#composer.giveBack(content, refusal)) {
          this.#chat.isEmpty.value = delivery.takeBack();
          return;
        }
        const again = (): void => {
          if (!this.#unsent.delete(again)) return;
          delivery.again();
          void this.#sends.run(key, attempt);
        };
        this.#unsent.set(again, error instanceof ApiError && error.isUnreachable);
        delivery.failed(error, again);
      }
    };
    await this.#sends.run(key, attempt);
  }

  #sent(key: string, content: string) {
    this.#list.setTitle(key, content);
    if (key === this.key) {
      this.#chat.exists.value = true;
      this.#isBegun = this.#following;
      this.follow();
    }
    this.#host.changed();
  }

  /** Stops the running answer. */
  async stop() {
    try {
      await this.#api.stopSession(this.key);
      // No event says that messages which waited were dropped.
      await this.#conversation?.refresh(false);
    } catch (error) {
      this.#host.showError(error);
    }
  }
}
