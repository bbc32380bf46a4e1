/** Queues messages on their way into the gateway: in order per chat, kept until committed, read from history after a gap. */
import { addressOf, type InboundMessage } from '../../../src/protocol/message.ts';
import type { NoteDeleted } from '../../../src/protocol/store/group-chats.ts';
import type { Receipt, ReceiveOptions } from '../../../src/protocol/receive.ts';
import type { NoteRefusal } from '../../../src/protocol/store/traces.ts';
import { backoffMs } from '../../../src/lib/async/backoff.ts';
import { sleep, waitAtMost } from '../../../src/lib/async/sleep.ts';
import type { KindOf, QuestionThreads } from '../question-threads.ts';
import { isTransientError, retryTransient } from '../rest.ts';
import type { ChannelKinds } from './channel-kinds.ts';
import type { Deletion } from './events.ts';
import type { History } from './history.ts';
import { type ChannelKind, isTextHidden, kindOfEvent, type RawMessage, toInbound } from './inbound.ts';
import { readWhole, type WholeMessageParts } from './whole-message.ts';

/** A part of the history that may have been missed: everything after an id. */
interface Gap {
  after: string;
  /** An earlier process may have received some of it: an old `/stop` or `/new` must not act twice. */
  mayRepeat: boolean;
  /** Called once all of it is stored. */
  release: (() => void)[];
}

/** Maximum number of chats remembered for closing gaps; beyond it, the one that was silent longest is forgotten. */
export const MAX_CHATS = 1_000;
/** Messages of one chat that wait while the store is unavailable; further ones are read from the history later. */
const MAX_WAITING = 100;
const RETRY_BASE_MS = 250;
const RETRY_CAP_MS = 10_000;
const CLOSE_MS = 2_000;

/** A server channel: assumed until Discord has described the channel. */
const GROUP: ChannelKind = { place: 'group' };

/** A gateway message; `release` is called once it would not be lost with this process. */
interface WaitingMessage {
  message: RawMessage;
  /** The sender has edited a message to this text. */
  isEdit: boolean;
  release: () => void;
}

type Waiting = WaitingMessage | { deleted: readonly string[]; release: () => void };

interface Chat {
  id: string;
  /** Read from Discord before the first message is published, and again until that succeeds. */
  kind?: ChannelKind | undefined;
  waiting: Waiting[];
  /** The newest committed message; a gap begins after it. */
  lastId?: string;
  /** Read this part of the history before anything that waits. */
  gap?: Gap | undefined;
  work?: Promise<void> | undefined;
}

export interface InboxParts extends WholeMessageParts {
  history: History;
  kinds: ChannelKinds;
  threads: QuestionThreads;
  botId(): string;
  /** True while Discord omits the texts of messages that do not mention the bot. */
  limited(): boolean;
  /** Counts messages that are not handed over. */
  noteRefusal: NoteRefusal;
  publish(message: InboundMessage, options?: ReceiveOptions): Promise<Receipt>;
  /** Takes back deleted questions that still wait in the gateway. */
  deleted: NoteDeleted;
}

export class Inbox {
  readonly #parts: InboxParts;
  readonly #chats = new Map<string, Chat>();
  /** Callers waiting for a part of the history. */
  readonly #readers = new Set<() => void>();

