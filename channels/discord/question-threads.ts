/** A thread for each question, in the channels where the settings ask for it, named after the title of its conversation. */
import { MessageFlags, RESTJSONErrorCodes, Routes } from 'discord.js';
import { type ChannelLanguages, sayToPerson } from '../../src/protocol/texts/languages.ts';
import type { Log } from '../../src/protocol/log.ts';
import type { AgentEvent } from '../../src/protocol/event.ts';
import { parseAddress } from '../../src/protocol/message.ts';
import type { DiscordConfig } from './config.ts';
import { hasCode } from './errors.ts';
import { type ChannelKind, isByBot, type RawMessage } from './receiving/inbound.ts';
import { type DiscordRest, retryTransient } from './rest.ts';
import { messageId } from './sending.ts';

/** Longest name of a thread that Discord accepts. */
export const MAX_NAME = 100;
/** Longest wait for a thread to open, in milliseconds; then the question is answered in its channel. */
const OPEN_MS = 5_000;
/** Describes a channel; undefined while Discord does not answer. Never throws. */
export type KindOf = (channelId: string) => Promise<ChannelKind | undefined>;

export class QuestionThreads {
  readonly #rest: DiscordRest;
  readonly #log: Log;
  readonly #languages: ChannelLanguages;
  readonly #settings: DiscordConfig['threads'];

  constructor(rest: DiscordRest, log: Log, languages: ChannelLanguages, settings: DiscordConfig['threads']) {
    this.#rest = rest;
    this.#log = log;
    this.#languages = languages;
    this.#settings = settings;
  }

  /** True for a message that may get a thread: not in a thread, not in private, not from a bot, and without one already. */
  mayOpen(message: RawMessage, { place, parentId }: ChannelKind): boolean {
    const { all, channels } = this.#settings;
    if (place !== 'group' || parentId !== undefined || isByBot(message)) return false;
    return !hasThread(message) && (channels[message.channel_id] ?? all);
  }

  /** Opens or finds the thread of a question; returns its id. Undefined where no thread is possible. Never throws. */
  async open(message: RawMessage, text: string, isOwn: () => Promise<boolean>): Promise<string | undefined> {
    const { channel_id: channelId, id, author } = message;
    const unnamed = (await sayToPerson(this.#languages, `discord:${author.id}`))('thread.unnamed');
    try {
      const body = { name: nameOf(text) ?? unnamed };
      const call = { method: 'post', path: Routes.threads(channelId, id), body } as const;
      return await retryTransient(
        async () => messageId(await this.#rest.call({ ...call, bucket: `thread ${channelId}` })),
        AbortSignal.timeout(OPEN_MS),
      );
    } catch (error) {
      if (error instanceof Error && hasCode(error.cause, RESTJSONErrorCodes.ThreadAlreadyCreatedForMessage))
        return (await isOwn()) ? id : undefined;
      this.#log.warn({ err: error, chatId: channelId }, 'discord_thread_not_opened');
      return undefined;
    }
  }

  /** Names a thread after the title of its conversation, if this bot has opened it. Throws `ChannelError`. */
  async onTitle(event: AgentEvent, botId: string, kindOf: KindOf): Promise<void> {
    if (event.type !== 'session_titled' || event.title === null) return;
    const { channel, threadId } = parseAddress(event.sessionKey);
    if (channel !== 'discord' || threadId === undefined) return;
    if ((await kindOf(threadId))?.ownerId !== botId) return;
    const name = nameOf(event.title);
    if (name === undefined) return;
    const path = Routes.channel(threadId);
    await this.#rest.call({ method: 'patch', path, bucket: `name ${threadId}`, body: { name } });
  }
}

/** True for a message from which a thread was started. */
export function hasThread({ flags = 0 }: RawMessage): boolean {
  return (flags & MessageFlags.HasThread) !== 0;
}

/** The first line of a text as the name of a thread; undefined for a text without words. */
function nameOf(text: string): string | undefined {
  const [line = ''] = text.trim().split('\n', 1);
  return line.slice(0, MAX_NAME).toWellFormed().trim() || undefined;
}
