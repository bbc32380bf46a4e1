/**
 * Chats of owners who have connected the bot to their account (Bot API, business accounts): the bot answers whoever writes
 * to them, in their name. The place of such a chat is a thread of the owner's private chat with the bot, so that everything
 * but an answer is shown to the owner there. Who writes has an id of this chat alone, and none of their rights elsewhere.
 */
import type { z } from 'zod';
import type { ChannelDeps } from '../../src/protocol/channel.ts';
import { ChannelError } from '../../src/protocol/errors.ts';
import { addressOf, type InboundMessage, type Place } from '../../src/protocol/message.ts';
import { TtlCache } from '../../src/lib/ttl-cache.ts';
import type { BotApi } from './bot-api.ts';
import type { businessConnection } from './receiving/update.ts';

const THREAD = /^business(\d{1,20})$/;
/** Ids of messages in such chats: an account numbers its messages by itself. */
const MESSAGE = /^business:(\d+)$/;
/** Name under which the id of an owner's connection is stored. */
const SETTING = 'business_connection';
/** How long a connection that Telegram has described is not asked for again; Telegram reports each change of one. */
const CONNECTION_MS = 60_000;
const MAX_CONNECTIONS = 1_000;

type BusinessConnection = z.output<typeof businessConnection>;

/** The parameters that name such a chat in a call. */
export interface BusinessTarget {
  business_connection_id: string;
  chat_id: string;
}

/** A message in a chat of an account; `message` is as if it stood in a private chat of the bot. */
export interface BusinessMessage {
  connectionId: string;
  contactId: string;
  message: InboundMessage;
}

/** True for the place of a chat in which the bot answers in its owner's name. */
export function isBusiness({ threadId }: Pick<Place, 'threadId'>): boolean {
  return threadId !== undefined && THREAD.test(threadId);
}

/** The id of a message in such a chat. */
export function businessId(messageId: string | number): string {
  return `business:${messageId}`;
}

/** The number of such a message in its account; undefined for any other. */
export function numberOf(messageId: string): number | undefined {
  const [, number] = MESSAGE.exec(messageId) ?? [];
  return number === undefined ? undefined : Number(number);
}

/** The connections of owners. Methods throw only `ChannelError` and `StoreError`. */
export class BusinessChats {
  readonly #bot: BotApi;
  readonly #deps: Pick<ChannelDeps, 'chatSettings' | 'owners' | 'log'>;
  readonly #connections: TtlCache<BusinessConnection>;

  constructor(
    bot: BotApi,
    deps: Pick<ChannelDeps, 'chatSettings' | 'owners' | 'log'>,
    monotonicNow: () => number,
  ) {
    this.#bot = bot;
    this.#deps = deps;
    this.#connections = new TtlCache(CONNECTION_MS, MAX_CONNECTIONS, monotonicNow);
  }

  /** An account was connected or disconnected, or its owner has changed what the bot may do. */
  async note(connection: BusinessConnection): Promise<void> {
    const { id, user } = connection;
    this.#connections.set(id, connection);
    if (!(await this.#deps.owners()).includes(user.id)) return;
    const value = mayReply(connection) ? id : undefined;
    await this.#deps.chatSettings.setChatSetting(keyOf(user.id), SETTING, value);
    this.#deps.log.info({ userId: user.id, mayReply: value !== undefined }, 'telegram_account_connected');
  }

  /** The message as the gateway gets it, or why it is not answered. */
  async resolve({ connectionId, contactId, message }: BusinessMessage): Promise<InboundMessage | string> {
    const connection = await this.#connection(connectionId);
    if (connection === undefined || !mayReply(connection))
      return 'in an account that does not let the bot reply';
    const ownerId = connection.user.id;
    if (!(await this.#deps.owners()).includes(ownerId)) return 'in the account of someone who is no owner';
    const isOwners = message.senderId === ownerId;
    const { messageId } = message;
    return {
      ...message,
      chatId: ownerId,
      threadId: `business${contactId}`,
      senderId: isOwners ? ownerId : `contact${contactId}`,
      onBehalfOf: ownerId,
      place: 'group',
      mentioned: !isOwners,
      messageId: messageId === undefined ? undefined : businessId(messageId),
      replyTo: undefined,
    };
  }

  /** Where the owner's account has this chat now; undefined for other places. Throws `blocked` if the bot may not reply there. */
  async targetOf({ chatId, threadId = '' }: Place): Promise<BusinessTarget | undefined> {
    const [, contactId] = THREAD.exec(threadId) ?? [];
    if (contactId === undefined) return undefined;
    const id = await this.#deps.chatSettings.chatSetting(keyOf(chatId), SETTING);
    if (id !== undefined) return { business_connection_id: id, chat_id: contactId };
    throw new ChannelError(
      'blocked',
      `The account of ${chatId} is no longer connected to this bot, or does not let it reply.`,
    );
  }

  /** The owner whose account it is; undefined for one that is not connected. */
  async ownerOf(connectionId: string): Promise<string | undefined> {
    return (await this.#connection(connectionId))?.user.id;
  }

  /** `getBusinessConnection`; undefined for one that Telegram does not know. */
  async #connection(id: string): Promise<BusinessConnection | undefined> {
    const cached = this.#connections.get(id);
    if (cached !== undefined) return cached;
    try {
      const { user, is_enabled, rights } = await this.#bot.call('getBusinessConnection', (api, limit) =>
        api.getBusinessConnection(id, limit),
      );
      const { id: userId, is_bot } = user;
      await this.note({ id, user: { id: String(userId), is_bot }, is_enabled, rights });
    } catch (error) {
      if (!(error instanceof ChannelError) || error.retryable || error.code === 'unauthorized') throw error;
      this.#deps.log.info({ err: error }, 'telegram_account_unknown');
    }
    return this.#connections.get(id);
  }
}

function mayReply({ is_enabled: isEnabled, rights }: BusinessConnection): boolean {
  return isEnabled && rights?.can_reply === true;
}

/** The owner's private chat with the bot, which has the id of the owner. */
function keyOf(chatId: string): `${string}:${string}` {
  return addressOf({ channel: 'telegram', chatId });
}
