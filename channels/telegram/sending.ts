/** Sends, edits and deletes messages, and remembers what Telegram refuses and which sends may have arrived unnoticed. */
import type { LostSends, OutboundFile, OutboundPart, Rendered } from '../../src/protocol/channel.ts';
import { ChannelError } from '../../src/protocol/errors.ts';
import type { Place, SentMessage } from '../../src/protocol/message.ts';
import type { BotApi } from './bot-api.ts';
import { type BusinessChats, businessId, numberOf } from './business.ts';
import {
  draftIdOf,
  fileOptions,
  formatOf,
  keyboardOf,
  placeOf,
  richOf,
  textOf,
  topicOf,
  uploadLimitMs,
  uploadMethods,
  withInput,
} from './call-options.ts';
import { isDeleted, isNotModified } from './errors.ts';
import type { ElsewhereMessages } from './elsewhere.ts';
import { type HiddenMessages, visible } from './hidden-messages.ts';
import type { RichKind, WholeAnswers } from './rich-message.ts';

/** Maximum number of lost sends remembered; whatever the oldest one left then stays on screen. */
export const MAX_LOST = 500;
/** Maximum number of message ids remembered, over all chats. */
const MAX_SEEN = 5_000;
/** Ids that one lost send may have: the first unknown ones after it. */
export const MAX_COPIES = 8;

/** Supergroups and channels number their messages individually; all other chats of a bot share one numbering. */
const numberingOf = (chatId: string): string => (chatId.startsWith('-100') ? chatId : 'shared');

/** Sends whose answers were lost: works out their ids once a later message of the chat is known. */
export class TelegramLostSends implements LostSends {
  readonly #newest = new Map<string, number>();
  readonly #seen = new Set<string>();
  /** By nonce; `after` is the newest message when it was sent, undefined if none was known. */
  readonly #lost = new Map<string, { chatId: string; after: number | undefined }>();

