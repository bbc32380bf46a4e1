/** Long polling that advances Telegram's offset only past committed messages, and reconnects after any failure. */
import { ChannelError, toGatewayError } from '../../src/contracts/errors.ts';
import type { GatewayError } from '../../src/contracts/errors.ts';
import type { ChannelHealth } from '../../src/contracts/gateway-api.ts';
import { backoffMs } from '../../src/lib/backoff.ts';
import { sleep } from '../../src/lib/sleep.ts';
import type { Log } from '../../src/contracts/log.ts';
import type { BotApi } from './bot-api.ts';
import { toInbound } from './inbound.ts';
import type { Reader } from './inbound.ts';
import { toMenu } from './menu.ts';
import type { InboundMessage } from '../../src/contracts/message.ts';
import type { FollowChatMigration } from '../../src/contracts/message.ts';
import type { CommandListing } from '../../src/contracts/command.ts';
import type { Receipt, Receive } from '../../src/contracts/receive.ts';

/** Waits of the poller, in milliseconds. */
export interface PollTiming {
  /** How long Telegram may hold a poll open; it allows up to 50 s. */
  longPollMs: number;
  /** A poll that takes longer is aborted and repeated. */
  stallMs: number;
  /** First and longest wait after a failure. With the cap, polling resumes within 35 s after a competing poller (409) has stopped. */
  backoffMs: number;
  backoffCapMs: number;
  /** Longest wait of `stop` for messages that are being published. */
  lastPublishMs: number;
}

export const POLL_TIMING: PollTiming = {
  longPollMs: 30_000,
  stallMs: 90_000,
  backoffMs: 1_000,
  backoffCapMs: 30_000,
  lastPublishMs: 5_000,
};

/** Chats of one batch that are published at the same time; within a chat messages are published one after another. */
export const CHATS_AT_ONCE = 16;

/** A message that cannot be published for a reason that does not pass is skipped after this many tries. */
export const PUBLISH_TRIES = 5;

/** Shown to people whose presses are refused. */
const NOT_HERE = 'This bot does not answer you here.';

/** A message that is not committed yet; with `callbackId` it is a press that Telegram waits to have answered. */
interface PendingMessage {
  id: number;
  message: InboundMessage;
  callbackId: string | undefined;
}

/** Dependencies of the poller. */
export interface PollerParts {
  bot: BotApi;
  receive: Receive;
  /** Called with a group's new id; its messages are published only afterwards. */
  chatMoved: FollowChatMigration;
  /** Commands that people can write with a `/`. */
  commands: readonly CommandListing[];
  log: Log;
  timing: PollTiming;
  setHealth: (health: ChannelHealth) => void;
}

/** Receives until stopped or until Telegram refuses the token. */
export class Poller {
  readonly #parts: PollerParts;
  readonly #stop = new AbortController();
  #done: Promise<void> = Promise.resolve();
  #offset: number | undefined;
  #failures = 0;
  /** Failed tries of messages by update id; emptied with each batch that was published. */
  readonly #tries = new Map<number, number>();

  constructor(parts: PollerParts) {
    this.#parts = parts;
  }

  /** Begins to receive. Never throws: failures from here on are reported as health. */
  start(): void {
    this.#done = this.#receive();
  }

