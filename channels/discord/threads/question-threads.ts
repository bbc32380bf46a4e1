/**
 * A thread for each question, in the channels where the settings ask for it, named after the title of its
 * conversation.
 */
import { type ChannelLanguages, sayToPerson } from '../../../src/protocol/texts/languages.ts';
import type { Log } from '../../../src/protocol/log.ts';
import type { AgentEvent } from '../../../src/protocol/event.ts';
import { parseAddress } from '../../../src/protocol/message.ts';
import { hasCode } from '../errors.ts';
import type { ChannelKind, RawMessage } from '../receiving/inbound.ts';
import { retryTransient } from '../rest/retry.ts';
import type { DiscordRest } from '../rest/rest.ts';
import { messageId } from '../sending.ts';

/** Longest name of a thread that Discord accepts. */
export const MAX_NAME = 100;
/** Longest wait for a thread to open, in milliseconds; then the question is answered in its channel. */
const OPEN_MS = 5_000;
/** The message has a thread, which has the same id. */
const HAS_THREAD = 1 << 5;
const ALREADY_OPENED = 160_004;

/** Where each question gets a thread: in all server channels, or in individual ones. */
export interface ThreadSettings {
  all: boolean;
  channels: Record<string, boolean>;
}

export interface QuestionThreadsParts {
  rest: Pick<DiscordRest, 'call'>;
  log: Log;
  settings: ThreadSettings;
  languages: ChannelLanguages;
}

/** Describes a channel; undefined while Discord does not answer. Never throws. */
export type KindOf = (channelId: string) => Promise<ChannelKind | undefined>;

export class QuestionThreads {
  readonly #parts: QuestionThreadsParts;

  constructor(parts: QuestionThreadsParts) {
    this.#parts = parts;
  }

  /**
   * True for a message that may get a thread: not in a thread, not in private, not from a bot, and without a thread
   * already.
   */
  mayOpen(message: RawMessage, { place, parentId }: ChannelKind): boolean {
    const { all, channels } = this.#parts.settings;
    if (place !== 'group' || parentId !== undefined || isByBot(message)) return false;
    return !hasThread(message) && (channels[message.channel_id] ?? all);
  }

  /**
   * Opens the thread of a question (`POST …/messages/{id}/threads`); returns its id. If repeated, finds the thread
   * that this bot has opened before. Undefined where no thread is possible: the question is then answered in its
   * channel. Never throws.
   */
  async open(message: RawMessage, text: string, opened: () => Promise<boolean>): Promise<string | undefined> {
    const { channel_id: channelId, id, author } = message;
    const unnamed = (await sayToPerson(this.#parts.languages, `discord:${author.id}`))('thread.unnamed');
    try {
      return await retryTransient(
        async () => await this.#open(channelId, id, nameOf(text) ?? unnamed),
        AbortSignal.timeout(OPEN_MS),
      );
    } catch (error) {
      if (error instanceof Error && hasCode(error.cause, ALREADY_OPENED))
        return (await opened()) ? id : undefined;
      this.#parts.log.warn({ err: error, chatId: channelId }, 'discord_thread_not_opened');
      return undefined;
    }
  }

  async #open(channelId: string, questionId: string, name: string): Promise<string> {
    const path = `/channels/${channelId}/messages/${questionId}/threads` as const;
    const bucket = `thread ${channelId}`;
    return messageId(await this.#parts.rest.call({ method: 'post', path, bucket, body: { name } }));
  }

  /**
   * Sets the title of a conversation as the name of its thread (`PATCH /channels/{id}`), if this bot has opened it.
   * Throws `ChannelError`.
   */
  async onTitle(event: AgentEvent, botId: string, kindOf: KindOf): Promise<void> {
    if (event.type !== 'session_titled' || event.title === null) return;
    const { channel, threadId } = parseAddress(event.sessionKey);
    if (channel !== 'discord' || threadId === undefined) return;
    if ((await kindOf(threadId))?.ownerId !== botId) return;
    const name = nameOf(event.title);
    if (name === undefined) return;
    const body = { name };
    const bucket = `name ${threadId}`;
    await this.#parts.rest.call({ method: 'patch', path: `/channels/${threadId}`, bucket, body });
  }
}

/** True for a message from which a thread was started. */
export function hasThread({ flags = 0 }: RawMessage): boolean {
  return (flags & HAS_THREAD) !== 0;
}

/** True for a message that another bot or a webhook wrote. */
export function isByBot({ author, webhook_id: webhook }: RawMessage): boolean {
  return author.bot === true || webhook !== undefined;
}

/** The first line of a text as the name of a thread; undefined for a text without words. */
function nameOf(text: string): string | undefined {
  const [line = ''] = text.trim().split('\n', 1);
  return line.slice(0, MAX_NAME).toWellFormed().trim() || undefined;
}
