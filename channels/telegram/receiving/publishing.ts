/** Publishes what a poll has fetched: messages in order within a chat, different chats in parallel. */
import type { ChannelDeps } from '../../../src/protocol/channel.ts';
import { type ChannelError, type GatewayError, toGatewayError } from '../../../src/protocol/errors.ts';
import { addressOf, type InboundMessage, type SentMessage, userIdOf } from '../../../src/protocol/message.ts';
import type { Receipt, Receive } from '../../../src/protocol/receive.ts';
import { sayToPerson } from '../../../src/protocol/texts/languages.ts';
import { forEachConcurrently } from '../../../src/lib/async/run-concurrently.ts';
import { parseMarkdown } from '../../../src/lib/markdown/markdown.ts';
import type { BotApi } from '../bot-api.ts';
import { type BusinessChats, businessId } from '../business.ts';
import type { ElsewhereMessages } from '../elsewhere.ts';
import { renderTelegram } from '../render.ts';
import type { Topics } from '../topics.ts';
import type { Ignored, Inbound } from './inbound.ts';
import { joinParts, type Received } from './split-messages.ts';

/** Chats of one batch that are published in parallel; within a chat messages are published one after another. */
export const CHATS_AT_ONCE = 16;
/** A message that permanently cannot be published is skipped after this many tries. */
export const PUBLISH_TRIES = 5;

/** An update that was read, with its id; -1 if it has none. */
interface ReadUpdate {
  id: number;
  inbound: Inbound;
}

/** A message that is not committed yet; with `callbackId` it is a press that Telegram expects an answer to. */
interface PendingMessage extends Received {
  callbackId?: string | undefined;
}

/** A message with its parts, usually one. */
type PendingParts = readonly [PendingMessage, ...PendingMessage[]];

export interface PublisherParts extends ChannelDeps {
  bot: BotApi;
  topics: Topics;
  elsewhere: ElsewhereMessages;
  business: BusinessChats;
  receive: Receive;
}

export class Publisher {
  readonly #parts: PublisherParts;
  /** Failed tries of messages by update id; emptied with each batch that was published. */
  readonly #tries = new Map<number, number>();

  constructor(parts: PublisherParts) {
    this.#parts = parts;
  }

  /** Acts on what is no message, before the batch's messages. Throws `GatewayError` to be retried without the store. */
  async act(batch: readonly ReadUpdate[]): Promise<void> {
    const { gateway, topics } = this.#parts;
    for (const [index, { id, inbound }] of batch.entries()) {
      switch (inbound.kind) {
        case 'moved': {
          const move = { channel: 'telegram', from: inbound.from, to: inbound.to };
          await this.#try('chat_migration_failed', () => gateway.chatMoved(move));
          break;
        }
        case 'membership':
          if (!isSuperseded(batch.slice(index + 1), inbound.change.chatId))
            await this.#try('membership_failed', () => gateway.membershipChanged(inbound.change));
          break;
        case 'topic':
          await topics.note(inbound.topic);
          break;
        case 'inline':
          await this.#try('telegram_inline_query_unanswered', () => this.#answerInline(inbound));
          break;
        case 'business_deleted':
          await this.#try('telegram_deletion_not_noted', () => this.#noteDeleted(inbound));
          break;
        case 'ignored':
          this.#noteIgnored(id, inbound);
          break;
        case 'button':
          if (inbound.message === undefined) void this.#answerPress(inbound.callbackId, undefined);
          break;
        case 'connection':
        case 'business':
        case 'message':
          break;
        default:
          inbound satisfies never;
      }
    }
  }

  /**
   * The batch with what was written to owners of connected accounts as messages, each under the rights that the bot had when
   * it was written. Throws `GatewayError` to be retried.
   */
  async inOwnersName(batch: readonly ReadUpdate[]): Promise<ReadUpdate[]> {
    const { business, log } = this.#parts;
    const whole: ReadUpdate[] = [];
    for (const { id, inbound } of batch) {
      if (inbound.kind === 'connection')
        await this.#try('telegram_connection_not_noted', () => business.note(inbound.connection));
      if (inbound.kind !== 'business') {
        whole.push({ id, inbound });
        continue;
      }
      const { received, ...chat } = inbound;
      const message = await business.resolve({ ...chat, message: received.message });
      if (typeof message === 'string') log.info({ updateId: id, reason: message }, 'telegram_update_ignored');
      else whole.push({ id, inbound: { ...received, message } });
    }
    return whole;
  }

