/** Slash commands: acknowledged within Discord's three seconds, answered in their deferred reply until its token expires. */
import { InteractionResponseType, MessageFlags } from 'discord.js';
import { ChannelError } from '../../src/contracts/errors.ts';
import type { Log } from '../../src/contracts/log.ts';
import type { InboundMessage, SentMessage } from '../../src/contracts/message.ts';
import type { Receipt, Receive } from '../../src/contracts/receive.ts';
import { fromInteraction, fromPress, ORIGINAL } from './inbound.ts';
import type { RawInteraction, RawPress } from './inbound.ts';
import { contentOfText, messageId } from './sending.ts';
import type { Content, Sending } from './sending.ts';
import type { DiscordRest } from './rest.ts';

/** Discord takes the first answer to a command for three seconds, and edits of it for fifteen minutes. */
const FIRST_ANSWER_MS = 3_000;
const TOKEN_MS = 15 * 60_000;
/** Deferred replies whose message id is remembered for edits after the token expired; the oldest is forgotten. */
const MAX_REPLIES = 1_000;
/** Wait before an edit is tried again whose command another process may still be acknowledging. */
const RETRY_MS = 1_000;

/** Commands whose reply everyone in the channel sees. */
const PUBLIC_COMMANDS = ['/stop', '/new'];
const DONE = 'Done.';
const REFUSED = 'This bot does not answer you here.';
const NOT_STORED = 'Your message could not be stored just now. Please send it again in a moment.';

/** The part of an interaction that answering it needs. */
type Interaction = Pick<RawInteraction, 'id' | 'token' | 'application_id'>;

/** Identifies a command in calls to Discord. */
interface Handle {
  interactionToken: string;
  applicationId: string;
  createdAt: number;
}

export class Interactions {
  readonly #rest: DiscordRest;
  readonly #sending: Sending;
  readonly #log: Log;
  readonly #now: () => number;
  readonly #deferAfterMs: number;
  /** First answers in flight, by interaction token: an edit must not overtake them. */
  readonly #acknowledging = new Map<string, Promise<void>>();
  /** The message behind a deferred reply, by interaction token. */
  readonly #replies = new Map<string, string>();

  constructor(parts: {
    rest: DiscordRest;
    sending: Sending;
    log: Log;
    now: () => number;
    deferAfterMs: number;
  }) {
    this.#deferAfterMs = parts.deferAfterMs;
    this.#rest = parts.rest;
    this.#sending = parts.sending;
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
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#acknowledging.set(interaction.token, promise);
    try {
      await this.#answer(interaction, message, receive, resolve);
    } catch (error) {
      this.#log.warn({ err: error, chatId: message.chatId }, 'discord_command_unacknowledged');
    } finally {
      resolve();
      this.#acknowledging.delete(interaction.token);
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
      const hidden = message.button === undefined ? {} : { data: { flags: MessageFlags.Ephemeral } };
      await this.#respond(interaction, { type, ...hidden });
      acknowledged();
    } else {
      const data = { ...contentOfText(replyTo(first)), flags: flagsFor(message, first) };
      await this.#respond(interaction, { type: InteractionResponseType.ChannelMessageWithSource, data });
    }
    if (first !== 'late') return;
    const late = await receipt;
    if (late.kind === 'accepted' || late.kind === 'duplicate') return;
    await this.#editReply(handleOf(interaction, this.#now()), contentOfText(replyTo(late)));
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

  /** Replaces a deferred reply's text. Throws `ChannelError('message_gone')` when it can no longer be: send a normal message. */
  async edit(sent: SentMessage, chatId: string, content: Content): Promise<void> {
    const handle = readHandle(sent);
    await this.#acknowledging.get(handle.interactionToken);
    const age = this.#now() - handle.createdAt;
    if (age < TOKEN_MS) {
      try {
        await this.#editReply(handle, content);
        return;
      } catch (error) {
        if (!isGone(error)) throw error;
        if (age < FIRST_ANSWER_MS) throw notYet(error);
      }
    }
    const known = this.#replies.get(handle.interactionToken);
    if (known === undefined)
      throw new ChannelError('message_gone', 'The reply to this Discord command can no longer be edited.');
    await this.#sending.edit(known, chatId, content);
  }

  async #editReply(handle: Handle, content: Content): Promise<void> {
    const { applicationId, interactionToken } = handle;
    const answer = await this.#rest.call({
      method: 'patch',
      path: `/webhooks/${applicationId}/${interactionToken}/messages/${ORIGINAL}`,
      bucket: `reply ${interactionToken}`,
      body: content,
      auth: false,
    });
    this.#replies.delete(interactionToken);
    this.#replies.set(interactionToken, messageId(answer));
    const oldest = this.#replies.keys().next();
    if (this.#replies.size > MAX_REPLIES && oldest.done !== true) this.#replies.delete(oldest.value);
  }
}

/** True for the placeholder of a deferred reply. */
export function isDeferredReply(sent: SentMessage): boolean {
  return sent.id === ORIGINAL;
}

function replyTo(receipt: Receipt): string {
  if (receipt.kind === 'handled') return receipt.reply ?? DONE;
  return receipt.kind === 'refused' ? (receipt.reply ?? REFUSED) : DONE;
}

/** Everyone in the channel sees that an answer was stopped; all other replies only the person who asked. */
function flagsFor(message: InboundMessage, receipt: Receipt): number {
  const open =
    receipt.kind === 'handled' && PUBLIC_COMMANDS.includes(message.content.split(/\s/, 1)[0] ?? '');
  return open ? MessageFlags.SuppressEmbeds : MessageFlags.SuppressEmbeds | MessageFlags.Ephemeral;
}

function handleOf(interaction: Interaction, createdAt: number): Handle {
  return { interactionToken: interaction.token, applicationId: interaction.application_id, createdAt };
}

function readHandle({ metadata }: SentMessage): Handle {
  const { interactionToken, applicationId, createdAt } = metadata ?? {};
  if (interactionToken === undefined || applicationId === undefined)
    throw new ChannelError('message_gone', 'The Discord command behind this reply is no longer known.');
  return { interactionToken, applicationId, createdAt: Number(createdAt ?? 0) };
}

/** The node that received the command may still be acknowledging it. */
function notYet(cause: unknown): ChannelError {
  return new ChannelError('unavailable', 'The Discord command is not acknowledged yet.', {
    retryable: true,
    retryAfterMs: RETRY_MS,
    cause,
  });
}

function isGone(error: unknown): boolean {
  return error instanceof ChannelError && error.code === 'message_gone';
}

function isAlreadyAcknowledged(error: unknown): boolean {
  return error instanceof ChannelError && hasCode(error.cause, 40_060);
}

function hasCode(error: unknown, code: number): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

async function afterMs(ms: number): Promise<'late'> {
  return await new Promise((resolve) => {
    setTimeout(resolve, ms, 'late').unref();
  });
}
