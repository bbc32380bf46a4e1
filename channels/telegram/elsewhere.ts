/**
 * Answers in chats where the bot is no member: inline mode and guest messages (Bot API 10). Such a chat has one message of
 * the bot, which is known only by its inline id. The thread of the question says so; anything else that is sent there
 * reaches the person who asked, in their private chat.
 */
import type { InlineQueryResultArticle } from 'grammy/types';
import type { OutboundPart } from '../../src/protocol/channel.ts';
import { ChannelError } from '../../src/protocol/errors.ts';
import type { Place, SentMessage } from '../../src/protocol/message.ts';
import type { Say } from '../../src/protocol/texts/say.ts';
import { clipEnd } from '../../src/lib/text.ts';
import type { BotApi } from './bot-api.ts';
import { formatOf, isNumber, textOf } from './call-options.ts';
import { isNotModified } from './errors.ts';

/** Ids of the bot's message there: that of an inline message, or of the guest query whose answer it will be. */
const INLINE = 'inline:';
const GUEST = 'guest:';
/** What the message shows until there is an answer. */
const WAITING = '…';
/** Longest text shown in the list of results, in UTF-16 units. */
const MAX_DESCRIPTION = 200;

/** The message that becomes the answer to a question of inline mode. */
export function inlineMessage(inlineId: string): SentMessage {
  return { id: `${INLINE}${inlineId}` };
}

/** The message that becomes the answer to a guest message: Telegram gives it an id with its first text. */
export function guestMessage(queryId: string): SentMessage {
  return { id: `${GUEST}${queryId}` };
}

/** True for the place of a question asked in a chat where the bot is no member. */
export function isElsewhere({ threadId }: Pick<Place, 'threadId'>): boolean {
  return threadId !== undefined && !isNumber(threadId);
}

/** Methods throw only `ChannelError`. */
export class ElsewhereMessages {
  readonly #bot: BotApi;

  constructor(bot: BotApi) {
    this.#bot = bot;
  }

  /** Shows a part in such a message; undefined for a message of the usual kind. */
  async edit(
    message: SentMessage,
    part: Pick<OutboundPart, 'body' | 'plain' | 'buttons'>,
  ): Promise<SentMessage | undefined> {
    const { id, metadata } = message;
    if (!id.startsWith(INLINE) && !id.startsWith(GUEST)) return undefined;
    const inlineId = metadata?.['inlineId'] ?? (id.startsWith(INLINE) ? id.slice(INLINE.length) : undefined);
    if (inlineId === undefined) return await this.#answerGuest(message, part);
    await this.#bot.call('editMessageText', async ({ raw }, limit) => {
      try {
        await raw.editMessageText(
          { inline_message_id: inlineId, text: textOf(part), ...formatOf(part) },
          limit,
        );
      } catch (error) {
        if (!isNotModified(error)) throw error;
      }
    });
    return message;
  }

  /** The one result of an inline query, which is the question itself; for a person without access, the way to the bot. */
  async answerInlineQuery(queryId: string, question: string, mayAsk: boolean, say: Say): Promise<void> {
    const article: InlineQueryResultArticle = {
      type: 'article',
      id: 'ask',
      title: say('inline.ask'),
      description: clipEnd(question, MAX_DESCRIPTION),
      input_message_content: { message_text: WAITING },
      // Only a message with a keyboard can be edited later.
      reply_markup: { inline_keyboard: [[{ text: WAITING, callback_data: 'inline' }]] },
    };
    const results = mayAsk && question.trim() !== '' && !question.startsWith('/') ? [article] : [];
    const button = { text: say('inline.access'), start_parameter: 'access' };
    await this.#bot.call('answerInlineQuery', ({ raw }, limit) =>
      raw.answerInlineQuery(
        { inline_query_id: queryId, results, cache_time: 0, is_personal: true, ...(!mayAsk && { button }) },
        limit,
      ),
    );
  }

  /** An answer whose query is too old is sent in the private chat of the person. */
  async #answerGuest(
    message: SentMessage,
    part: Pick<OutboundPart, 'body' | 'plain' | 'buttons'>,
  ): Promise<SentMessage> {
    const { parse_mode, link_preview_options, reply_markup } = formatOf(part);
    const content = { message_text: textOf(part), link_preview_options, ...(parse_mode && { parse_mode }) };
    const result: InlineQueryResultArticle = {
      type: 'article',
      id: 'answer',
      title: WAITING,
      input_message_content: content,
      ...(reply_markup && { reply_markup }),
    };
    const query = { guest_query_id: message.id.slice(GUEST.length), result };
    const { inline_message_id: inlineId } = await this.#bot
      .call('answerGuestQuery', ({ raw }, limit) => raw.answerGuestQuery(query, limit))
      .catch((error: unknown) => {
        if (!(error instanceof ChannelError) || error.code !== 'rejected') throw error;
        throw new ChannelError('message_gone', error.message, { cause: error });
      });
    return { ...message, metadata: { ...message.metadata, inlineId } };
  }
}