  /** Publishes messages. Throws `GatewayError` or the signal's reason, once nothing is being published any more. */
  async publish(messages: readonly PendingParts[], signal: AbortSignal): Promise<void> {
    const chats = Map.groupBy(messages, ([{ message }]) => message.chatId);
    await forEachConcurrently(chats.values(), CHATS_AT_ONCE, async (chat) => {
      for (const parts of chat) {
        const [{ id, message, callbackId }] = parts;
        signal.throwIfAborted();
        try {
          // In a chat of others, strangers are not offered access.
          if (message.isGuest === true && !(await this.#parts.gateway.mayWrite(message))) continue;
          const receipt = await this.#parts.receive(joinParts(parts));
          if (isStoredOtherwise(receipt)) await this.#publishLate(parts);
          // The effect is committed: only now answer the press, with the reply.
          if (callbackId !== undefined) void this.#showReply(callbackId, receipt, message);
          if (message.placeholder !== undefined) void this.#showElsewhere(message.placeholder, receipt);
        } catch (error) {
          this.#skipOrThrow(id, message.id, toGatewayError(error));
        }
      }
    });
    this.#tries.clear();
  }

  /** Publishes what came after a message was committed without it, before a crash: the late parts as a separate message. */
  async #publishLate([first, ...rest]: PendingParts): Promise<void> {
    const { receive, log } = this.#parts;
    for (let count = 1; count <= rest.length; count += 1) {
      const [late, ...more] = rest.slice(-count);
      const receipt = await receive(joinParts([first, ...rest.slice(0, -count)]));
      if (late === undefined || receipt.kind !== 'duplicate' || isStoredOtherwise(receipt)) continue;
      if (isStoredOtherwise(await receive(joinParts([late, ...more]))))
        await this.#publishLate([late, ...more]);
      return;
    }
    if (rest.length > 0)
      log.warn({ messageId: first.message.id, parts: rest.length + 1 }, 'telegram_parts_differ');
  }

  /** Telegram forgets an inline query within seconds: one that cannot be answered now is not retried. */
  async #answerInline({ queryId, message }: Extract<Inbound, { kind: 'inline' }>): Promise<void> {
    const { elsewhere, gateway, languages, log } = this.#parts;
    const say = await sayToPerson(languages, userIdOf(message), message.language);
    const mayAsk = await gateway.mayWrite(message);
    await elsewhere
      .answerInlineQuery(queryId, message.content, mayAsk, say)
      .catch((error: ChannelError) => log.info({ err: error }, 'telegram_inline_query_unanswered'));
  }

  /** Shows what the gateway says to a question that does not become a turn, where the answer would be. Never throws. */
  async #showElsewhere(placeholder: SentMessage, receipt: Receipt): Promise<void> {
    const { elsewhere, log } = this.#parts;
    if (!('reply' in receipt) || receipt.reply === undefined) return;
    const body = renderTelegram(parseMarkdown(receipt.reply), new Set());
    await elsewhere
      .edit(placeholder, { body, buttons: [] })
      .catch((error: ChannelError) => log.warn({ err: error }, 'telegram_reply_unshown'));
  }

  async #showReply(callbackId: string, receipt: Receipt, message: InboundMessage): Promise<void> {
    const reply = 'reply' in receipt ? receipt.reply : undefined;
    const say = await sayToPerson(this.#parts.languages, userIdOf(message), message.language);
    await this.#answerPress(callbackId, reply ?? say('press.not_answered'));
  }

  /** Stops the spinner of a button, and shows a text, if there is one. Never throws. */
  async #answerPress(callbackId: string, text: string | undefined): Promise<void> {
    const { bot, log } = this.#parts;
    await bot
      .answerPress(callbackId, text)
      .catch((error: ChannelError) => log.warn({ err: error }, 'telegram_press_unanswered'));
  }

  /** A message that can never be committed must not block the bot: after `PUBLISH_TRIES` it is skipped, with an error in the log. */
  #skipOrThrow(updateId: number, messageId: string, failure: GatewayError): void {
    if (failure.retryable) throw failure;
    const tries = (this.#tries.get(updateId) ?? 0) + 1;
    this.#tries.set(updateId, tries);
    if (tries < PUBLISH_TRIES) throw failure;
    this.#parts.log.error({ err: failure, messageId }, 'telegram_message_skipped');
  }

  async #noteDeleted({
    connectionId,
    messageIds,
  }: Extract<Inbound, { kind: 'business_deleted' }>): Promise<void> {
    const { business, gateway } = this.#parts;
    const chatId = await business.ownerOf(connectionId);
    if (chatId !== undefined)
      await gateway.messagesDeleted({ channel: 'telegram', chatId, messageIds: messageIds.map(businessId) });
  }

  /** Throws temporary failures, to be retried; any other failure is logged and must not stop receiving. */
  async #try(event: string, act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      const failure = toGatewayError(error);
      if (failure.retryable) throw failure;
      this.#parts.log.error({ err: failure }, event);
    }
  }

  #noteIgnored(updateId: number, { reason, from }: Ignored): void {
    const { log, gateway } = this.#parts;
    log.debug({ updateId, reason }, 'telegram_update_ignored');
    if (from === undefined) return;
    const { senderId, chatId, threadId } = from;
    const address = addressOf({ channel: 'telegram', chatId, threadId });
    gateway.noteRefusal({ address, senderId, code: 'ignored', detail: reason });
  }
}

/** The messages of a batch, in their order. */
export function messagesOf(batch: readonly ReadUpdate[]): PendingMessage[] {
  return batch.flatMap(({ id, inbound }): PendingMessage[] => {
    if (inbound.kind === 'button' && inbound.message !== undefined)
      return [{ id, message: inbound.message, callbackId: inbound.callbackId }];
    return inbound.kind === 'message' ? [{ ...inbound, id }] : [];
  });
}

/** A batch may arrive twice: someone may have added the bot again and written since, and that must not be stopped. */
function isSuperseded(rest: readonly ReadUpdate[], chatId: string): boolean {
  return rest.some(({ inbound }) => inbound.kind === 'membership' && inbound.change.chatId === chatId);
}

/** True for a message that is stored with another content. */
function isStoredOtherwise(receipt: Receipt): boolean {
  return receipt.kind === 'duplicate' && receipt.differs === true;
}