  /** Aborts the long poll at once; messages that are being published may finish. Never throws. */
  async stop(): Promise<void> {
    this.#stop.abort();
    const { promise: timeout, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, this.#parts.timing.lastPublishMs);
    await Promise.race([this.#done, timeout]);
    clearTimeout(timer);
  }

  async #receive(): Promise<void> {
    const { signal } = this.#stop;
    let me: Reader | undefined;
    while (!signal.aborted) {
      try {
        if (!me) {
          const commands = new Set(this.#parts.commands.map(({ name }) => name));
          me = { ...(await this.#parts.bot.identify(signal)), commands };
          void this.#offerCommands();
        }
        await this.#poll(me, signal);
      } catch (error) {
        if (signal.aborted) break;
        const failure = toGatewayError(error);
        this.#report(failure);
        if (isFatal(failure)) return;
        await this.#backOff(failure, signal);
      }
    }
  }

  /** Polls once and publishes the batch; the offset moves only when all of it is committed or skipped. */
  async #poll(me: Reader, signal: AbortSignal): Promise<void> {
    const { bot, timing, setHealth } = this.#parts;
    // The first poll, and the first after a failure, must return at once: health must not wait for a message.
    const waitMs = this.#offset === undefined || this.#failures > 0 ? 0 : timing.longPollMs;
    const updates = await bot.updates({ offset: this.#offset, waitMs, stallMs: timing.stallMs }, signal);
    const read = updates.map((update) => ({ id: updateIdOf(update), inbound: toInbound(update, me) }));
    const messages: PendingMessage[] = [];
    for (const { id, inbound } of read) {
      if (inbound.kind === 'moved') {
        await this.#follow(inbound);
      } else if (inbound.kind === 'ignored') {
        this.#parts.log.debug({ updateId: id, why: inbound.why }, 'telegram_update_ignored');
      } else if (inbound.message !== undefined) {
        const callbackId = inbound.kind === 'button' ? inbound.callbackId : undefined;
        messages.push({ id, message: inbound.message, callbackId });
      } else if (inbound.kind === 'button') void this.#answerPress(inbound.callbackId, undefined);
    }
    await this.#publish(messages, signal);
    this.#offset = Math.max(this.#offset ?? 0, ...read.map(({ id }) => id + 1));
    this.#failures = 0;
    this.#tries.clear();
    setHealth({ state: 'up' });
  }

  /** Throws while the store is unavailable, to be tried again; any other failure is logged and must not stop receiving. */
  async #follow({ from, to }: { from: string; to: string }): Promise<void> {
    try {
      await this.#parts.chatMoved({ channel: 'telegram', from, to });
    } catch (error) {
      const failure = toGatewayError(error);
      if (failure.retryable) throw failure;
      this.#parts.log.error({ err: failure, from, to }, 'chat_migration_failed');
    }
  }

  /**
   * Publishes a batch: in order within a chat, different chats side by side. Throws when a message could not be
   * committed, once every chat is finished or has failed.
   */
  async #publish(messages: PendingMessage[], signal: AbortSignal): Promise<void> {
    const chats = [...Map.groupBy(messages, ({ message }) => message.chatId).values()];
    const publishChats = async (): Promise<void> => {
      for (let chat = chats.shift(); chat !== undefined; chat = chats.shift()) {
        for (const pending of chat) {
          signal.throwIfAborted();
          try {
            const receipt = await this.#parts.receive(pending.message);
            // The effect is committed: only now is the press answered, with the reply.
            if (pending.callbackId !== undefined)
              void this.#answerPress(pending.callbackId, replyOf(receipt));
          } catch (error) {
            this.#skipOrThrow(pending, toGatewayError(error));
          }
        }
      }
    };
    const workers = Array.from({ length: Math.min(CHATS_AT_ONCE, chats.length) }, publishChats);
    for (const result of await Promise.allSettled(workers))
      if (result.status === 'rejected') throw toGatewayError(result.reason);
  }

  /** A message that can never be committed must not block the bot: after `PUBLISH_TRIES` it is skipped, with an error in the log. */
  #skipOrThrow({ id, message }: PendingMessage, failure: GatewayError): void {
    if (failure.retryable) throw failure;
    const tries = (this.#tries.get(id) ?? 0) + 1;
    this.#tries.set(id, tries);
    if (tries < PUBLISH_TRIES) throw failure;
    this.#parts.log.error({ err: failure, messageId: message.id }, 'telegram_message_skipped');
  }

  async #backOff(failure: GatewayError, signal: AbortSignal): Promise<void> {
    const { timing, log } = this.#parts;
    const waitMs = failure.retryAfterMs ?? backoffMs(this.#failures, timing.backoffMs, timing.backoffCapMs);
    this.#failures += 1;
    await sleep(waitMs, signal).catch(() => log.debug('telegram_backoff_aborted'));
  }

  #report(failure: GatewayError): void {
    const { log, setHealth } = this.#parts;
    setHealth({ state: isFatal(failure) ? 'dead' : 'degraded', detail: failure.message });
    log.warn({ err: failure, failures: this.#failures }, 'telegram_receiving_failed');
  }

  async #offerCommands(): Promise<void> {
    await this.#try(
      'telegram_commands_not_offered',
      this.#parts.bot.offerCommands(toMenu(this.#parts.commands)),
    );
  }

  async #answerPress(callbackId: string, text: string | undefined): Promise<void> {
    await this.#try('telegram_press_unanswered', this.#parts.bot.answerPress(callbackId, text));
  }

  /** Waits for a call whose failure is only logged. */
  async #try(event: string, call: Promise<void>): Promise<void> {
    await call.catch((error: ChannelError) => this.#parts.log.warn({ err: error }, event));
  }
}

/** The text for the person who pressed a button. */
function replyOf(receipt: Receipt): string | undefined {
  return 'reply' in receipt ? (receipt.reply ?? NOT_HERE) : NOT_HERE;
}

/** True when Telegram refuses the token: no later try can succeed. */
function isFatal(failure: GatewayError): boolean {
  return failure instanceof ChannelError && failure.code === 'unauthorized';
}

/** The id of an update of any shape; -1 moves no offset. */
function updateIdOf(update: unknown): number {
  if (typeof update !== 'object' || update === null || !('update_id' in update)) return -1;
  return Number.isSafeInteger(update.update_id) ? Number(update.update_id) : -1;
}
