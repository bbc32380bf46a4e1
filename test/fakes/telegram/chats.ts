/** The chats of the fake Bot API: who is in them, what is on screen, and every rule for sending and editing. */
import { type FakeButton, readKeyboard } from './buttons.ts';
import { cleanVisible, type FakeEntity, readHtml, type VisibleText } from './html.ts';
import { readRich } from './rich.ts';
import { badRequest, forbidden, type Params, Refusal, textOf } from './refusal.ts';
import { type FakeFile, MAX_CAPTION, readUpload } from './uploads.ts';

/** Longest text of a message, in UTF-16 units after entity parsing. */
const MAX_TEXT = 4_096;

/** A bot can delete only messages of the last 48 hours (Bot API `deleteMessage`). */
const DELETABLE_S = 48 * 3_600;

/** A message as its readers see it. */
export interface FakeMessage {
  id: number;
  fromBot: boolean;
  /** The person who wrote it; undefined for the bot's own. */
  from?: string;
  text: string;
  entities: FakeEntity[];
  buttons: FakeButton[];
  /** What the bot sent, markup included. */
  source: string;
  /** Every text this message has shown, oldest first. */
  shown: string[];
  /** When it showed each, by `performance.now()`. */
  shownAt: number[];
  threadId?: number;
  replyTo?: number;
  date: number;
  /** The bot's current reaction, and every one it ever showed. */
  reaction?: string;
  reactions?: string[];
  /** The structure of a rich message, of which `text` is what readers see. */
  rich?: unknown;
  /** Shown above the text, which is its caption. */
  file?: FakeFile;
}

export interface FakeChat {
  id: string;
  type: 'private' | 'group' | 'supergroup';
  isForum: boolean;
  topics: Set<number>;
  /** Set if the bot may not write here: the description of the 403. */
  closed?: string;
  /** Administrators allow only these reactions. */
  allowedReactions?: string[];
  /** The bot is an administrator: in a group it then receives reactions. */
  botIsAdmin?: boolean;
  /** Its person accepts no voice messages, as the privacy settings allow. */
  noVoice?: boolean;
  movedTo?: string;
  messages: Map<number, FakeMessage>;
  nextMessageId: number;
  /** Chat actions so far, with the thread they named. */
  actions: { action: string; threadId?: number }[];
}

/** All chats of one bot. */
export class FakeChats {
  /** Edits that were refused because the message already showed the text. */
  unmodified = 0;
  /** Like Telegram, numbers the messages of private chats and small groups together; else by chat. */
  sharesIds = false;
  #nextSharedId = 1;
  readonly #chats = new Map<string, FakeChat>();

  /** The chat, created if it is new; ids below zero are groups. */
  open(id: string, options: { topics?: number[] } = {}): FakeChat {
    const known = this.#chats.get(id);
    if (known) return known;
    const chat: FakeChat = {
      id,
      type: id.startsWith('-100') ? 'supergroup' : id.startsWith('-') ? 'group' : 'private',
      isForum: options.topics !== undefined,
      topics: new Set(options.topics),
      messages: new Map(),
      nextMessageId: 1,
      actions: [],
    };
    this.#chats.set(id, chat);
    return chat;
  }

  /** The chat a call names. Throws the server's refusals. */
  find(chatId: unknown): FakeChat {
    if (textOf(chatId) === '') throw badRequest('chat_id is empty');
    const chat = this.#chats.get(textOf(chatId));
    if (!chat) throw badRequest('chat not found');
    return chat;
  }

  peek(id: string): FakeChat | undefined {
    return this.#chats.get(id);
  }

  /** Adds a person's message to the chat; the bot's own are added by `send`. */
  post(
    chat: FakeChat,
    text: string,
    place: { from?: string; threadId?: number; replyTo?: number } = {},
  ): FakeMessage {
    return this.#add(chat, { fromBot: false, text, entities: [], buttons: [], source: text, ...place });
  }

