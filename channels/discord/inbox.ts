/** Queues messages on their way into the gateway: in order per chat, kept until committed, read from history after a gap. */
import type { Log } from '../../src/contracts/log.ts';
import type { InboundMessage } from '../../src/contracts/message.ts';
import { backoffMs } from '../../src/lib/backoff.ts';
import { pause, sleep } from '../../src/lib/sleep.ts';
import type { Receipt } from '../../src/contracts/receive.ts';
import type { History } from './history.ts';
import { toInbound } from './inbound.ts';
import type { ChannelKind, RawMessage } from './inbound.ts';
import { isTransientError } from './retry.ts';

/** Chats remembered for closing gaps; past that, the one that was silent longest is forgotten. */
export const MAX_CHATS = 1_000;
/** Messages of one chat that wait while the store is unavailable; further ones are read from the history later. */
const MAX_WAITING = 100;
const RETRY_BASE_MS = 250;
const RETRY_CAP_MS = 10_000;
/** How long `close` waits for commits in flight. */
const CLOSE_MS = 2_000;

/** A server channel: assumed until Discord has described the channel. */
const GROUP: ChannelKind = { place: 'group' };

/** A part of the history that may have been missed: everything after an id. */
interface Gap {
  after: string;
  /** Some of it may have been received by an earlier process: an old `/stop` or `/new` must not act twice. */
  mayRepeat: boolean;
}

interface Chat {
  id: string;
  /** Read from Discord before the first message is published, and again until that succeeds. */
  kind?: ChannelKind | undefined;
  waiting: RawMessage[];
  /** The newest committed message; a gap begins after it. */
  lastId?: string;
  /** Read this part of the history before anything that waits. */
  gap?: Gap | undefined;
  work?: Promise<void> | undefined;
}

export interface InboxParts {
  history: Pick<History, 'after' | 'kindOf'>;
  log: Log;
  signal: AbortSignal;
  botId(): string;
  /** Commits a message in the gateway. */
  publish(message: InboundMessage): Promise<Receipt>;
}

export class Inbox {
  readonly #parts: InboxParts;
  readonly #chats = new Map<string, Chat>();

  constructor(parts: InboxParts) {
    this.#parts = parts;
  }

  /** Queues a message of the Discord gateway and returns at once. */
  push(message: RawMessage): void {
    const isPrivate = message.guild_id === undefined;
    if (toInbound(message, this.#parts.botId(), GROUP) === undefined) return;
    const chat = this.#chat(message.channel_id, isPrivate ? { place: 'private' } : undefined);
    if (chat.waiting.length < MAX_WAITING) chat.waiting.push(message);
    else this.#missed(chat, chat.lastId ?? (BigInt(chat.waiting[0]?.id ?? message.id) - 1n).toString());
    this.#wake(chat);
  }

  /** Call after events were missed: reads every known chat from its last committed message on. */
  closeGap(): void {
    for (const chat of this.#chats.values()) {
      if (chat.lastId !== undefined) this.#missed(chat, chat.lastId);
      this.#wake(chat);
    }
  }

  /** Reads a chat's messages since before this process started, except commands. */
  readFrom(id: string, kind: ChannelKind, after: string): void {
    const chat = this.#chat(id, kind);
    this.#missed(chat, after, true);
    this.#wake(chat);
  }

  /** Waits at most 2 s for commits in flight and for `others`; the signal must have been aborted. Never throws. */
  async close(others: readonly Promise<void>[]): Promise<void> {
    const work = [...others, ...[...this.#chats.values()].flatMap((chat) => chat.work ?? [])];
    this.#chats.clear();
    const limit = new AbortController();
    const late = pause(CLOSE_MS, limit.signal);
    await Promise.race([Promise.all(work), late]);
    limit.abort();
  }

  #chat(id: string, kind: ChannelKind | undefined): Chat {
    const chat = this.#chats.get(id) ?? { id, kind, waiting: [] };
    this.#chats.delete(id);
    this.#chats.set(id, chat);
    for (const [key, idle] of this.#chats) {
      if (this.#chats.size <= MAX_CHATS) break;
      if (idle.work === undefined) this.#chats.delete(key);
    }
    return chat;
  }

  #missed(chat: Chat, after: string, mayRepeat = false): void {
    chat.gap ??= { after, mayRepeat };
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
          await this.#commit(message, chat, gap.mayRepeat);
        continue;
      }
      const next = chat.waiting.shift();
      if (next === undefined) return;
      await this.#commit(next, chat);
    }
  }

  /** Publishes a message, again until it is committed or refused for good: Discord does not deliver it again. */
  async #commit(message: RawMessage, chat: Chat, mayRepeat = false): Promise<void> {
    const { signal, log } = this.#parts;
    chat.kind ??= await this.#parts.history.kindOf(chat.id);
    const inbound = toInbound(message, this.#parts.botId(), chat.kind ?? GROUP);
    if (inbound === undefined || (mayRepeat && inbound.content.startsWith('/'))) return;
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      try {
        const { kind } = await this.#parts.publish(inbound);
        // The history of a chat where everything is refused need not be read later.
        if (kind !== 'refused' && isLater(message.id, chat.lastId)) chat.lastId = message.id;
        return;
      } catch (error) {
        if (!isTransientError(error)) {
          log.error({ err: error, chatId: chat.id, messageId: message.id }, 'discord_message_dropped');
          return;
        }
        log.warn({ err: error, chatId: chat.id, messageId: message.id }, 'discord_message_delayed');
        await sleep(backoffMs(attempt, RETRY_BASE_MS, RETRY_CAP_MS), signal);
      }
    }
  }
}

function isLater(id: string, than: string | undefined): boolean {
  return than === undefined || BigInt(id) > BigInt(than);
}
