/** The Bot API calls the channel makes, each with a time limit; every failure leaves as `ChannelError`. */
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { Api } from 'grammy';
import type { ChannelIdentity, OutboundPart } from '../../src/contracts/channel.ts';
import { ChannelError } from '../../src/contracts/errors.ts';
import type { Place, SentMessage } from '../../src/contracts/message.ts';
import { isNotModified, isWebhookConflict, toChannelError } from './errors.ts';
import { GENERAL_TOPIC } from './inbound.ts';

/** Longest wait for an answer, in milliseconds; a long poll has its own. */
export const CALL_TIMEOUT_MS = 30_000;

/** Idle connections are closed after this long, before the server closes them under a request. */
const IDLE_CONNECTION_MS = 15_000;

/** Connections at once; further calls wait for one. */
export const MAX_CONNECTIONS = 128;

const OFFICIAL_ROOT = 'https://api.telegram.org';

/** Longest text of an answer to a press (Bot API `answerCallbackQuery`). */
const MAX_PRESS_TEXT = 200;

/** The kinds of update asked for; others would only be thrown away. */
const WANTED_UPDATES = ['message', 'callback_query'] as const;

/** grammY names its signals by an old polyfill's class, but only listens to them: the runtime's own do. */
type GrammySignal = NonNullable<Parameters<Api['getMe']>[0]>;

/** Telegram as the channel needs it. Methods throw only `ChannelError`. */
export class BotApi {
  readonly #api: Api;
  readonly #token: string;
  readonly #callTimeoutMs: number;

  constructor(config: { token: string; apiRoot?: string | undefined; callTimeoutMs: number }) {
    const apiRoot = (config.apiRoot ?? OFFICIAL_ROOT).replace(/\/+$/, '');
    const Agent = apiRoot.startsWith('http:') ? HttpAgent : HttpsAgent;
    const agent = new Agent({ keepAlive: true, timeout: IDLE_CONNECTION_MS, maxSockets: MAX_CONNECTIONS });
    this.#token = config.token;
    this.#callTimeoutMs = config.callTimeoutMs;
    this.#api = new Api(config.token, { apiRoot, baseFetchConfig: { agent, compress: true } });
  }

  /** `getMe`. */
  async identify(signal: AbortSignal): Promise<ChannelIdentity> {
    const me = await this.#call('getMe', signal, (limit) => this.#api.getMe(limit));
    return { id: String(me.id), name: me.username };
  }

  /** `getUpdates`; the elements are of any shape. A webhook that was left behind is deleted, and the next call succeeds. */
  async updates(
    ask: { offset: number | undefined; waitMs: number; stallMs: number },
    signal: AbortSignal,
  ): Promise<unknown[]> {
    const options = {
      ...(ask.offset === undefined ? {} : { offset: ask.offset }),
      timeout: Math.floor(ask.waitMs / 1_000),
      allowed_updates: WANTED_UPDATES,
    };
    try {
      const limit = limited(ask.stallMs, signal);
      const updates: unknown = await this.#api.getUpdates(options, limit);
      if (Array.isArray(updates)) return updates;
      throw new ChannelError('unavailable', 'Telegram answered getUpdates with no list.', {
        retryable: true,
      });
    } catch (error) {
      if (isWebhookConflict(error))
        await this.#call('deleteWebhook', signal, (limit) => this.#api.deleteWebhook({}, limit));
      throw this.#converted(error, 'getUpdates');
    }
  }

  /** `sendMessage`. */
  async send(part: OutboundPart): Promise<SentMessage> {
    const { chatId, threadId, replyTo } = part;
    // The General topic must not be named when sending: Telegram would not find it.
    const topic = threadId === undefined || threadId === GENERAL_TOPIC ? undefined : Number(threadId);
    const options = {
      ...formatOf(part),
      ...(topic === undefined ? {} : { message_thread_id: topic }),
      ...(replyTo === undefined
        ? {}
        : { reply_parameters: { message_id: Number(replyTo), allow_sending_without_reply: true } }),
    };
    const sent = await this.#call('sendMessage', undefined, (limit) =>
      this.#api.sendMessage(chatId, textOf(part), options, limit),
    );
    return { id: String(sent.message_id) };
  }

  /** `editMessageText`; "not modified" is success. */
  async edit(sent: SentMessage, part: OutboundPart): Promise<void> {
    await this.#call('editMessageText', undefined, async (limit) => {
      try {
        const id = Number(sent.id);
        await this.#api.editMessageText(part.chatId, id, textOf(part), formatOf(part), limit);
      } catch (error) {
        if (!isNotModified(error)) throw error;
      }
    });
  }

  /** `sendChatAction`: "typing…" for 5 s or until a message comes. */
  async type({ chatId, threadId }: Place): Promise<void> {
    const topic = threadId === undefined ? {} : { message_thread_id: Number(threadId) };
    await this.#call('sendChatAction', undefined, (limit) =>
      this.#api.sendChatAction(chatId, 'typing', topic, limit),
    );
  }

  /** `setMyCommands`. */
  async offerCommands(commands: { command: string; description: string }[]): Promise<void> {
    await this.#call('setMyCommands', undefined, (limit) => this.#api.setMyCommands(commands, {}, limit));
  }

  /** `answerCallbackQuery`: the button stops spinning, and who pressed it reads the text. */
  async answerPress(callbackId: string, text: string | undefined): Promise<void> {
    const shown = text === undefined ? {} : { text: text.slice(0, MAX_PRESS_TEXT).toWellFormed() };
    await this.#call('answerCallbackQuery', undefined, (limit) =>
      this.#api.answerCallbackQuery(callbackId, shown, limit),
    );
  }

  async #call<T>(
    method: string,
    signal: AbortSignal | undefined,
    request: (limit: GrammySignal) => Promise<T>,
  ): Promise<T> {
    try {
      return await request(limited(this.#callTimeoutMs, signal));
    } catch (error) {
      throw this.#converted(error, method);
    }
  }

  #converted(error: unknown, method: string): ChannelError {
    return toChannelError(error, { method, token: this.#token, duplicateVisible: method === 'sendMessage' });
  }
}

/** Aborts after `ms`, or earlier with `signal`. */
function limited(ms: number, signal: AbortSignal | undefined): GrammySignal {
  const timeout = AbortSignal.timeout(ms);
  return (signal === undefined ? timeout : AbortSignal.any([signal, timeout])) as GrammySignal;
}

function textOf({ body, plain }: OutboundPart): string {
  return plain === true ? body.plain : body.text;
}

/**
 * Link previews stay off: the model's text must not make Telegram fetch an address. An edit without buttons removes them.
 */
function formatOf({ plain, buttons }: OutboundPart): {
  parse_mode?: 'HTML';
  link_preview_options: { is_disabled: true };
  reply_markup?: { inline_keyboard: { text: string; callback_data: string }[][] };
} {
  const row = buttons.map(({ label, value }) => ({ text: label, callback_data: value }));
  return {
    ...(plain === true ? {} : { parse_mode: 'HTML' }),
    link_preview_options: { is_disabled: true },
    ...(row.length > 0 ? { reply_markup: { inline_keyboard: [row] } } : {}),
  };
}
