/** Messages in groups that only one person sees (Bot API 10.2, ephemeral); where unsupported, everyone sees them. */
import type { ChatSettingStore, OutboundPart } from '../../src/protocol/channel.ts';
import { ChannelError, toGatewayError } from '../../src/protocol/errors.ts';
import type { Log } from '../../src/protocol/log.ts';
import { addressOf, type Place, type SentMessage } from '../../src/protocol/message.ts';
import type { BotApi } from './bot-api.ts';
import { formatOf, placeOf, textOf } from './call-options.ts';

/** How long a group that refused one is not tried again: usually the bot is not an administrator there. */
const REFUSED_MS = 24 * 3_600_000;
const SETTING = 'hidden_messages';

/** Sends, edits and deletes such messages; does nothing for all others. Methods throw only `ChannelError`. */
export class HiddenMessages {
  readonly #bot: BotApi;
  readonly #chatSettings: ChatSettingStore;
  readonly #log: Log;

  constructor(bot: BotApi, chatSettings: ChatSettingStore, log: Log) {
    this.#bot = bot;
    this.#chatSettings = chatSettings;
    this.#log = log;
  }

  /** Undefined for a part that everyone sees, also if that is because Telegram refuses to hide it. */
  async send(part: OutboundPart): Promise<SentMessage | undefined> {
    const { onlyFor, chatId } = part;
    // Anonymous administrators have the id of their group: Telegram does not say who they are.
    if (onlyFor === undefined || !chatId.startsWith('-') || onlyFor.startsWith('-')) return undefined;
    // Any bot may reply to a hidden message; other hidden messages require an administrator.
    if (part.repliesHidden !== true && (await this.#isRefused(part))) return undefined;
    try {
      await this.#bot.ensureReachable();
      return await this.#call(part, onlyFor);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      this.#log.info({ err: error, chatId }, 'telegram_message_not_hidden');
      if (part.repliesHidden !== true) await this.#noteRefusal(part);
      return undefined;
    }
  }

  /** False for a message that everyone sees. */
  async edit(message: SentMessage, part: OutboundPart): Promise<boolean> {
    const target = hiddenTarget(message, part);
    if (target === undefined) return false;
    const { link_preview_options: _links, ...format } = formatOf(part);
    await this.#callUnlessGone('editEphemeralMessageText', ({ raw }, limit) =>
      raw.editEphemeralMessageText({ ...target, ...format, text: textOf(part) }, limit),
    );
    return true;
  }

  /** False for a message that everyone sees. */
  async delete(message: SentMessage, place: Place): Promise<boolean> {
    const target = hiddenTarget(message, place);
    if (target === undefined) return false;
    await this.#callUnlessGone('deleteEphemeralMessage', ({ raw }, limit) =>
      raw.deleteEphemeralMessage(target, limit),
    );
    return true;
  }

  async #call(part: OutboundPart, onlyFor: string): Promise<SentMessage> {
    const { reply_parameters: reply, ...place } = placeOf(part);
    const options = {
      ...formatOf(part),
      ...place,
      reply_parameters: part.repliesHidden === true ? { ephemeral_message_id: Number(part.replyTo) } : reply,
      ephemeral_message_parameters: { receiver_user_id: Number(onlyFor) },
    };
    const message = await this.#bot.call('sendMessage', (api, limit) =>
      api.sendMessage(part.chatId, textOf(part), options, limit),
    );
    // A server that does not know the parameter sends a message that everyone sees.
    const { ephemeral_message_id: hiddenId, message_id: id } = message;
    return hiddenId === undefined ? { id: String(id) } : { id: `hidden:${hiddenId}`, metadata: { onlyFor } };
  }

  /** These messages disappear after a while, and there is no way to check: one that is gone needs no change. */
  async #callUnlessGone(method: string, request: Parameters<BotApi['call']>[1]): Promise<void> {
    try {
      await this.#bot.call(method, request);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      this.#log.debug({ err: error, method }, 'telegram_hidden_message_gone');
    }
  }

  async #isRefused({ channel, chatId }: Place): Promise<boolean> {
    try {
      return (await this.#chatSettings.chatSetting(addressOf({ channel, chatId }), SETTING)) !== undefined;
    } catch (error) {
      this.#log.warn({ err: toGatewayError(error) }, 'telegram_hidden_messages_unknown');
      return true;
    }
  }

  async #noteRefusal({ channel, chatId }: Place): Promise<void> {
    await this.#chatSettings
      .setChatSetting(addressOf({ channel, chatId }), SETTING, 'refused', REFUSED_MS)
      .catch((error: unknown) =>
        this.#log.warn({ err: toGatewayError(error) }, 'telegram_hidden_messages_unknown'),
      );
  }
}

/** The part for everyone; in its chat a hidden message cannot be replied to. */
export function visible(part: OutboundPart): OutboundPart {
  return part.repliesHidden === true ? { ...part, replyTo: undefined } : part;
}

/** Includes a 403, which for other calls may be temporary. */
function isRefusal(error: unknown): error is ChannelError {
  if (!(error instanceof ChannelError)) return false;
  if (['rejected', 'place_gone', 'message_gone'].includes(error.code)) return true;
  return error.code === 'unavailable' && error.message.includes('"Forbidden: ');
}

function hiddenTarget(
  { id, metadata }: SentMessage,
  { chatId }: Place,
): { chat_id: string; receiver_user_id: number; ephemeral_message_id: number } | undefined {
  const [, number] = /^hidden:(\d+)$/.exec(id) ?? [];
  const receiver = metadata?.['onlyFor'];
  if (number === undefined || receiver === undefined) return undefined;
  return { chat_id: chatId, receiver_user_id: Number(receiver), ephemeral_message_id: Number(number) };
}