  send(params: Params): { chat: FakeChat; message: FakeMessage } {
    const chat = this.find(params['chat_id']);
    assertWelcome(chat);
    const rich = params['rich_message'];
    const { text, entities } =
      rich === undefined
        ? readText(params, 'message is too long')
        : { text: readRich(rich).text, entities: [] };
    const buttons = readKeyboard(params);
    const at = placeOf(chat, params);
    const message = this.#add(chat, {
      fromBot: true,
      text,
      entities,
      buttons,
      source: rich === undefined ? textOf(params['text']) : JSON.stringify(rich),
      ...(rich !== undefined && { rich }),
      ...at,
    });
    return { chat, message };
  }

  /** A message with a file. */
  sendFile(as: FakeFile['as'], params: Params): { chat: FakeChat; message: FakeMessage } {
    const chat = this.find(params['chat_id']);
    assertWelcome(chat);
    const file = readUpload(as, params);
    if (as === 'voice' && chat.noVoice === true) throw badRequest('VOICE_MESSAGES_FORBIDDEN');
    const source = textOf(params['caption']);
    const caption = { text: source, parse_mode: params['parse_mode'] };
    const { text, entities } =
      source === ''
        ? { text: '', entities: [] }
        : readText(caption, 'message caption is too long', MAX_CAPTION);
    const at = placeOf(chat, params);
    const message = this.#add(chat, {
      fromBot: true,
      text,
      entities,
      buttons: readKeyboard(params),
      source,
      file,
      ...at,
    });
    return { chat, message };
  }

  edit(params: Params): { chat: FakeChat; message: FakeMessage } {
    const chat = this.find(params['chat_id']);
    assertWelcome(chat);
    if (params['message_id'] === undefined) throw badRequest('message identifier is not specified');
    const message = chat.messages.get(Number(params['message_id']));
    if (!message) throw badRequest('message to edit not found');
    if (!message.fromBot) throw badRequest("message can't be edited");
    const rich = params['rich_message'];
    const { text, entities } =
      rich === undefined ? readText(params, 'MESSAGE_TOO_LONG') : { text: readRich(rich).text, entities: [] };
    const buttons = readKeyboard(params);
    const { text: before, entities: marks, buttons: keyboard } = message;
    if (text === before && JSON.stringify([entities, buttons]) === JSON.stringify([marks, keyboard])) {
      this.unmodified += 1;
      throw badRequest(
        'message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message',
      );
    }
    message.shown.push(text);
    message.shownAt.push(performance.now());
    Object.assign(message, { text, entities, buttons, rich, source: textOf(params['text']) });
    return { chat, message };
  }

  remove(params: Params): true {
    const chat = this.find(params['chat_id']);
    assertWelcome(chat);
    if (params['message_id'] === undefined) throw badRequest('message identifier is not specified');
    const message = chat.messages.get(Number(params['message_id']));
    if (!message) throw badRequest('message to delete not found');
    const ageS = Date.now() / 1_000 - message.date;
    // In a private chat the bot may delete what people wrote, too; in groups it would have to be an administrator.
    const isForbidden = !message.fromBot && chat.type !== 'private';
    if (isForbidden || ageS > DELETABLE_S) throw badRequest("message can't be deleted");
    chat.messages.delete(message.id);
    return true;
  }

  act(params: Params): true {
    const chat = this.find(params['chat_id']);
    assertWelcome(chat);
    const action = params['action'];
    if (
      typeof action !== 'string' ||
      !/^(typing|upload_\w+|record_\w+|choose_sticker|find_location)$/.test(action)
    )
      throw badRequest('wrong parameter action in request');
    const threadId = threadOf(chat, params, true);
    chat.actions.push(threadId === undefined ? { action } : { action, threadId });
    return true;
  }

  #add(chat: FakeChat, message: Omit<FakeMessage, 'id' | 'date' | 'shown' | 'shownAt'>): FakeMessage {
    const isShared = this.sharesIds && chat.type !== 'supergroup';
    const id = isShared ? this.#nextSharedId : chat.nextMessageId;
    if (isShared) this.#nextSharedId += 1;
    chat.nextMessageId = id + 1;
    const shown = { shown: [message.text], shownAt: [performance.now()] };
    const whole = { ...message, ...shown, id, date: Math.floor(Date.now() / 1_000) };
    chat.messages.set(id, whole);
    return whole;
  }
}

/** Throws the server's refusal for a chat in which the bot may not write. */
export function assertWelcome(chat: FakeChat): void {
  if (chat.movedTo !== undefined) {
    throw new Refusal(400, 'Bad Request: group chat was upgraded to a supergroup chat', {
      migrate_to_chat_id: Number(chat.movedTo),
    });
  }
  if (chat.closed !== undefined) throw forbidden(chat.closed);
}

/** The visible text of a call. Throws the server's refusals of markup, emptiness and length. */
function readText(params: Params, tooLong: string, most = MAX_TEXT): VisibleText {
  const source = params['text'];
  if (source === undefined || source === '') throw badRequest('message text is empty');
  if (typeof source !== 'string') throw badRequest('wrong parameter text in request');
  if (!source.isWellFormed()) throw badRequest('strings must be encoded in UTF-8');
  const mode = params['parse_mode'];
  if (mode !== undefined && textOf(mode).toLowerCase() !== 'html') throw badRequest('unsupported parse_mode');
  const visible = cleanVisible(mode === undefined ? { text: source, entities: [] } : readHtml(source));
  if (visible.text === '') throw badRequest('message text is empty');
  if (visible.text.length > most) throw badRequest(tooLong);
  return visible;
}

/** The General topic (1) is named only by chat actions; a thread in a chat without topics is not found. */
export function threadOf(chat: FakeChat, params: Params, isAction: boolean): number | undefined {
  if (params['message_thread_id'] === undefined) return undefined;
  const threadId = Number(params['message_thread_id']);
  if (isAction && chat.isForum && threadId === 1) return threadId;
  if (!chat.topics.has(threadId)) throw badRequest('message thread not found');
  return threadId;
}

/** The thread and the message that a sent one belongs to. */
function placeOf(chat: FakeChat, params: Params): Pick<FakeMessage, 'threadId' | 'replyTo'> {
  const threadId = threadOf(chat, params, false);
  const replyTo = replyOf(chat, params);
  return { ...(threadId !== undefined && { threadId }), ...(replyTo !== undefined && { replyTo }) };
}

function replyOf(chat: FakeChat, params: Params): number | undefined {
  const reply = params['reply_parameters'];
  if (typeof reply !== 'object' || reply === null || !('message_id' in reply)) return undefined;
  const id = Number(reply.message_id);
  if (chat.messages.has(id)) return id;
  if ('allow_sending_without_reply' in reply && reply.allow_sending_without_reply === true) return undefined;
  throw badRequest('message to be replied not found');
}
