/** Long polling that advances Telegram's offset only over committed messages, and gets up again from every fall. */
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
  /** A poll not completed by then is aborted and asked again. */
  stallMs: number;
  /** First and longest wait after a failure. The cap keeps a return from a rival's 409 within 35 s. */
  backoffMs: number;
  backoffCapMs: number;
  /** Longest wait for the messages in hand when receiving ends. */
  lastHandOverMs: number;
}

export const POLL_TIMING: PollTiming = {
  longPollMs: 30_000,
  stallMs: 90_000,
  backoffMs: 1_000,
  backoffCapMs: 30_000,
  lastHandOverMs: 5_000,
};

/** Chats of one batch that are handed over at the same time; within a chat one after the other. */
export const CHATS_AT_ONCE = 16;

/** A message that the house refuses to take for another reason than the store's absence is left behind after this many tries. */
export const HAND_OVER_TRIES = 5;

/** Said to people whose presses are not taken. */
const NOT_HERE = 'This bot does not answer you here.';

/** What is handed to the house; with `callbackId` a button that spins until it is answered. */
interface PendingMessage {
  id: number;
  message: InboundMessage;
  callbackId: string | undefined;
}

/** What the poller works with. */
export interface PollerParts {
  bot: BotApi;
  receive: Receive;
  /** Takes note of a group's new id; its words come only after that. */
  chatMoved: FollowChatMigration;
  /** What people can write with a `/`. */
  commands: readonly CommandListing[];
  log: Log;
  timing: PollTiming;
  setHealth: (health: ChannelHealth) => void;
}

/** Receives until stopped or until Telegram refuses the token. */
export class Poller {
  readonly #parts: PollerParts;
  readonly #end = new AbortController();
  #done: Promise<void> = Promise.resolve();
  #offset: number | undefined;
  #failures = 0;
  /** Tries of messages the house would not take, by update id; emptied with each batch that went through. */
  readonly #tries = new Map<number, number>();

  constructor(parts: PollerParts) {
    this.#parts = parts;
  }

  /** Begins; what fails from here on is this poller's own affair, told by the health. */
  start(): void {
    this.#done = this.#run();
  }

