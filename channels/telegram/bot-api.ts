/** Calls to the Bot API, each with a time limit; every failure leaves as `ChannelError`. */
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { ReactionType } from 'grammy/types';
import { Api } from 'grammy/web';
import type { ChannelIdentity } from '../../src/protocol/channel.ts';
import { type ChannelError, channelUnavailable } from '../../src/protocol/errors.ts';
import { textRef } from '../../src/protocol/texts/say.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { stripEnd } from '../../src/lib/text.ts';
import type { GrammySignal, topicOf } from './call-options.ts';
import { isFileTooBig, isWebhookConflict, toChannelError } from './errors.ts';
import { createFetch } from './http-call.ts';

/** Longest wait for an answer, in milliseconds; a long poll has its own limit. */
export const CALL_TIMEOUT_MS = 30_000;
/** Idle connections are closed after this long, before the server closes them under a request. */
const IDLE_CONNECTION_MS = 15_000;
/** Maximum number of open connections; further calls wait for one. */
export const MAX_CONNECTIONS = 128;
const OFFICIAL_ROOT = 'https://api.telegram.org';
/** Longest text of an answer to a press (Bot API `answerCallbackQuery`). */
const MAX_PRESS_TEXT = 200;

/** One of the reactions that Telegram knows. */
export type Emoji = Extract<ReactionType, { type: 'emoji' }>['emoji'];

/** The kinds of update to request; others would only be discarded. */
const WANTED_UPDATES = [
  'message',
  'edited_message',
  'callback_query',
  'message_reaction',
  'my_chat_member',
  'stopped_message_generation',
] as const;
const INLINE_UPDATES = ['inline_query', 'chosen_inline_result'] as const;
const BUSINESS_UPDATES = [
  'business_connection',
  'business_message',
  'edited_business_message',
  'deleted_business_messages',
] as const;
type UpdateKind =
  | (typeof WANTED_UPDATES | typeof INLINE_UPDATES | typeof BUSINESS_UPDATES)[number]
  | 'guest_message';

/** The Bot API of one bot. Methods throw only `ChannelError`. */
export class BotApi {
  readonly callTimeoutMs: number;
  /** Root address of the bot's files; secret. */
  readonly fileRoot: string;
  /** The kinds of updates that Telegram shall send. */
  readonly wantedUpdates: readonly UpdateKind[];
  readonly #api: Api;
  readonly #token: string;
  readonly #clock: Clock;
  /** Telegram has answered since the last failure that other calls may share. */
  #isReachable = false;
  #probe: Promise<unknown> | undefined;

  constructor(config: {
    token: string;
    apiRoot?: string | undefined;
    callTimeoutMs: number;
    clock: Clock;
    /** Answer in chats where the bot is no member. */
    inline?: boolean;
    guests?: boolean;
    /** Answer in the name of people who have connected the bot to their account. */
    business?: boolean;
  }) {
    const { token, callTimeoutMs, clock } = config;
    const apiRoot = rootOf(config.apiRoot);
    const agent = new (agentOf(apiRoot))({
      keepAlive: true,
      timeout: IDLE_CONNECTION_MS,
      maxSockets: MAX_CONNECTIONS,
    });
    this.callTimeoutMs = callTimeoutMs;
    this.fileRoot = `${apiRoot}/file/bot${token}`;
    this.#token = token;
    this.wantedUpdates = [
      ...WANTED_UPDATES,
      ...(config.inline === true ? INLINE_UPDATES : []),
      ...(config.business === true ? BUSINESS_UPDATES : []),
      ...(config.guests === true ? (['guest_message'] as const) : []),
    ];
    this.#clock = clock;
    this.#api = new Api(token, { apiRoot, fetch: createFetch(agent) });
  }

