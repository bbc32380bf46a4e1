/** Publishes the messages of a poll: in order within a chat, different chats in parallel. */
import { type GatewayError, toGatewayError } from '../../../src/protocol/errors.ts';
import type { Log } from '../../../src/protocol/log.ts';
import type { Receipt, Receive } from '../../../src/protocol/receive.ts';
import { forEachConcurrently } from '../../../src/lib/async/run-concurrently.ts';
import { joinParts, type Received } from './split-messages.ts';
import { type ChannelLanguages, sayToPerson } from '../../../src/protocol/texts/languages.ts';
import { type InboundMessage, userIdOf } from '../../../src/protocol/message.ts';

/** Chats of one batch that are published in parallel; within a chat messages are published one after another. */
export const CHATS_AT_ONCE = 16;

/** A message that permanently cannot be published is skipped after this many tries. */
export const PUBLISH_TRIES = 5;

/** A message that is not committed yet; with `callbackId` it is a press that Telegram expects an answer to. */
export interface PendingMessage extends Received {
  callbackId?: string | undefined;
}

/** A message with its parts, usually one. */
type PendingParts = readonly [PendingMessage, ...PendingMessage[]];

export interface PublisherParts {
  receive: Receive;
  log: Log;
  languages: ChannelLanguages;
  /** Shows a text to the person who pressed a button. Never throws. */
  answerPress: (callbackId: string, text: string) => Promise<void>;
}

export class Publisher {
  readonly #parts: PublisherParts;
  /** Failed tries of messages by update id; emptied with each batch that was published. */
  readonly #tries = new Map<number, number>();

  constructor(parts: PublisherParts) {
    this.#parts = parts;
  }

  /** Throws `GatewayError` if a message could not be committed, and the signal's reason, once nothing is being published any more. */
  async publish(messages: readonly PendingParts[], signal: AbortSignal): Promise<void> {
    const chats = Map.groupBy(messages, ([{ message }]) => message.chatId);
    await forEachConcurrently(chats.values(), CHATS_AT_ONCE, async (chat) => {
      for (const parts of chat) {
        const [{ id, message, callbackId }] = parts;
        signal.throwIfAborted();
        try {
          const receipt = await this.#parts.receive(joinParts(parts));
          if (isStoredOtherwise(receipt)) await this.#publishLate(parts);
          // The effect is committed: only now answer the press, with the reply.
          if (callbackId !== undefined) void this.#answer(callbackId, receipt, message);
        } catch (error) {
          this.#skipOrThrow(id, message.id, toGatewayError(error));
        }
      }
    });
    this.#tries.clear();
  }

  /**
   * Passes on the parts of a message that was committed with fewer of them, before a crash or a lost confirmation: it
   * stays unchanged, and the parts that came later form a separate message.
   */
  async #publishLate([first, ...rest]: PendingParts): Promise<void> {
    const { receive, log } = this.#parts;
    for (let left = 1; left <= rest.length; left += 1) {
      const [late, ...later] = rest.slice(-left);
      const before = await receive(joinParts([first, ...rest.slice(0, -left)]));
      if (late === undefined || before.kind !== 'duplicate' || isStoredOtherwise(before)) continue;
      if (isStoredOtherwise(await receive(joinParts([late, ...later]))))
        await this.#publishLate([late, ...later]);
      return;
    }
    if (rest.length > 0)
      log.warn({ messageId: first.message.id, parts: rest.length + 1 }, 'telegram_parts_differ');
  }

  /** Shows the reply to the person who pressed a button. Never throws. */
  async #answer(callbackId: string, receipt: Receipt, message: InboundMessage): Promise<void> {
    const { languages, answerPress } = this.#parts;
    const reply = 'reply' in receipt ? receipt.reply : undefined;
    const say = await sayToPerson(languages, userIdOf(message), message.language);
    await answerPress(callbackId, reply ?? say('press.not_answered'));
  }

  /** A message that can never be committed must not block the bot: after `PUBLISH_TRIES` it is skipped, with an error in the log. */
  #skipOrThrow(updateId: number, messageId: string, failure: GatewayError): void {
    if (failure.retryable) throw failure;
    const tries = (this.#tries.get(updateId) ?? 0) + 1;
    this.#tries.set(updateId, tries);
    if (tries < PUBLISH_TRIES) throw failure;
    this.#parts.log.error({ err: failure, messageId }, 'telegram_message_skipped');
  }
}

/** True for a message that is stored with another content. */
function isStoredOtherwise(receipt: Receipt): boolean {
  return receipt.kind === 'duplicate' && receipt.differs === true;
}
