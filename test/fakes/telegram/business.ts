/**
 * Accounts that people have connected to the bot, and what is written there (Bot API, business accounts). The refusals are
 * those that bots report: an unknown or disabled connection, and a chat whose other side has not written for a day.
 */
import { FakeChats, type FakeChat } from './chats.ts';
import { botMessage, personMessage } from './json.ts';
import { badRequest, type Params, textOf } from './refusal.ts';
import type { UpdateQueue } from './updates.ts';
import { UPLOADS } from './uploads.ts';

/** How long after a message of the other side the bot may answer. */
const ANSWER_MS = 24 * 3_600_000;

interface Account {
  id: string;
  owner: string;
  isEnabled: boolean;
  rights: Record<string, true>;
  /** The account's chats by the id of the other side. */
  chats: FakeChats;
  /** When each other side last wrote, in milliseconds. */
  writtenAt: Map<string, number>;
}

export class FakeBusiness {
  /** As the bot's settings at @BotFather are. */
  isOffered = true;
  readonly #updates: UpdateQueue;
  readonly #bot: { id: number; username: string };
  readonly #accounts = new Map<string, Account>();
  #count = 0;

  constructor(updates: UpdateQueue, bot: { id: number; username: string }) {
    this.#updates = updates;
    this.#bot = bot;
  }

  /** Someone connects the bot to their account; returns the id of the connection. */
  connects(owner: string, rights: Record<string, true> = { can_reply: true }): string {
    const id = `biz-${(this.#count += 1)}`;
    const account = { id, owner, isEnabled: true, rights, chats: new FakeChats(), writtenAt: new Map() };
    this.#accounts.set(id, account);
    this.#tell(account);
    return id;
  }

  /** They change what the bot may do, or disconnect it. `isSilent`: the update is lost. */
  changes(
    id: string,
    change: { isEnabled?: boolean; rights?: Record<string, true> },
    options: { isSilent?: boolean } = {},
  ): void {
    const account = Object.assign(this.#account(id), change);
    if (options.isSilent !== true) this.#tell(account);
  }

  /** Someone writes to the account, or its owner writes to them; returns the message's number. */
  says(id: string, contact: string, text: string, from = contact, fields: Params = {}): number {
    const account = this.#account(id);
    const chat = account.chats.open(contact);
    const message = account.chats.post(chat, text, { from });
    if (from === contact) account.writtenAt.set(contact, performance.now());
    if (account.isEnabled)
      this.#updates.add({ business_message: this.#json(account, chat, message.id, from, fields) });
    return message.id;
  }

  edits(id: string, contact: string, messageId: number, text: string): void {
    const account = this.#account(id);
    const chat = account.chats.open(contact);
    const message = chat.messages.get(messageId);
    if (message === undefined) throw new Error(`no message ${messageId} with ${contact}`);
    message.text = text;
    const edited = this.#json(account, chat, messageId, message.from ?? '', { edit_date: 1 });
    this.#updates.add({ edited_business_message: edited });
  }

  deletes(id: string, contact: string, messageId: number): void {
    const chat = { id: Number(contact), type: 'private', first_name: `Person ${contact}` };
    this.#account(id).chats.open(contact).messages.delete(messageId);
    this.#updates.add({
      deleted_business_messages: { business_connection_id: id, chat, message_ids: [messageId] },
    });
  }

  /** A day passes without a message of the other side. */
  fallsSilent(id: string, contact: string): void {
    this.#account(id).writtenAt.delete(contact);
  }

  /** What the other side sees of the owner, oldest first, whoever wrote it. */
  screen(id: string, contact: string): string[] {
    const chat = this.#account(id).chats.open(contact);
    const shown = [...chat.messages.values()].filter(({ from }) => from !== contact);
    return shown.map(({ file, text }) =>
      file === undefined ? text : `[${file.as} ${file.name}] ${text}`.trimEnd(),
    );
  }

  /** The texts that the bot's messages there have shown while they were written. */
  shown(id: string, contact: string): string[][] {
    const chat = this.#account(id).chats.open(contact);
    return [...chat.messages.values()].filter(({ fromBot }) => fromBot).map(({ shown }) => shown);
  }

  /** What the bot did there, such as typing. */
  actions(id: string, contact: string): string[] {
    return this.#account(id)
      .chats.open(contact)
      .actions.map(({ action }) => action);
  }

  /** Answers the calls about accounts; undefined for any other. Throws the server's refusals. */
  call(method: string, params: Params): unknown {
    const id = params['business_connection_id'];
    if (id === undefined) return undefined;
    const account = this.#accounts.get(textOf(id));
    if (account === undefined) throw badRequest('business connection not found');
    if (method === 'getBusinessConnection') return connectionJson(account);
    if (!account.isEnabled) throw badRequest('business connection not found');
    if (method === 'deleteBusinessMessages') return this.#delete(account, params);
    const { chats } = account;
    const contact = textOf(params['chat_id']);
    const writtenAt = account.writtenAt.get(contact);
    if (account.rights['can_reply'] !== true || chats.peek(contact) === undefined)
      throw badRequest('BUSINESS_PEER_INVALID');
    if (writtenAt === undefined || performance.now() - writtenAt > ANSWER_MS)
      throw badRequest('BUSINESS_PEER_USAGE_MISSING');
    // Bot API `InlineKeyboardButton.callback_data`: not supported in the name of an account.
    if (params['reply_markup'] !== undefined) throw badRequest('BUTTON_TYPE_INVALID');
    if (method === 'sendChatAction') return chats.act(params);
    const upload = UPLOADS.get(method);
    if (upload !== undefined) return botMessage(chats.sendFile(upload, params), this.#bot);
    if (method === 'sendMessage') return botMessage(chats.send(params), this.#bot);
    if (method === 'editMessageText') return botMessage(chats.edit(params), this.#bot);
    throw badRequest(`${method} takes no business_connection_id`);
  }

  #delete({ rights, chats }: Account, { message_ids: ids }: Params): true {
    if (rights['can_delete_outgoing_messages'] !== true) throw badRequest('BUSINESS_RIGHT_MISSING');
    if (!Array.isArray(ids) || ids.length === 0 || ids.length > 100)
      throw badRequest('wrong parameter message_ids');
    for (const contact of this.#contactsOf(chats)) for (const id of ids) contact.messages.delete(Number(id));
    return true;
  }

  *#contactsOf(chats: FakeChats): Generator<FakeChat> {
    for (const { writtenAt, chats: all } of this.#accounts.values())
      if (all === chats) for (const contact of writtenAt.keys()) yield chats.open(contact);
  }

  #account(id: string): Account {
    const account = this.#accounts.get(id);
    if (account === undefined) throw new Error(`no connection ${id}`);
    return account;
  }

  #tell(account: Account): void {
    this.#updates.add({ business_connection: connectionJson(account) });
  }

  #json(account: Account, chat: FakeChat, messageId: number, from: string, fields: Params): Params {
    const message = chat.messages.get(messageId);
    if (message === undefined) throw new Error(`no message ${messageId}`);
    return { business_connection_id: account.id, ...personMessage(chat, message, from, { fields }) };
  }
}

function connectionJson({ id, owner, isEnabled, rights }: Account): Params {
  const user = { id: Number(owner), is_bot: false, first_name: `Person ${owner}` };
  return { id, user, user_chat_id: Number(owner), date: 1, is_enabled: isEnabled, rights };
}
