/** The Bot API calls the channel makes, each with a time limit; every failure leaves as `ChannelError`. */
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { Api } from 'grammy/web';
import type { ReactionType } from 'grammy/types';
import type { ChannelIdentity, OutboundFile, OutboundPart } from '../../../src/protocol/channel.ts';
import { ChannelError, channelUnavailable } from '../../../src/protocol/errors.ts';
import { textRef } from '../../../src/protocol/texts/say.ts';
import type { Place, SentMessage } from '../../../src/protocol/message.ts';
import { createFetch } from './http-call.ts';
import { isDeleted, isFileTooBig, isNotModified, isWebhookConflict, toChannelError } from './errors.ts';
import { captionOf, draftIdOf, formatOf, keyboardOf, placeOf, richOf, textOf } from './call-options.ts';

import {
  type FileOptions,
  type GrammySignal,
  type SendsFile,
  uploadLimitMs,
  waysToSend,
  withInput,
} from '../files/uploads.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { stripEnd } from '../../../src/lib/text.ts';

class Reachability {
  readonly #ask: () => Promise<unknown>;
  #answers = false;
  #asking: Promise<void> | undefined;

  /** `ask` makes a call that is safe to repeat. */
  constructor(ask: () => Promise<unknown>) {
    this.#ask = ask;
  }

  /** Telegram has answered a call. */
  noteAnswer(): void {
    this.#answers = true;
  }

  /** A call has failed in a way that other calls may, too. */
  noteFailure(): void {
    this.#answers = false;
  }

  /** Resolves once Telegram answers; concurrent callers share one request. Throws its error. */
  async ensure(): Promise<void> {
    if (this.#answers) return;
    this.#asking ??= this.#question();
    await this.#asking;
  }

  async #question(): Promise<void> {
    try {
      await this.#ask();
      this.#answers = true;
    } finally {
      this.#asking = undefined;
    }
  }
}

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

/** The kinds of update to request; others would only be thrown away. */
export const WANTED_UPDATES = [
  'message',
  'edited_message',
  'callback_query',
  'message_reaction',
  'my_chat_member',
  'stopped_message_generation',
] as const;

/** The part of Telegram's API that the channel needs. Methods throw only `ChannelError`. */
export class BotApi {
  readonly #api: Api;
  readonly #token: string;
  readonly #callTimeoutMs: number;
  readonly #clock: Clock;
  /** A text whose answer was lost may be on screen: after a failure, `getMe` must work before the next text. */
  readonly reachability = new Reachability(() => this.identify());

  constructor(config: { token: string; apiRoot?: string | undefined; callTimeoutMs: number; clock: Clock }) {
    const apiRoot = rootOf(config);
    const Agent = apiRoot.startsWith('http:') ? HttpAgent : HttpsAgent;
    const agent = new Agent({ keepAlive: true, timeout: IDLE_CONNECTION_MS, maxSockets: MAX_CONNECTIONS });
    this.#token = config.token;
    this.#callTimeoutMs = config.callTimeoutMs;
    this.#clock = config.clock;
    this.#api = new Api(config.token, { apiRoot, fetch: createFetch(agent) });
  }

  /** `getMe`. */
  async identify(signal?: AbortSignal): Promise<ChannelIdentity> {
    const me = await this.#call('getMe', signal, (limit) => this.#api.getMe(limit));
    this.reachability.noteAnswer();
    const { username: name, can_read_all_group_messages: readsAll, has_topics_enabled: privateThreads } = me;
    return { id: String(me.id), name, readsAll, privateThreads };
  }

  /** `getUpdates`; elements can have any shape. A webhook left behind is deleted, and the next call succeeds. */
  async updates(
    ask: { offset: number | undefined; waitMs: number; stallMs: number },
    signal: AbortSignal,
  ): Promise<unknown[]> {
    const options = {
      ...(ask.offset === undefined ? {} : { offset: ask.offset }),
      timeout: Math.floor(ask.waitMs / 1_000),
      allowed_updates: WANTED_UPDATES,
    };
    const poll = async (limit: GrammySignal): Promise<unknown[]> => {
      try {
        const updates: unknown = await this.#api.getUpdates(options, limit);
        if (Array.isArray(updates)) return updates;
      } catch (error) {
        if (isWebhookConflict(error))
          await this.#call('deleteWebhook', signal, (within) => this.#api.deleteWebhook({}, within));
        throw error;
      }
      throw channelUnavailable(textRef('health.no_list', { network: 'Telegram', method: 'getUpdates' }));
    };
    return await this.#call('getUpdates', signal, poll, ask.stallMs);
  }

