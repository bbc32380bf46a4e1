/** Slash commands and pressed buttons: acknowledged within Discord's three seconds, answered at once or in a deferred reply. */
import { InteractionResponseType, MessageFlags } from 'discord.js';
import { ChannelError } from '../../src/contracts/errors.ts';
import { hasCode } from './errors.ts';
import type { Log } from '../../src/contracts/log.ts';
import type { InboundMessage } from '../../src/contracts/message.ts';
import type { Receipt, Receive } from '../../src/contracts/receive.ts';
import { fromInteraction, fromPress, placeholderOf } from './inbound.ts';
import type { RawInteraction, RawPress } from './inbound.ts';
import type { Replies } from './replies.ts';
import { contentOfText } from './sending.ts';
import type { DiscordRest } from './rest.ts';

/** Commands whose reply everyone in the channel sees. */
const PUBLIC_COMMANDS = ['/stop', '/new'];
const DONE = 'Done.';
const REFUSED = 'This bot does not answer you here.';
const NOT_STORED = 'Your message could not be stored just now. Please send it again in a moment.';

/** The part of an interaction that answering it needs. */
type Interaction = Pick<RawInteraction, 'id' | 'token' | 'application_id'>;

export class Interactions {
  readonly #rest: DiscordRest;
  readonly #replies: Replies;
  readonly #log: Log;
  readonly #now: () => number;
  readonly #deferAfterMs: number;

  constructor(parts: {
    rest: DiscordRest;
    replies: Replies;
    log: Log;
    now: () => number;
    deferAfterMs: number;
  }) {
    this.#deferAfterMs = parts.deferAfterMs;
    this.#rest = parts.rest;
    this.#replies = parts.replies;
    this.#log = parts.log;
    this.#now = parts.now;
  }

  /** Publishes a command and answers it. Never throws. */
  async onCommand(interaction: RawInteraction, receive: Receive): Promise<void> {
    await this.#publish(interaction, fromInteraction(interaction, this.#now()), receive);
  }

  /** Publishes a pressed button; only the person who pressed it sees the reply. Never throws. */
  async onPress(press: RawPress, receive: Receive): Promise<void> {
    await this.#publish(press, fromPress(press), receive);
  }

  async #publish(
    interaction: Interaction,
    message: InboundMessage | undefined,
    receive: Receive,
  ): Promise<void> {
    if (message === undefined) return;
    // Set before the commit: a turn that starts at once finds it and waits.
    const acknowledged = this.#replies.holdBack(interaction.token);
    try {
      await this.#answer(interaction, message, receive, acknowledged);
    } catch (error) {
      this.#log.warn({ err: error, chatId: message.chatId }, 'discord_command_unacknowledged');
    } finally {
      acknowledged();
    }
  }

  /**
   * Commits first, then defers. After 1.5 s it defers without waiting for the commit, because a command that is not acknowledged in 3 s
   * is shown as failed; should the commit then fail, the deferred reply says so.
   */
  async #answer(
    interaction: Interaction,
    message: InboundMessage,
    receive: Receive,
    acknowledged: () => void,
  ): Promise<void> {
    const receipt = receive(message).catch((error: unknown): Receipt => {
      this.#log.error({ err: error, chatId: message.chatId }, 'discord_command_not_stored');
      return { kind: 'handled', reply: NOT_STORED };
    });
    const first = await Promise.race([receipt, afterMs(this.#deferAfterMs)]);
    if (first === 'late' || first.kind === 'accepted' || first.kind === 'duplicate') {
      const type = InteractionResponseType.DeferredChannelMessageWithSource;
      const isHidden = message.button !== undefined || (first === 'late' && isPrivateCommand(message));
      await this.#respond(interaction, {
        type,
        ...(isHidden && { data: { flags: MessageFlags.Ephemeral } }),
      });
      acknowledged();
    } else {
      const data = { ...contentOfText(replyTo(first)), flags: flagsFor(message, first) };
      await this.#respond(interaction, { type: InteractionResponseType.ChannelMessageWithSource, data });
    }
    if (first !== 'late') return;
    const late = await receipt;
    if (late.kind === 'accepted' || late.kind === 'duplicate') return;
    const deferred = placeholderOf(interaction, this.#now());
    await this.#replies.edit(deferred, message.threadId ?? message.chatId, contentOfText(replyTo(late)));
  }

  /** Sends the first answer. One that was sent before is no error: Discord repeats events after a resume. */
  async #respond(interaction: Interaction, body: object): Promise<void> {
    const path = `/interactions/${interaction.id}/${interaction.token}/callback` as const;
    try {
      await this.#rest.call({
        method: 'post',
        path,
        bucket: `callback ${interaction.id}`,
        body,
        auth: false,
      });
    } catch (error) {
      if (!isAlreadyAcknowledged(error)) throw error;
    }
  }
}

function replyTo(receipt: Receipt): string {
  if (receipt.kind === 'handled') return receipt.reply ?? DONE;
  return receipt.kind === 'refused' ? (receipt.reply ?? REFUSED) : DONE;
}

/** True for a command of the gateway whose reply only the person who asked may see: it may not be deferred for all to see either. */
function isPrivateCommand({ content }: InboundMessage): boolean {
  return content.startsWith('/') && !PUBLIC_COMMANDS.includes(content.split(/\s/, 1)[0] ?? '');
}

/** Everyone in the channel sees that an answer was stopped; all other replies only the person who asked. */
function flagsFor(message: InboundMessage, receipt: Receipt): number {
  const open = receipt.kind === 'handled' && message.content.startsWith('/') && !isPrivateCommand(message);
  return open ? MessageFlags.SuppressEmbeds : MessageFlags.SuppressEmbeds | MessageFlags.Ephemeral;
}

function isAlreadyAcknowledged(error: unknown): boolean {
  return error instanceof ChannelError && hasCode(error.cause, 40_060);
}

async function afterMs(ms: number): Promise<'late'> {
  return await new Promise((resolve) => {
    setTimeout(resolve, ms, 'late').unref();
  });
}