  constructor(parts: InboxParts) {
    this.#parts = parts;
    const end = (): void => {
      for (const resolve of this.#readers) resolve();
    };
    parts.signal.addEventListener('abort', end, { once: true });
  }

  /** Queues a message from the Discord gateway and returns at once; `release` is called when it is committed or refused. */
  push(message: RawMessage, release: () => void, isEdit = false): void {
    const kind = kindOfEvent(message);
    if (this.#toInbound(message, kind ?? GROUP) === undefined) {
      if (!isEdit) this.#noteHidden(message, kind ?? GROUP);
      release();
      return;
    }
    const chat = this.#chat(message.channel_id, kind);
    if (chat.waiting.length < MAX_WAITING) chat.waiting.push({ message, isEdit, release });
    // The messages waiting here have not started, and the history has the newest text.
    else if (isEdit) release();
    else {
      const [first = { message }] = chat.waiting.filter((one) => 'message' in one);
      const previousId = (BigInt(first.message.id) - 1n).toString();
      this.#missed(chat, { after: chat.lastId ?? previousId, mayRepeat: false, release: [release] });
    }
    this.#wake(chat);
  }

  /** Queues the deletion of messages, behind those of their chat: one that is not committed yet never will be. */
  delete({ channelId, messageIds }: Deletion, release: () => void): void {
    const chat = this.#chat(channelId, undefined);
    const isDeleted = (one: Waiting): boolean => 'message' in one && messageIds.includes(one.message.id);
    for (const { release } of chat.waiting.filter(isDeleted)) release();
    chat.waiting = chat.waiting.filter((one) => !isDeleted(one));
    if (chat.waiting.length < MAX_WAITING) chat.waiting.push({ deleted: messageIds, release });
    // So many wait only while the store is unavailable: then a deleted question is answered.
    else release();
    this.#wake(chat);
  }

  /**
   * Reads what was said in a chat after an id, and after the last message that this process has committed. Resolves
   * once that is stored, or the signal aborts. In a chat from which this process has received nothing, commands are
   * left out: another process may have received them.
   */
  async read(id: string, after: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const chat = this.#chat(id, undefined);
    const { lastId } = chat;
    const from = lastId !== undefined && isLater(lastId, after) ? lastId : after;
    this.#missed(chat, { after: from, mayRepeat: lastId === undefined, release: [resolve] });
    this.#wake(chat);
    this.#readers.add(resolve);
    await promise;
    this.#readers.delete(resolve);
  }

  /** The chats in which this process has committed a message, the most recently active one last. */
  get heard(): string[] {
    return [...this.#chats.values()].filter(({ lastId }) => lastId !== undefined).map(({ id }) => id);
  }

  /** Waits at most 2 s for commits in flight and for `others`; the signal must have been aborted. Never throws. */
  async close(others: readonly Promise<void>[]): Promise<void> {
    const work = [...others, ...[...this.#chats.values()].flatMap((chat) => chat.work ?? [])];
    this.#chats.clear();
    await waitAtMost(CLOSE_MS, Promise.all(work));
  }

  #chat(id: string, kind: ChannelKind | undefined): Chat {
    const chat = this.#chats.get(id) ?? { id, kind, waiting: [] };
    this.#chats.delete(id);
    this.#chats.set(id, chat);
    // Chats in which nothing was committed go first: they have no gap to close.
    for (const isForgotten of [({ lastId }: Chat) => lastId === undefined, () => true])
      for (const [key, idle] of this.#chats) {
        if (this.#chats.size <= MAX_CHATS) break;
        if (idle !== chat && idle.work === undefined && isForgotten(idle)) this.#chats.delete(key);
      }
    return chat;
  }

  #missed(chat: Chat, gap: Gap): void {
    chat.gap = chat.gap === undefined ? gap : widen(chat.gap, gap);
  }

  #toInbound(message: RawMessage, kind: ChannelKind): InboundMessage | undefined {
    const botId = this.#parts.botId();
    if (this.#parts.limited() && kind.place === 'group' && isTextHidden(message, botId)) return undefined;
    return toInbound(message, { botId }, kind);
  }

  /** Without the Message Content Intent, this is the only sign of such a message. */
  #noteHidden(message: RawMessage, kind: ChannelKind): void {
    const inbound = toInbound(message, { botId: this.#parts.botId() }, kind);
    if (inbound === undefined) return;
    this.#parts.noteRefusal({
      address: addressOf(inbound),
      senderId: inbound.senderId,
      code: 'ignored',
      detail: 'its text is hidden, because the Message Content Intent is off and it does not mention the bot',
    });
  }

  #wake(chat: Chat): void {
    chat.work ??= this.#workOff(chat)
      .catch((error: unknown) => {
        if (!this.#parts.signal.aborted)
          this.#parts.log.error({ err: error, chatId: chat.id }, 'discord_chat_stalled');
      })
      .finally(() => {
        chat.work = undefined;
        // A message that arrived after the last check would otherwise wait for the next one.
        if (!this.#parts.signal.aborted && (chat.gap !== undefined || chat.waiting.length > 0))
          this.#wake(chat);
      });
  }

  async #workOff(chat: Chat): Promise<void> {
    const { signal, history } = this.#parts;
    while (!signal.aborted) {
      const { gap } = chat;
      if (gap !== undefined) {
        chat.gap = undefined;
        for await (const message of history.after(chat.id, gap.after))
          await this.#commit(message, chat, gap.mayRepeat, false);
        if (signal.aborted) return;
        for (const release of gap.release) release();
        continue;
      }
      const next = chat.waiting.shift();
      if (next === undefined) return;
      if ('message' in next) await this.#commit(next.message, chat, false, next.isEdit);
      else await this.#noteDeleted(chat.id, next.deleted);
      if (!signal.aborted) next.release();
    }
  }

  /** Publishes a message, and retries until it is committed or permanently refused: Discord does not deliver it again. */
  async #commit(message: RawMessage, chat: Chat, mayRepeat: boolean, isEdit: boolean): Promise<void> {
    const { signal, log } = this.#parts;
    const botId = this.#parts.botId();
    if (toInbound(message, { botId }, GROUP) === undefined) return;
    chat.kind ??= await this.#parts.kinds.of(chat.id, isCall(message, botId));
    // Without its kind it would be treated as a message from elsewhere: refused there, or answered.
    if (chat.kind === undefined) return;
    if (this.#toInbound(message, chat.kind) === undefined) return;
    const { kind } = chat;
    const kindOf = async (id: string) => await this.#parts.kinds.of(id, true);
    const opensThread = !isEdit && !mayRepeat && this.#parts.threads.mayOpen(message, kind);
    let whole: InboundMessage | undefined;
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      try {
        whole ??= await readWhole(message, kind, botId, kindOf, this.#parts);
        const inbound = isEdit ? whole && asEdit(whole, message) : whole;
        if (inbound === undefined || (mayRepeat && inbound.content.startsWith('/'))) return;
        const options = opensThread ? this.#threadFor(message, inbound, kindOf) : {};
        const receipt = await this.#parts.publish(inbound, options);
        // The history of a chat where everything is refused need not be read later.
        if (!isEdit && receipt.kind !== 'refused' && isLater(message.id, chat.lastId))
          chat.lastId = message.id;
        return;
      } catch (error) {
        signal.throwIfAborted();
        if (!isTransientError(error)) {
          log.error({ err: error, chatId: chat.id, messageId: message.id }, 'discord_message_dropped');
          return;
        }
        log.warn({ err: error, chatId: chat.id, messageId: message.id }, 'discord_message_delayed');
        await sleep(backoffMs(attempt, RETRY_BASE_MS, RETRY_CAP_MS), signal);
      }
    }
  }

  async #noteDeleted(chatId: string, messageIds: readonly string[]): Promise<void> {
    const { signal, log, deleted } = this.#parts;
    try {
      await retryTransient(() => deleted({ channel: 'discord', chatId, messageIds }), signal);
    } catch (error) {
      signal.throwIfAborted();
      log.error({ err: error, chatId }, 'discord_deletion_dropped');
    }
  }

  /** A question that stands alone gets a thread, if the settings ask for it. */
  #threadFor(message: RawMessage, { content }: InboundMessage, kindOf: KindOf): ReceiveOptions {
    const isOwn = async (): Promise<boolean> => (await kindOf(message.id))?.ownerId === this.#parts.botId();
    return { openThread: async () => await this.#parts.threads.open(message, content, isOwn) };
  }
}

/** Its text as the new text of the edited message. */
function asEdit(message: InboundMessage, { id, edited_timestamp: at }: RawMessage): InboundMessage {
  return { ...message, id: `${id}:edit:${at}`, isEdit: true };
}

/** True for a message that calls the bot, or may do so through its role. */
function isCall(message: RawMessage, botId: string): boolean {
  return message.mention_roles.length > 0 || toInbound(message, { botId }, GROUP)?.mentioned === true;
}

function widen(one: Gap, other: Gap): Gap {
  return {
    after: isLater(one.after, other.after) ? other.after : one.after,
    mayRepeat: one.mayRepeat || other.mayRepeat,
    release: [...one.release, ...other.release],
  };
}

/** Whether a message is newer than another: its id is larger. */
function isLater(id: string, than: string | undefined): boolean {
  return than === undefined || BigInt(id) > BigInt(than);
}