  note(chatId: string, messageId: string): void {
    const id = Number(messageId);
    if (!Number.isSafeInteger(id)) return;
    const numbering = numberingOf(chatId);
    this.#newest.set(numbering, Math.max(id, this.#newest.get(numbering) ?? 0));
    this.#seen.add(`${numbering} ${id}`);
    forgetOldest(this.#seen, MAX_SEEN);
    // There are as many numberings as groups.
    forgetOldest(this.#newest, MAX_SEEN);
  }

  /** Anything sent to the chat from now on has a higher id. */
  newest(chatId: string): number | undefined {
    return this.#newest.get(numberingOf(chatId));
  }

  /** The answer to a send was lost; `after` is what `newest` returned before it. Only the first loss of a nonce counts. */
  add(nonce: string, chatId: string, after: number | undefined): void {
    if (!this.#lost.has(nonce)) this.#lost.set(nonce, { chatId, after });
    forgetOldest(this.#lost, MAX_LOST);
  }

  copiesOf(nonce: string, message: SentMessage): SentMessage[] {
    const loss = this.#lost.get(nonce);
    const end = Number(message.id);
    if (loss === undefined || !Number.isSafeInteger(end)) return [];
    const numbering = numberingOf(loss.chatId);
    const copies: SentMessage[] = [];
    const first = Math.max(1, (loss.after ?? end - MAX_COPIES - 1) + 1);
    for (let id = first; id < end && copies.length < MAX_COPIES; id += 1)
      if (!this.#seen.has(`${numbering} ${id}`)) copies.push({ id: String(id) });
    return copies;
  }

  forgetNonce(nonce: string): void {
    this.#lost.delete(nonce);
  }
}

function forgetOldest(entries: Set<string> | Map<string, unknown>, most: number): void {
  const oldest = entries.keys().next().value;
  if (entries.size > most && oldest !== undefined) entries.delete(oldest);
}

/** Puts messages on screen. Methods throw only `ChannelError`. */
export class Sending {
  readonly #bot: BotApi;
  readonly #hidden: HiddenMessages;
  readonly #elsewhere: ElsewhereMessages;
  readonly #business: BusinessChats;
  readonly #whole: WholeAnswers;
  readonly #lostSends: TelegramLostSends;

  constructor(
    bot: BotApi,
    parts: {
      hiddenMessages: HiddenMessages;
      elsewhere: ElsewhereMessages;
      business: BusinessChats;
      whole: WholeAnswers;
      lostSends: TelegramLostSends;
    },
  ) {
    this.#bot = bot;
    this.#hidden = parts.hiddenMessages;
    this.#elsewhere = parts.elsewhere;
    this.#business = parts.business;
    this.#whole = parts.whole;
    this.#lostSends = parts.lostSends;
  }

  async send(part: OutboundPart): Promise<SentMessage> {
    const hiddenMessage = await this.#hidden.send(part);
    if (hiddenMessage !== undefined) return hiddenMessage;
    const ownersChat = part.isAnswer === true ? await this.#business.targetOf(part) : undefined;
    // Telegram accepts no buttons there, and does not number the messages with those of the bot.
    if (ownersChat !== undefined)
      return { id: businessId(await sendPart(this.#bot, { ...part, buttons: [] }, ownersChat)) };
    const { chatId, nonce } = part;
    const newest = this.#lostSends.newest(chatId);
    try {
      const target = { chat_id: chatId, ...placeOf(visible(part)) };
      const message = { id: String(await sendPart(this.#bot, part, target)) };
      this.#lostSends.note(chatId, message.id);
      return message;
    } catch (error) {
      if (error instanceof ChannelError && error.code === 'outcome_unknown')
        this.#lostSends.add(nonce, chatId, newest);
      return await this.#noteRefusal(part, part.body.rich, error);
    }
  }

  async sendFile(file: OutboundFile): Promise<SentMessage> {
    const ownersChat = file.isAnswer === true ? await this.#business.targetOf(file) : undefined;
    if (ownersChat !== undefined) return { id: businessId(await sendFile(this.#bot, file, ownersChat)) };
    const id = String(await sendFile(this.#bot, file, { chat_id: file.chatId, ...placeOf(file) }));
    this.#lostSends.note(file.chatId, id);
    return { id };
  }

  /** `editMessageText`; "not modified" is success. */
  async edit(message: SentMessage, part: OutboundPart): Promise<SentMessage> {
    if (await this.#hidden.edit(message, part)) return message;
    const shownElsewhere = await this.#elsewhere.edit(message, part);
    if (shownElsewhere !== undefined) return shownElsewhere;
    const number = numberOf(message.id);
    const chat = number === undefined ? { chat_id: part.chatId } : await this.#business.targetOf(part);
    const target = { ...chat, message_id: number ?? Number(message.id) };
    const buttons = number === undefined ? part.buttons : [];
    const call = this.#bot.call('editMessageText', async ({ raw }, limit) => {
      try {
        const content =
          part.body.rich === true
            ? { rich_message: richOf(part.body), ...keyboardOf(buttons) }
            : { text: textOf(part), ...formatOf({ ...part, buttons }) };
        await raw.editMessageText({ ...target, ...content }, limit);
      } catch (error) {
        if (!isNotModified(error)) throw error;
      }
    });
    await call.catch((error: unknown) => this.#noteRefusal(part, part.body.rich, error));
    return message;
  }

  /** `deleteMessage`; a message that is already gone counts as success. Telegram keeps messages older than 48 hours. */
  async delete(message: SentMessage, place: Place): Promise<void> {
    if (await this.#hidden.delete(message, place)) return;
    const number = numberOf(message.id);
    if (number !== undefined) return await this.#deleteForOwner(number, place);
    if (!/^\d+$/.test(message.id))
      throw new ChannelError('rejected', 'Telegram does not let a bot delete a message in a chat of others.');
    await this.#bot.call('deleteMessage', async (api, limit) => {
      try {
        await api.deleteMessage(place.chatId, Number(message.id), limit);
      } catch (error) {
        if (!isDeleted(error)) throw error;
      }
    });
  }

  /** `deleteBusinessMessages`, which needs a right of its own. */
  async #deleteForOwner(number: number, place: Place): Promise<void> {
    const { business_connection_id: id = '' } = (await this.#business.targetOf(place)) ?? {};
    await this.#bot.call('deleteBusinessMessages', (api, limit) =>
      api.deleteBusinessMessages(id, [number], limit),
    );
  }

  /** `sendMessageDraft`: a text in place of the coming message, for 30 s; an empty one shows "Thinking…". Its button stops the turn. */
  async draft(place: Place, turnId: string, body: Rendered, plain: boolean): Promise<void> {
    const target = { chat_id: Number(place.chatId), ...topicOf(place.threadId) };
    const draft = { ...target, draft_id: draftIdOf(turnId), can_stop: true };
    const text = textOf({ body, plain });
    const parse_mode = plain || text === '' ? undefined : ('HTML' as const);
    const call =
      body.rich === true
        ? this.#bot.call('sendRichMessageDraft', ({ raw }, limit) =>
            raw.sendRichMessageDraft({ ...draft, rich_message: richOf(body) }, limit),
          )
        : this.#bot.call('sendMessageDraft', ({ raw }, limit) =>
            raw.sendMessageDraft({ ...draft, text, parse_mode }, limit),
          );
    await call.catch((error: unknown) => this.#noteRefusal(place, body.rich, error, 'rich_drafts'));
  }

  /** Remembers where Telegram refuses rich messages, and throws the error again. */
  async #noteRefusal(
    place: Place,
    isRich: true | undefined,
    error: unknown,
    kind: RichKind = 'rich_messages',
  ): Promise<never> {
    const isRefusal = error instanceof ChannelError && ['rejected', 'bad_markup'].includes(error.code);
    if (isRich === true && isRefusal) await this.#whole.noteRefusal(place, kind);
    throw error;
  }
}

/** `sendMessage`. Not tried during an outage, so that it cannot be applied without an answer: `unavailable`. */
async function sendPart(bot: BotApi, part: OutboundPart, target: { chat_id: string }): Promise<number> {
  await bot.ensureReachable();
  const { message_id: id } =
    part.body.rich === true
      ? await bot.call('sendRichMessage', ({ raw }, limit) => {
          const content = { rich_message: richOf(part.body), ...keyboardOf(part.buttons) };
          return raw.sendRichMessage({ ...target, ...content }, limit);
        })
      : await bot.call('sendMessage', ({ raw }, limit) =>
          raw.sendMessage({ ...target, text: textOf(part), ...formatOf(part) }, limit),
        );
  return id;
}

/** `sendPhoto` and the like; a refused file is sent as a document, a caption that cannot be parsed without markup. */
async function sendFile(bot: BotApi, file: OutboundFile, target: { chat_id: string }): Promise<number> {
  await bot.ensureReachable();
  const limitMs = bot.callTimeoutMs + uploadLimitMs(file.bytes);
  let [method, ...others] = uploadMethods(file);
  let plain = false;
  for (;;) {
    try {
      const options = fileOptions(target, file, plain);
      const message = await withInput(file, (input) =>
        bot.call(
          method.name,
          ({ raw }, limit) => method.send(raw, options, input, limit),
          undefined,
          limitMs,
        ),
      );
      return message.message_id;
    } catch (error) {
      const code = error instanceof ChannelError ? error.code : undefined;
      const [next, ...rest] = others;
      if (code === 'bad_markup' && !plain) plain = true;
      else if (code === 'rejected' && next !== undefined) [method, others] = [next, rest];
      else throw error;
    }
  }
}
