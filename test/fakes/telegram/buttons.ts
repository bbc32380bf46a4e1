/** Inline keyboards and their presses, with the Bot API's limits. */
import { badRequest, type Params, textOf } from './refusal.ts';

/** One button: its label, and the data it sends. */
export interface FakeButton {
  text: string;
  data: string;
  style?: string;
  /** Pressing it copies this. */
  copy?: string;
}

/** A press that is not answered within this time can no longer be answered. */
const ANSWER_MS = 15_000;
const MAX_DATA_BYTES = 64;
const MAX_ANSWER = 200;

/** The buttons of a call, in one list. Throws the server's refusals. */
export function readKeyboard(params: Params): FakeButton[] {
  const markup = params['reply_markup'];
  if (markup === undefined) return [];
  if (typeof markup !== 'object' || markup === null || !('inline_keyboard' in markup))
    throw badRequest('object expected as reply markup');
  const rows = markup.inline_keyboard;
  if (!Array.isArray(rows) || !rows.every(Array.isArray))
    throw badRequest('field "inline_keyboard" of the InlineKeyboardMarkup must be an Array of Arrays');
  return rows.flat().map((button: unknown) => {
    const { text, callback_data: data, copy_text: copied, style } = (button ?? {}) as Params;
    if (style !== undefined && !['danger', 'success', 'primary'].includes(textOf(style)))
      throw badRequest("can't parse inline keyboard button: wrong style");
    if (textOf(text) === '') throw badRequest("can't parse inline keyboard button: Text is empty");
    const { text: copy } = (copied ?? {}) as Params;
    if (copied !== undefined && data === undefined) {
      if (!/^.{1,256}$/su.test(textOf(copy))) throw badRequest('BUTTON_COPY_TEXT_INVALID');
      return { text: textOf(text), data: '', copy: textOf(copy) };
    }
    if (typeof data !== 'string')
      throw badRequest(
        "can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard",
      );
    const bytes = Buffer.byteLength(data);
    if (bytes === 0 || bytes > MAX_DATA_BYTES) throw badRequest('BUTTON_DATA_INVALID');
    return { text: textOf(text), data, ...(style !== undefined && { style: textOf(style) }) };
  });
}

/** Presses that wait for their answers, and the answers that were shown. */
export class FakePresses {
  /** The texts shown for presses, by the id of the press; '' if it was answered without a text. */
  readonly answers = new Map<string, string>();
  #count = 0;
  readonly #open = new Map<string, number>();

  /** A new press; returns its id. */
  open(): string {
    this.#count += 1;
    const id = String(4_000_000 + this.#count);
    this.#open.set(id, performance.now());
    return id;
  }

  /** `answerCallbackQuery`. */
  answer(params: Params): true {
    const id = textOf(params['callback_query_id']);
    const at = this.#open.get(id);
    this.#open.delete(id);
    if (at === undefined || performance.now() - at > ANSWER_MS)
      throw badRequest('query is too old and response timeout expired or query ID is invalid');
    const text = textOf(params['text']);
    if (text.length > MAX_ANSWER) throw badRequest('MESSAGE_TOO_LONG');
    this.answers.set(id, text);
    return true;
  }
}
