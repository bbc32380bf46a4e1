/** The replies to a slash command: reached by its token while that lives, then as ordinary messages of the bot. */
import { Routes } from 'discord.js';
import { ChannelError } from '../../src/protocol/errors.ts';
import type { SentMessage } from '../../src/protocol/message.ts';
import { isAnswerLost, isGone, toEditError } from './errors.ts';
import { ORIGINAL } from './interactions/read.ts';
import type { DiscordRest, UploadFile } from './rest.ts';
import { type Content, messageId, type Sending } from './sending.ts';

/** Discord accepts the first answer to a command for 3 seconds, and everything else with its token for 15 minutes. */
const FIRST_ANSWER_MS = 3_000;
const TOKEN_MS = 15 * 60_000;
/** Wait before retrying an edit if another process may still be acknowledging the command. */
const RETRY_MS = 1_000;

interface Handle {
  interactionToken: string;
  applicationId: string;
  createdAt: number;
}

export class Replies {
  readonly #rest: DiscordRest;
  readonly #sending: Sending;
  readonly #epochNow: () => number;
  /** First answers in flight, by interaction token: nothing may overtake them. */
  readonly #acknowledging = new Map<string, Promise<void>>();

  constructor(rest: DiscordRest, sending: Sending, epochNow: () => number) {
    this.#rest = rest;
    this.#sending = sending;
    this.#epochNow = epochNow;
  }

  /** Makes all other calls for a command wait until the given function is called. */
  holdBack(interactionToken: string): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#acknowledging.set(interactionToken, promise);
    return () => {
      resolve();
      this.#acknowledging.delete(interactionToken);
    };
  }

  /** The token of the command behind a reply, while Discord accepts it: such calls do not count against the bot. */
  tokenOf(reply: SentMessage): string | undefined {
    const handle = readHandle(reply);
    return handle !== undefined && this.#epochNow() - handle.createdAt < TOKEN_MS
      ? handle.interactionToken
      : undefined;
  }

  /** Replaces a reply's text; returns the reply as it stays reachable. Throws `ChannelError('message_gone')` for an old one. */
  async edit(reply: SentMessage, chatId: string, content: Partial<Content>): Promise<SentMessage> {
    return await this.#onReply(
      reply,
      async (handle) => {
        const id = messageId(await this.#call('patch', handle, reply.id, content));
        return realIdOf(reply) === id ? reply : { ...reply, realId: id };
      },
      async (id) => {
        await this.#sending.edit(id, chatId, content);
        return reply;
      },
    );
  }

  /** Deletes a reply. Throws `ChannelError('message_gone')` if it is gone, or can no longer be reached. */
  async delete(reply: SentMessage, chatId: string): Promise<void> {
    await this.#onReply(
      reply,
      async (handle) => void (await this.#call('delete', handle, reply.id)),
      async (id) => await this.#sending.delete(id, chatId),
    );
  }

  /** Sends a message after an earlier reply; undefined once its token has expired. Throws `ChannelError('outcome_unknown')`. */
  async followUp(
    reply: SentMessage,
    content: Content,
    files?: UploadFile[],
  ): Promise<SentMessage | undefined> {
    const handle = readHandle(reply);
    if (handle === undefined || this.tokenOf(reply) === undefined) return undefined;
    await this.#acknowledging.get(handle.interactionToken);
    try {
      const id = messageId(await this.#call('post', handle, undefined, content, files));
      return { id, metadata: reply.metadata, realId: id };
    } catch (error) {
      if (isGone(error)) return undefined;
      if (!isAnswerLost(error)) throw error;
      const message = 'The answer to a reply was lost: it may be on screen.';
      throw new ChannelError('outcome_unknown', message, { cause: error });
    }
  }

  /** Acts on a reply by its token while that lives, then as on an ordinary message. */
  async #onReply<T>(
    reply: SentMessage,
    byToken: (handle: Handle) => Promise<T>,
    byId: (id: string) => Promise<T>,
  ): Promise<T> {
    const handle = readHandle(reply);
    if (handle === undefined)
      throw new ChannelError('message_gone', 'The Discord command behind this reply is no longer known.');
    await this.#acknowledging.get(handle.interactionToken);
    const age = this.#epochNow() - handle.createdAt;
    if (age < TOKEN_MS) {
      try {
        return await byToken(handle);
      } catch (error) {
        if (isGone(error) && age < FIRST_ANSWER_MS) throw notYet(error);
        const failure = toEditError(error);
        if (!isGone(failure)) throw error;
        if (realIdOf(reply) === undefined) throw failure;
      }
    }
    const id = realIdOf(reply);
    if (id === undefined)
      throw new ChannelError('message_gone', 'The reply to this Discord command can no longer be edited.');
    return await byId(id);
  }

  async #call(
    method: 'post' | 'patch' | 'delete',
    { applicationId, interactionToken }: Handle,
    message: string | undefined,
    body?: Partial<Content>,
    files?: UploadFile[],
  ): Promise<unknown> {
    const path =
      message === undefined
        ? Routes.webhook(applicationId, interactionToken)
        : // The route would escape `@original`, which it names without an id.
          Routes.webhookMessage(applicationId, interactionToken, message === ORIGINAL ? undefined : message);
    const bucket = `reply ${interactionToken}`;
    return await this.#rest.call({ method, path, bucket, auth: false, body, files });
  }
}

/** True for the reply to a command, deferred or sent after it. */
export function isReply(reply: SentMessage): boolean {
  return readHandle(reply) !== undefined;
}

/** The id of the message that a reply is; undefined while it is not known. */
function realIdOf({ id, realId, metadata }: SentMessage): string | undefined {
  // Replies that an earlier version has stored have it in their metadata.
  return realId ?? metadata?.messageId ?? (id === ORIGINAL ? undefined : id);
}

/** Undefined for a message that is not a reply to a command. */
function readHandle({ metadata }: SentMessage): Handle | undefined {
  const { interactionToken, applicationId, createdAt } = metadata ?? {};
  if (interactionToken === undefined || applicationId === undefined) return undefined;
  return { interactionToken, applicationId, createdAt: Number(createdAt ?? 0) };
}

/** The node that received the command may still be acknowledging it. */
function notYet(cause: unknown): ChannelError {
  const details = { retryable: true, retryAfterMs: RETRY_MS, cause };
  return new ChannelError('unavailable', 'The Discord command is not acknowledged yet.', details);
}
