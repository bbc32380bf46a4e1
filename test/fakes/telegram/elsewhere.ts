/** Chats where the bot is no member: inline queries, the results that people choose, and guest messages, as the Bot API has them. */
import { cleanVisible, readHtml } from './html.ts';
import { badRequest, type Params, textOf } from './refusal.ts';
import type { UpdateQueue } from './updates.ts';

interface Shown {
  text: string;
  hasKeyboard: boolean;
}

export class FakeElsewhere {
  readonly #updates: UpdateQueue;
  /** Open inline queries, and the answers to them. */
  readonly answers = new Map<string, { results: Params[]; button?: Params | undefined }>();
  /** Guest queries that wait for their answer. */
  readonly #guests = new Map<string, { chatId: string }>();
  /** The bot's messages by inline id, with the chat. */
  readonly #messages = new Map<string, Shown & { chatId: string }>();
  #count = 0;

  constructor(updates: UpdateQueue) {
    this.#updates = updates;
  }

  /** A person types a query after the bot's name; returns its id. */
  types(from: string, query: string): string {
    const id = `query-${(this.#count += 1)}`;
    this.#updates.add({ inline_query: { id, from: personOf(from), query, offset: '', chat_type: 'group' } });
    return id;
  }

  /** The person sends the one result of an answered query into a chat. Throws if there is none. */
  chooses(from: string, query: string, queryId: string, chatId: string): void {
    const [result] = this.answers.get(queryId)?.results ?? [];
    if (result === undefined) throw new Error(`no result for ${query}`);
    const id = `AAI${(this.#count += 1)}`;
    const { message_text: text } = result['input_message_content'] as Params;
    const hasKeyboard = result['reply_markup'] !== undefined;
    this.#messages.set(id, { chatId, text: textOf(text), hasKeyboard });
    // Telegram names the message only if it has a keyboard (Bot API `ChosenInlineResult`).
    const named = hasKeyboard ? { inline_message_id: id } : {};
    const chosen = { result_id: result['id'], from: personOf(from), query, ...named };
    this.#updates.add({ chosen_inline_result: chosen });
  }

  /** A person mentions the bot in a group where it is no member. */
  mentions(from: string, chatId: string, text: string): string {
    const id = `guest-${(this.#count += 1)}`;
    this.#guests.set(id, { chatId });
    const chat = { id: Number(chatId), type: 'supergroup', title: 'Foreign' };
    const message = { message_id: 7, date: 1, chat, from: personOf(from), text, guest_query_id: id };
    this.#updates.add({ guest_message: message });
    return id;
  }

  /** A guest query can no longer be answered. */
  expires(queryId: string): void {
    this.#guests.delete(queryId);
  }

  /** What people see of the bot's messages in such a chat. */
  screen(chatId: string): string[] {
    return [...this.#messages.values()].filter((one) => one.chatId === chatId).map(({ text }) => text);
  }

  /** Answers the calls about them; undefined for any other. Throws the server's refusals. */
  call(method: string, params: Params): unknown {
    if (method === 'answerInlineQuery') {
      const results = params['results'] as Params[];
      if (results.length > 50) throw badRequest('RESULTS_TOO_MUCH');
      this.answers.set(textOf(params['inline_query_id']), { results, button: params['button'] as Params });
      return true;
    }
    if (method === 'answerGuestQuery') return this.#answerGuest(params);
    const id = params['inline_message_id'];
    if (method !== 'editMessageText' || id === undefined) return undefined;
    const message = this.#messages.get(textOf(id));
    if (message === undefined) throw badRequest('MESSAGE_ID_INVALID');
    const text = visible(params['text'], params['parse_mode']);
    const hasKeyboard = params['reply_markup'] !== undefined;
    if (message.text === text && message.hasKeyboard === hasKeyboard)
      throw badRequest('message is not modified: specified new message content is the same');
    Object.assign(message, { text, hasKeyboard });
    return true;
  }

  #answerGuest({ guest_query_id: queryId, result }: Params): unknown {
    const guest = this.#guests.get(textOf(queryId));
    if (guest === undefined)
      throw badRequest('query is too old and response timeout expired or query ID is invalid');
    this.#guests.delete(textOf(queryId));
    const { message_text: text, parse_mode: mode } = (result as Params)['input_message_content'] as Params;
    const id = `AAG${(this.#count += 1)}`;
    this.#messages.set(id, { chatId: guest.chatId, text: visible(text, mode), hasKeyboard: false });
    return { inline_message_id: id };
  }
}

function personOf(id: string): Params {
  return { id: Number(id), is_bot: false, first_name: `Person ${id}`, language_code: 'en' };
}

function visible(text: unknown, mode: unknown): string {
  const shown = mode === 'HTML' ? cleanVisible(readHtml(textOf(text))).text : textOf(text);
  if (shown.trim() === '' || shown.length > 4_096) throw badRequest('message text is empty or too long');
  return shown;
}
