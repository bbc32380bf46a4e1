/** Messages on their way to the gateway: each after those before it in its chat, and again after a lost connection. */
import { effect, untracked } from '@preact/signals';
import { closestNames } from '../../../../src/lib/text.ts';
import { api, ApiError, type StoredFile } from '../api.ts';
import { gatewayCommands } from '../commands/command-menu.tsx';
import { confirmDelete } from '../confirm.tsx';
import { connectionLost } from '../failures/reachability.ts';
import { showError } from '../failures/show-error.ts';
import { randomId } from '../requests.ts';
import { say } from '../texts.ts';
import type { ChatChoices } from './chat-choices.ts';
import type { Composer } from './composer/composer.tsx';
import type { Conversation } from './conversation.ts';

/** Work for one chat, a piece at a time: posted side by side, a later message could arrive before an earlier one. */
export class InOrder {
  /** The newest piece of work of each chat that has some. */
  readonly #newest = new Map<string, Promise<void>>();

  /** Does the work after that which was given before for the same chat, however it ended. Rejects as `work` does. */
  async run(key: string, work: () => Promise<void>): Promise<void> {
    const before = this.#newest.get(key) ?? Promise.resolve();
    const task = before.then(work, work);
    this.#newest.set(key, task);
    try {
      await task;
    } finally {
      if (this.#newest.get(key) === task) this.#newest.delete(key);
    }
  }
}

/** The chat that a message is sent in, which may be closed before the message has arrived. */
interface Sender {
  readonly key: string;
  readonly isOpen: boolean;
  readonly conversation: Conversation;
  readonly choices: ChatChoices;
  readonly composer: Composer;
  readonly isEmpty: { value: boolean };
  /** A message was accepted, or a command that concerns the session. */
  sent: (content: string) => void;
}

/** The messages of all chats. */
export class Outbox {
  readonly #sends = new InOrder();
  /** How messages that were not sent are tried again, and whether that happens by itself after a reconnect. */
  readonly #unsent = new Map<() => void, boolean>();
  /** Ends once what was written before is on its way, or was taken back. */
  #asking = Promise.resolve();

  constructor() {
    effect(() => {
      if (!connectionLost.value) untracked(() => this.#resend());
    });
  }

  /** Sends what waited for the connection, in its order. */
  #resend(): void {
    for (const [again, isAutomatic] of this.#unsent) if (isAutomatic) again();
  }

  /** Sends a message after those before it; asks before something that looks like a command, and is none, goes to the model. */
  sendOrAsk(chat: Sender, content: string, files: StoredFile[]): void {
    this.#asking = this.#asking.then(() => this.#ask(chat, content, files)).catch(showError);
  }

  async #ask(chat: Sender, content: string, files: StoredFile[]): Promise<void> {
    const [, name] = /^\/([a-z][\w-]*)(?:\s|$)/i.exec(content) ?? [];
    const question = name === undefined ? undefined : await questionAbout(name.toLowerCase());
    if (question === undefined || (await confirmDelete(question, say('page.command.send'))))
      this.send(chat, content, files);
    else chat.composer.giveBack(content);
  }

  send(chat: Sender, content: string, files: StoredFile[]): void {
    const { key, conversation, choices } = chat;
    const delivery = conversation.sending(content, files);
    chat.isEmpty.value = false;
    const idempotencyKey = randomId();
    const session = choices.beginning;
    const fileIds = files.map(({ file }) => file);
    const body = { content, ...(session && { session }), ...(fileIds.length > 0 && { files: fileIds }) };
    const attempt = async (): Promise<void> => {
      try {
        const receipt = await api.postMessage(key, body, idempotencyKey);
        if (receipt.handled) delivery.handled(receipt.reply);
        else {
          delivery.accepted(receipt);
          choices.begun();
        }
        if (!receipt.handled || receipt.session)
          chat.sent(content.trim() === '' ? (files[0]?.name ?? '') : content);
      } catch (error) {
        const refusal = error instanceof ApiError && error.isRefusal ? error.message : undefined;
        if (refusal !== undefined && chat.isOpen && chat.composer.giveBack(content, refusal)) {
          chat.isEmpty.value = delivery.takeBack();
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
    void this.#sends.run(key, attempt);
  }
}

/** Undefined for a command of the gateway, and while it cannot be asked for them. */
async function questionAbout(name: string): Promise<string | undefined> {
  const names = await gatewayCommands().then(
    (commands) => commands.map((command) => command.name),
    () => [name],
  );
  if (names.includes(name)) return undefined;
  const [like] = closestNames(name, names);
  return like === undefined
    ? say('page.command.unknown', { name })
    : say('page.command.unknown_like', { name, like });
}