  /** `sendMessage`. Not tried during an outage, so that it cannot be applied without an answer: `unavailable`. */
  async send(part: OutboundPart): Promise<SentMessage> {
    const options = { ...formatOf(part), ...placeOf(part) };
    await this.reachability.ensure();
    if (part.body.rich === true) return await this.#sendRich(part);
    const sent = await this.#call('sendMessage', undefined, (limit) =>
      this.#api.sendMessage(part.chatId, textOf(part), options, limit),
    );
    return { id: String(sent.message_id) };
  }

  /** `sendRichMessage`. */
  async #sendRich(part: OutboundPart): Promise<SentMessage> {
    const rich = { chat_id: part.chatId, rich_message: richOf(part), ...keyboardOf(part), ...placeOf(part) };
    const sent = await this.#call('sendRichMessage', undefined, (limit) =>
      this.#api.raw.sendRichMessage(rich, limit),
    );
    return { id: String(sent.message_id) };
  }

  /**
   * `sendPhoto`, `sendVoice` and the like, depending on the file's kind. If Telegram refuses that method, sends the
   * file as a plain document; if it cannot parse the caption, sends the caption without markup. Not tried during an
   * outage, like `send`.
   */
  async sendFile(file: OutboundFile): Promise<SentMessage> {
    await this.reachability.ensure();
    let ways = waysToSend(file);
    let plain = false;
    for (;;) {
      const [way, ...others] = ways;
      try {
        return await this.#upload(way, file, { ...placeOf(file), ...captionOf(file, plain) });
      } catch (error) {
        const code = error instanceof ChannelError ? error.code : undefined;
        const [next, ...last] = others;
        if (code === 'bad_markup' && !plain) plain = true;
        else if (code === 'rejected' && next !== undefined) ways = [next, ...last];
        else throw error;
      }
    }
  }

  async #upload(way: SendsFile, file: OutboundFile, options: FileOptions): Promise<SentMessage> {
    const limitMs = this.#callTimeoutMs + uploadLimitMs(file.bytes);
    const to = { chat_id: file.chatId, ...options };
    const sent = await withInput(file, (input) =>
      this.#call(way.method, undefined, (limit) => way.send(this.#api.raw, to, input, limit), limitMs),
    );
    return { id: String(sent.message_id) };
  }

  /** `editMessageText`; "not modified" is success. */
  async edit(sent: SentMessage, part: OutboundPart): Promise<void> {
    await this.#call('editMessageText', undefined, async (limit) => {
      try {
        const id = Number(sent.id);
        if (part.body.rich === true) {
          const rich = {
            chat_id: part.chatId,
            message_id: id,
            rich_message: richOf(part),
            ...keyboardOf(part),
          };
          await this.#api.raw.editMessageText(rich, limit);
        } else await this.#api.editMessageText(part.chatId, id, textOf(part), formatOf(part), limit);
      } catch (error) {
        if (!isNotModified(error)) throw error;
      }
    });
  }

  /** `deleteMessage`; a message that is already gone counts as success. Telegram keeps messages older than 48 hours. */
  async delete(sent: SentMessage, { chatId }: Place): Promise<void> {
    await this.#call('deleteMessage', undefined, async (limit) => {
      try {
        await this.#api.deleteMessage(chatId, Number(sent.id), limit);
      } catch (error) {
        if (!isDeleted(error)) throw error;
      }
    });
  }

  /** `sendChatAction`: "typing…" for 5 s or until a message arrives. */
  async type({ chatId, threadId }: Place): Promise<void> {
    const topic = threadId === undefined ? {} : { message_thread_id: Number(threadId) };
    await this.#call('sendChatAction', undefined, (limit) =>
      this.#api.sendChatAction(chatId, 'typing', topic, limit),
    );
  }

  /** `sendMessageDraft`: a text in place of the coming message, for 30 s; an empty one shows "Thinking…". Its button stops the turn. */
  async draft(
    { chatId, threadId }: Place,
    turnId: string,
    look: Pick<OutboundPart, 'body' | 'plain'>,
  ): Promise<void> {
    const topic = threadId === undefined ? {} : { message_thread_id: Number(threadId) };
    const draft = { chat_id: Number(chatId), draft_id: draftIdOf(turnId), can_stop: true, ...topic };
    if (look.body.rich === true) {
      const rich_message = richOf(look);
      await this.#call('sendRichMessageDraft', undefined, (limit) =>
        this.#api.raw.sendRichMessageDraft({ ...draft, rich_message }, limit),
      );
      return;
    }
    const text = textOf(look);
    const mode = look.plain === true || text === '' ? {} : { parse_mode: 'HTML' as const };
    await this.#call('sendMessageDraft', undefined, (limit) =>
      this.#api.raw.sendMessageDraft({ ...draft, text, ...mode }, limit),
    );
  }

  /** `setMessageReaction`: the bot's only reaction to a message; without an emoji, removes it. */
  async react(chatId: string, messageId: string, emoji: Emoji | undefined): Promise<void> {
    const reaction = emoji === undefined ? [] : [{ type: 'emoji' as const, emoji }];
    await this.#call('setMessageReaction', undefined, (limit) =>
      this.#api.setMessageReaction(chatId, Number(messageId), reaction, {}, limit),
    );
  }

  /** `getChatMember`: whether a person is the creator or an administrator of a chat. */
  async isAdmin(chatId: string, userId: string): Promise<boolean> {
    const { status } = await this.#call('getChatMember', undefined, (limit) =>
      this.#api.getChatMember(chatId, Number(userId), limit),
    );
    return status === 'creator' || status === 'administrator';
  }

  /** `getFile`: the path of a file below the root of the bot's files; undefined if it is too large for bots. */
  async filePath(fileId: string, signal: AbortSignal): Promise<string | undefined> {
    return await this.#call('getFile', signal, async (limit) => {
      try {
        return (await this.#api.getFile(fileId, limit)).file_path ?? '';
      } catch (error) {
        if (isFileTooBig(error)) return undefined;
        throw error;
      }
    });
  }

  /** Any other call of the Bot API, within the usual time limit. Throws `ChannelError`. */
  async call<T>(method: string, request: (api: Api, limit: GrammySignal) => Promise<T>): Promise<T> {
    return await this.#call(method, undefined, (limit) => request(this.#api, limit));
  }

  /** `answerCallbackQuery`: the button stops spinning, and the person who pressed it sees the text. */
  async answerPress(callbackId: string, text: string | undefined): Promise<void> {
    const shown = text === undefined ? {} : { text: text.slice(0, MAX_PRESS_TEXT).toWellFormed() };
    await this.#call('answerCallbackQuery', undefined, (limit) =>
      this.#api.answerCallbackQuery(callbackId, shown, limit),
    );
  }

  /** Aborts the request after `limitMs`, or earlier with `signal`; a failure leaves as `ChannelError`. */
  async #call<T>(
    method: string,
    signal: AbortSignal | undefined,
    request: (limit: GrammySignal) => Promise<T>,
    limitMs = this.#callTimeoutMs,
  ): Promise<T> {
    const late = new AbortController();
    const cancel = this.#clock.after(limitMs, () => late.abort());
    const both = signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]);
    try {
      return await request(both as GrammySignal);
    } catch (error) {
      const call = { method, token: this.#token, duplicateVisible: /^send(?!ChatAction)/.test(method) };
      const failure = toChannelError(error, call);
      if (isOutage(failure)) this.reachability.noteFailure();
      throw failure;
    } finally {
      cancel();
    }
  }
}

function rootOf({ apiRoot = OFFICIAL_ROOT }: { apiRoot?: string | undefined }): string {
  return stripEnd(apiRoot, '/');
}

/** Root address of a bot's files; secret. */
export function fileRootOf(config: { token: string; apiRoot?: string | undefined }): string {
  return `${rootOf(config)}/file/bot${config.token}`;
}

/** True for failures that are not specific to the one call. */
function isOutage({ code }: ChannelError): boolean {
  return code === 'unavailable' || code === 'outcome_unknown' || code === 'unauthorized';
}