  /** Makes a call; aborts it after `limitMs`. `request` gets grammY's client and the call's signal. Throws `ChannelError`. */
  async call<T>(
    method: string,
    request: (api: Api, limit: GrammySignal) => Promise<T>,
    signal?: AbortSignal,
    limitMs = this.callTimeoutMs,
  ): Promise<T> {
    const late = new AbortController();
    const cancel = this.#clock.after(limitMs, () => late.abort());
    const both = signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]);
    try {
      return await request(this.#api, both as GrammySignal);
    } catch (error) {
      const failure = toChannelError(error, method, this.#token);
      if (isOutage(failure)) this.#isReachable = false;
      throw failure;
    } finally {
      cancel();
    }
  }

  /** Resolves once Telegram answers: needed before a text after a lost answer. Callers share one request; throws its error. */
  async ensureReachable(): Promise<void> {
    if (this.#isReachable) return;
    this.#probe ??= this.identify().finally(() => (this.#probe = undefined));
    await this.#probe;
  }

  async identify(signal?: AbortSignal): Promise<ChannelIdentity> {
    const me = await this.call('getMe', (api, limit) => api.getMe(limit), signal);
    this.#isReachable = true;
    const { username: name, can_read_all_group_messages: readsAll, has_topics_enabled: privateThreads } = me;
    return { id: String(me.id), name, readsAll, privateThreads };
  }

  /** `getUpdates`; elements can have any shape. A webhook left behind is deleted, and the next call succeeds. */
  async updates(
    offset: number | undefined,
    waitMs: number,
    stallMs: number,
    signal: AbortSignal,
  ): Promise<unknown[]> {
    const options = { offset, timeout: Math.floor(waitMs / 1_000), allowed_updates: this.wantedUpdates };
    const poll = async (api: Api, limit: GrammySignal): Promise<unknown[]> => {
      try {
        const updates: unknown = await api.getUpdates(options, limit);
        if (Array.isArray(updates)) return updates;
      } catch (error) {
        if (isWebhookConflict(error))
          await this.call('deleteWebhook', (_api, within) => api.deleteWebhook({}, within), signal);
        throw error;
      }
      throw channelUnavailable(textRef('health.no_list', { network: 'Telegram', method: 'getUpdates' }));
    };
    return await this.call('getUpdates', poll, signal, stallMs);
  }

  /** `sendChatAction`: "typing…" for 5 s or until a message arrives. */
  async type(
    chatId: string,
    options: ReturnType<typeof topicOf> & { business_connection_id?: string },
  ): Promise<void> {
    await this.call('sendChatAction', (api, limit) => api.sendChatAction(chatId, 'typing', options, limit));
  }

  /** `setMessageReaction`: the bot's only reaction to a message; without an emoji, removes it. */
  async react(chatId: string, messageId: string, emoji: Emoji | undefined): Promise<void> {
    const reaction = emoji === undefined ? [] : [{ type: 'emoji' as const, emoji }];
    await this.call('setMessageReaction', (api, limit) =>
      api.setMessageReaction(chatId, Number(messageId), reaction, {}, limit),
    );
  }

  /** `getChatMember`: whether a person is the creator or an administrator of a chat. */
  async isAdmin(chatId: string, userId: string): Promise<boolean> {
    const { status } = await this.call('getChatMember', (api, limit) =>
      api.getChatMember(chatId, Number(userId), limit),
    );
    return status === 'creator' || status === 'administrator';
  }

  /** `getFile`: the path of a file below `fileRoot`; undefined if it is too large for bots. */
  async filePath(fileId: string, signal: AbortSignal): Promise<string | undefined> {
    const ask = async (api: Api, limit: GrammySignal): Promise<string | undefined> => {
      try {
        return (await api.getFile(fileId, limit)).file_path ?? '';
      } catch (error) {
        if (isFileTooBig(error)) return undefined;
        throw error;
      }
    };
    return await this.call('getFile', ask, signal);
  }

  /** `answerCallbackQuery`: the button stops spinning, and the person who pressed it sees the text. */
  async answerPress(callbackId: string, text: string | undefined): Promise<void> {
    const options = { text: text?.slice(0, MAX_PRESS_TEXT).toWellFormed() };
    await this.call('answerCallbackQuery', (api, limit) =>
      api.answerCallbackQuery(callbackId, options, limit),
    );
  }
}

/** The address of the Bot API server, without a slash at its end. */
export function rootOf(apiRoot = OFFICIAL_ROOT): string {
  return stripEnd(apiRoot, '/');
}

/** The class of the agents that connect to this address. */
export function agentOf(root: string): typeof HttpAgent | typeof HttpsAgent {
  return root.startsWith('http:') ? HttpAgent : HttpsAgent;
}

/** True for failures that are not specific to the one call. */
function isOutage({ code }: ChannelError): boolean {
  return code === 'unavailable' || code === 'outcome_unknown' || code === 'unauthorized';
}