  /** Cuts the long poll at once; the message in hand may finish. Never throws. */
  async stop(): Promise<void> {
    this.#end.abort();
    const { promise: longEnough, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, this.#parts.timing.lastHandOverMs);
    await Promise.race([this.#done, longEnough]);
    clearTimeout(timer);
  }

  async #run(): Promise<void> {
    const { signal } = this.#end;
    let me: Reader | undefined;
    while (!signal.aborted) {
      try {
        if (!me) {
          const commands = new Set(this.#parts.commands.map(({ name }) => name));
          me = { ...(await this.#parts.bot.identify(signal)), commands };
          void this.#offerCommands();
        }
        await this.#pollOnce(me, signal);
      } catch (error) {
        if (signal.aborted) break;
        const failure = toGatewayError(error);
        this.#report(failure);
        if (isDead(failure)) return;
        await this.#rest(failure, signal);
      }
    }
  }

  async #pollOnce(me: Reader, signal: AbortSignal): Promise<void> {
    const { bot, timing, setHealth } = this.#parts;
    // After a failure, and at first, an empty poll comes back at once: health must not wait for a message.
    const waitMs = this.#offset === undefined || this.#failures > 0 ? 0 : timing.longPollMs;
    const updates = await bot.updates({ offset: this.#offset, waitMs, stallMs: timing.stallMs }, signal);
    const read = updates.map((update) => ({ id: updateIdOf(update), inbound: toInbound(update, me) }));
    const messages: PendingMessage[] = [];
    for (const { id, inbound } of read) {
      if (inbound.kind === 'moved') {
        await this.#follow(inbound);
      } else if (inbound.kind === 'ignored') {
        this.#parts.log.debug({ event: 'update_ignored', updateId: id, why: inbound.why }, 'update ignored');
      } else if (inbound.message !== undefined) {
        const callbackId = inbound.kind === 'button' ? inbound.callbackId : undefined;
        messages.push({ id, message: inbound.message, callbackId });
      } else if (inbound.kind === 'button') void this.#answerPress(inbound.callbackId, undefined);
    }
    await this.#handOver(messages, signal);
    this.#offset = Math.max(this.#offset ?? 0, ...read.map(({ id }) => id + 1));
    this.#failures = 0;
    this.#tries.clear();
    setHealth({ state: 'up' });
  }

  /** A store that is away is waited for; any other failure must not make the bot deaf. */
  async #follow({ from, to }: { from: string; to: string }): Promise<void> {
    try {
      await this.#parts.chatMoved({ channel: 'telegram', from, to });
    } catch (error) {
      const failure = toGatewayError(error);
      if (failure.retryable) throw failure;
      this.#parts.log.error({ event: 'move_not_followed', err: failure, from, to }, failure.message);
    }
  }

  /** AvailableExecutors a batch to the house: in order per chat, different chats side by side. Throws when a message was not taken. */
  async #handOver(messages: PendingMessage[], signal: AbortSignal): Promise<void> {
    const chats = [...Map.groupBy(messages, ({ message }) => message.chatId).values()];
    const worker = async (): Promise<void> => {
      for (let chat = chats.shift(); chat !== undefined; chat = chats.shift()) {
        for (const handed of chat) {
          signal.throwIfAborted();
          await this.#handOverOne(handed);
        }
      }
    };
    const results = await Promise.allSettled(
      Array.from({ length: Math.min(CHATS_AT_ONCE, chats.length) }, worker),
    );
    for (const result of results) if (result.status === 'rejected') throw toGatewayError(result.reason);
  }

  /** A message nobody can take must not make the bot deaf for ever: after some tries it is left behind, loudly. */
  async #handOverOne({ id, message, callbackId }: PendingMessage): Promise<void> {
    const { receive, log } = this.#parts;
    try {
      const receipt = await receive(message);
      // The effect is committed: now the button may stop spinning, and says what came of it.
      if (callbackId !== undefined) void this.#answerPress(callbackId, replyOf(receipt));
    } catch (error) {
      const failure = toGatewayError(error);
      if (failure.retryable) throw failure;
      const tries = (this.#tries.get(id) ?? 0) + 1;
      this.#tries.set(id, tries);
      if (tries < HAND_OVER_TRIES) throw failure;
      log.error({ event: 'message_left_behind', err: failure, messageId: message.id }, 'message left behind');
    }
  }

  async #rest(failure: GatewayError, signal: AbortSignal): Promise<void> {
    const { timing, log } = this.#parts;
    const waitMs = failure.retryAfterMs ?? backoffMs(this.#failures, timing.backoffMs, timing.backoffCapMs);
    this.#failures += 1;
    await sleep(waitMs, signal).catch(() =>
      log.debug({ event: 'telegram_wait_cut' }, 'stopped while waiting'),
    );
  }

  #report(failure: GatewayError): void {
    const { log, setHealth } = this.#parts;
    setHealth({ state: isDead(failure) ? 'dead' : 'degraded', detail: failure.message });
    log.warn({ event: 'telegram_receiving_failed', err: failure, failures: this.#failures }, failure.message);
  }

  async #offerCommands(): Promise<void> {
    await this.#try('offer_commands_failed', this.#parts.bot.offerCommands(toMenu(this.#parts.commands)));
  }

  async #answerPress(callbackId: string, text: string | undefined): Promise<void> {
    await this.#try('answer_press_failed', this.#parts.bot.answerPress(callbackId, text));
  }

  /** Waits for a call whose failure changes nothing for anybody. */
  async #try(event: string, call: Promise<void>): Promise<void> {
    await call.catch((error: ChannelError) => this.#parts.log.warn({ event, err: error }, error.message));
  }
}

/** What who pressed a button reads. */
function replyOf(receipt: Receipt): string | undefined {
  return 'reply' in receipt ? (receipt.reply ?? NOT_HERE) : NOT_HERE;
}

/** True when Telegram refuses the token: nothing mends itself from here. */
function isDead(failure: GatewayError): boolean {
  return failure instanceof ChannelError && failure.code === 'unauthorized';
}

/** The id of an update of any shape; -1 moves no offset. */
function updateIdOf(update: unknown): number {
  if (typeof update !== 'object' || update === null || !('update_id' in update)) return -1;
  return Number.isSafeInteger(update.update_id) ? Number(update.update_id) : -1;
}
