/** The open chat: its stores, its connection, and what is done in it as a whole. A chat that is opened again gets new stores. */
import { effect, signal } from '@preact/signals';
import { api, type ApiError } from '../api.ts';
import type { Approvals } from '../chats/approvals.ts';
import type { ChatList } from '../chats/chat-list.ts';
import { noteStream } from '../failures/reachability.ts';
import { run, showError } from '../failures/show-error.ts';
import { followSession } from '../follow.ts';
import { openChat } from '../navigation.ts';
import { toast } from '../parts/toast.tsx';
import { say } from '../texts.ts';
import { ChatChoices } from './chat-choices.ts';
import { Composer } from './composer/composer.tsx';
import { Queue } from './composer/queue-panel.tsx';
import { Conversation } from './conversation.ts';
import { asSentAgain } from './files.tsx';
import { LinkedChats } from './linked-chats.tsx';
import type { Outbox } from './outbox.ts';
import type { TurnAct } from './turn/turn.ts';

/** The chat that is shown, or was before the settings. */
export const shownChat = signal<Chat | undefined>(undefined);

/** What the chats share. */
interface ChatPage {
  list: ChatList;
  approvals: Approvals;
  outbox: Outbox;
  /** The list of chats may have changed. */
  refreshLists: () => void;
}

/** Events that begin or end a turn; token events are far more frequent. */
const TURNING = new Set(['turn_started', 'turn_ended']);
/** Events after which the stored messages are read again. */
const REFRESHING = new Set(['message_received', 'message_sent', 'context_changed', 'queue_changed']);

/** One chat, from opening to `close`. */
export class Chat {
  readonly key: string;
  readonly conversation: Conversation;
  readonly choices: ChatChoices;
  readonly queue: Queue;
  readonly linked: LinkedChats;
  readonly composer: Composer;
  /** It has a message. */
  readonly exists = signal(false);
  /** Nothing is shown in it yet. */
  readonly isEmpty = signal(false);
  readonly isRunning = signal(false);
  /** What a screen reader says next: an answer that has ended. */
  readonly announcement = signal({ text: '', nth: 0 });
  readonly #page: ChatPage;
  readonly #ended = new AbortController();
  #isFollowing = false;
  /** A message was accepted since the events were last asked for: the chat exists now. */
  #isBegun = false;
  #isActing = false;

  /** `fresh` means that it cannot have messages yet. */
  constructor(key: string, fresh: boolean, page: ChatPage) {
    this.key = key;
    this.#page = page;
    this.conversation = new Conversation(key, (act) => this.#act(act));
    this.choices = new ChatChoices(key, fresh, this.isRunning);
    this.queue = new Queue(key);
    this.linked = new LinkedChats(key, () => this.follow());
    this.composer = new Composer(key, this.isRunning, {
      send: (content, files) => page.outbox.sendOrAsk(this, content, files),
      stop: () => run(this.stop()),
    });
    this.exists.value = !fresh;
    this.isEmpty.value = fresh;
    const endPlans = effect(() => {
      const ofPlans = page.approvals.of(key).filter(({ plan }) => plan !== null);
      this.conversation.setPlanApprovals(ofPlans);
    });
    this.#ended.signal.addEventListener('abort', endPlans);
    if (!fresh) this.follow();
  }

  get isOpen(): boolean {
    return !this.#ended.signal.aborted;
  }

  close(): void {
    this.#ended.abort();
    this.conversation.close();
    this.composer.close();
    this.linked.close();
    noteStream(false);
  }

  /** Sends a message without files. */
  send(content: string): void {
    this.#page.outbox.send(this, content, []);
  }

  /** Follows the session's events; each time the connection opens, the stored messages are reloaded. */
  follow(): void {
    if (this.#isFollowing || !this.isOpen) return;
    this.#isFollowing = true;
    const { conversation, choices, queue, linked } = this;
    const { approvals, refreshLists } = this.#page;
    const handlers = {
      open: () => {
        noteStream(false);
        void choices.refresh();
        void approvals.refresh();
        queue.refreshSoon();
        void linked.refresh();
        run(conversation.refresh(true));
      },
      lost: () => noteStream(true),
      refused: (error: ApiError) => this.#refused(error),
      event: (event: Parameters<Conversation['apply']>[0]) => {
        const { type } = event;
        conversation.apply(event);
        approvals.apply(type, true);
        queue.apply(type);
        linked.apply(event);
        if (TURNING.has(type)) this.isRunning.value = conversation.running;
        if (type === 'mode_changed' || type === 'profile_switched') void choices.refresh();
        if (REFRESHING.has(type) || type === 'turn_ended') run(conversation.refresh(false));
        if (type !== 'turn_ended') return;
        run(this.#announce(event.turnId));
        void choices.refreshModel();
        refreshLists();
      },
    };
    followSession(this.key, handlers, this.#ended.signal);
  }

  async #announce(turnId: string | undefined): Promise<void> {
    const text = await this.conversation.spokenText(turnId);
    this.announcement.value = { text, nth: this.announcement.peek().nth + 1 };
  }

  #refused(error: ApiError): void {
    this.#isFollowing = false;
    if (error.status !== 404) {
      showError(error);
      return;
    }
    if (this.#isBegun) {
      // The first message was accepted while the answer was on its way.
      this.#isBegun = false;
      this.follow();
      return;
    }
    // The address names a chat that has no message yet, as after a reload of a new one.
    this.exists.value = false;
    this.isEmpty.value = !this.conversation.showCommands();
  }

  /** A message was accepted. */
  sent(content: string): void {
    const { list, refreshLists } = this.#page;
    list.setTitle(this.key, content);
    if (this.isOpen) {
      this.exists.value = true;
      this.#isBegun = this.#isFollowing;
      this.follow();
    }
    refreshLists();
  }

  /** Stops the running answer. Rejects with `ApiError`. */
  async stop(): Promise<void> {
    await api.stopSession(this.key);
    // No event says that messages which waited were dropped.
    await this.conversation.refresh(false);
  }

  /** One at a time: a second press while the first is under way does nothing. Gives whether it was done; never rejects. */
  async #act(act: Exclude<TurnAct, { do: 'trace' }>): Promise<boolean> {
    if (this.#isActing) return false;
    this.#isActing = true;
    try {
      await this.#apply(act);
      return true;
    } catch (error) {
      showError(error);
      return false;
    } finally {
      this.#isActing = false;
    }
  }

  async #apply(act: Exclude<TurnAct, { do: 'trace' }>): Promise<void> {
    if (act.do === 'fork' || act.do === 'edit') {
      const before = act.do === 'edit' ? { before: true } : {};
      const { key, leftBehind } = await api.fork(this.key, { seq: act.seq, ...before });
      if (leftBehind > 0) toast(say('page.act.left_behind', { count: leftBehind }));
      this.#page.refreshLists();
      openChat(key);
      const fork = shownChat.peek();
      if (act.do === 'edit' && fork !== undefined)
        this.#page.outbox.send(fork, act.content, act.files.map(asSentAgain));
      return;
    }
    if (act.do === 'undo') {
      const { confirmUndo } = await import('./undo-dialog.tsx');
      if (!(await confirmUndo(await api.previewUndo(this.key, act.turnId)))) return;
      await api.undo(this.key, act.turnId);
    } else if (act.do === 'choose') await api.choose(this.key, act.turnId);
    else {
      const { note } = await api.again(this.key, act.do === 'reword' ? act.content : undefined);
      if (note !== undefined) toast(note);
    }
    this.follow();
    await this.conversation.refresh(false);
  }
}
