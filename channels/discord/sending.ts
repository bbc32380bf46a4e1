/** Sends and edits messages and shows typing in Discord's channels, over REST. */
import { createHash } from 'node:crypto';
import { ButtonStyle, ComponentType, MessageFlags } from 'discord-api-types/v10';
import { z } from 'zod';
import type { OutboundPart } from '../../src/protocol/channel.ts';
import { ChannelError } from '../../src/protocol/errors.ts';
import { Recent } from '../../src/lib/recent.ts';
import { parseMarkdown } from '../../src/lib/markdown/markdown.ts';
import type { Button, Place } from '../../src/protocol/message.ts';
import { isAnswerLost, toChannelError, toEditError } from './errors.ts';
import { render } from './rendering/render.ts';
import type { DiscordRest, RestCall } from './rest/rest.ts';

/** Discord's limit on a message's text, in characters. */
export const MAX_LENGTH = 2_000;
/** Characters of a nonce, out of Discord's 25; 144 bits are enough to be unique. */
const NONCE_LENGTH = 24;

/** Chats in which the bot was not a member, and how long that is remembered in milliseconds: as long as a command can be answered. */
export const MAX_GUEST_CHATS = 1_000;
const GUEST_MS = 15 * 60_000;

/** Buttons in one row. */
const MAX_ROW = 5;

/**
 * The fields of every message we send: it pings no one and shows no link previews, whatever the model wrote. Plain
 * content, no components v2: their notifications are empty (discord-api-docs issue 7854), a message cannot leave
 * them, and Discord answers a nonce that it knows with a message whose content reveals whether it shows this text.
 */
export interface Content {
  content: string;
  allowed_mentions: { parse: [] };
  flags: number;
  /** Always present: an edit without it would keep the old buttons. */
  components: object[];
  /** Present with files: the name and description of each. */
  attachments?: object[];
}

export class Sending {
  readonly #rest: DiscordRest;
  readonly #onRefused: (channelId: string) => void;
  readonly #guestIn: Recent<true>;

  /** `onRefused` is called for the first refusal in a channel for lack of a permission. */
  constructor(rest: DiscordRest, monotonicNow: () => number, onRefused: (channelId: string) => void) {
    this.#rest = rest;
    this.#guestIn = new Recent(GUEST_MS, MAX_GUEST_CHATS, monotonicNow);
    this.#onRefused = onRefused;
  }

  /**
   * Creates a message; returns its id. Discord answers a repeated nonce with the first message, so a lost answer is
   * requested once more here, and any later repeat of the same part is harmless.
   */
  async create(
    place: Place,
    content: Content,
    { nonce, replyTo }: Pick<OutboundPart, 'nonce' | 'replyTo'>,
    files?: RestCall['files'],
  ): Promise<string> {
    // The message that started a thread is shown above everything in it, and is often in another channel.
    const reply = replyTo !== undefined && replyTo !== place.threadId && /^\d{1,20}$/.test(replyTo);
    const body = {
      ...content,
      nonce: nonceOf(channelIdOf(place), nonce),
      enforce_nonce: true,
      ...(reply ? { message_reference: { message_id: replyTo, fail_if_not_exists: false } } : {}),
    };
    const create = async (): Promise<unknown> =>
      await this.#rest.call({
        method: 'post',
        path: `/channels/${channelIdOf(place)}/messages`,
        bucket: `send ${channelIdOf(place)}`,
        body,
        ...(files && { files }),
      });
    try {
      const answer = await create().catch(async (error: unknown) => {
        if (!isAnswerLost(error)) throw error;
        return await create();
      });
      this.#rest.noteMessage(channelIdOf(place), undefined);
      return await this.#withText(answer, channelIdOf(place), content);
    } catch (error) {
      this.#noteRefusal(channelIdOf(place), error);
      throw error;
    }
  }

  /** Reports to health and to people that the bot may not write in a channel. */
  #noteRefusal(channelId: string, error: unknown): void {
    if (this.#rest.noteMessage(channelId, toChannelError(error))) this.#onRefused(channelId);
  }

  /**
   * Discord answers a nonce that it knows with the message as it was first sent: that message gets the text. Returns
   * its id.
   */
  async #withText(answer: unknown, channelId: string, content: Content): Promise<string> {
    const id = messageId(answer);
    const shown = ShownText.safeParse(answer);
    if (shown.success && shown.data.content.trim() !== content.content.trim())
      await this.edit(id, channelId, content);
    return id;
  }

  /** Throws `ChannelError('message_gone')` also for a message that exists but may not be changed: a new one can be sent. */
  async edit(id: string, chatId: string, content: Partial<Content>): Promise<void> {
    try {
      await this.#rest.call({
        method: 'patch',
        path: `/channels/${chatId}/messages/${id}`,
        bucket: `edit ${chatId}`,
        body: content,
      });
    } catch (error) {
      throw toEditError(error);
    }
  }

  /** A message that is already gone is not an error. */
  async delete(id: string, chatId: string): Promise<void> {
    const path = `/channels/${chatId}/messages/${id}` as const;
    await unlessGone(this.#rest.call({ method: 'delete', path, bucket: `delete ${chatId}` }));
  }

  /** The bot is not a member of a channel, and reaches it only through the tokens of commands. */
  noteGuest(channelId: string): void {
    this.#guestIn.set(channelId, true);
  }

  async typing(place: Place): Promise<void> {
    if (this.#guestIn.get(channelIdOf(place)) === true) return;
    const path = `/channels/${channelIdOf(place)}/typing` as const;
    try {
      await this.#rest.call({ method: 'post', path, bucket: `typing ${channelIdOf(place)}` });
    } catch (error) {
      this.#noteRefusal(channelIdOf(place), error);
      throw error;
    }
  }
}

/** Waits for a deletion; a message that is already gone counts as deleted. */
export async function unlessGone(deletion: Promise<unknown>): Promise<void> {
  try {
    await deletion;
  } catch (error) {
    if (!(error instanceof ChannelError) || error.code !== 'message_gone') throw error;
  }
}

/** The fields for a part. Discord parses markup in everything, so `plain` only omits what the renderer added. */
export function contentOf(part: OutboundPart): Content {
  return contentWith(part.plain === true ? part.body.plain : part.body.text, part.buttons);
}

/** A short text of the gateway itself (Markdown), cut to what fits. */
export function contentOfText(text: string): Content {
  return contentWith(render(parseMarkdown(text)).text.slice(0, MAX_LENGTH).toWellFormed());
}

export function contentWith(text: string, buttons: readonly Button[] = []): Content {
  const flags = MessageFlags.SuppressEmbeds;
  return { content: text, allowed_mentions: { parse: [] }, flags, components: rowsOf(buttons) };
}

/** Discord's styles: grey, green and red. */
const STYLES = {
  normal: ButtonStyle.Secondary,
  confirm: ButtonStyle.Success,
  danger: ButtonStyle.Danger,
};

/** Buttons in rows of five, as Discord requires. */
function rowsOf(buttons: readonly Button[]): object[] {
  const rows = Array.from({ length: Math.ceil(buttons.length / MAX_ROW) }, (_, row) =>
    buttons.slice(row * MAX_ROW, (row + 1) * MAX_ROW),
  );
  return rows.map((row) => ({
    type: ComponentType.ActionRow,
    components: row.map(({ label, value, style = 'normal' }) => ({
      type: ComponentType.Button,
      style: STYLES[style],
      label,
      custom_id: value,
    })),
  }));
}

/** Deterministic, so that a repeat after a restart is the same request. */
function nonceOf(channelId: string, nonce: string): string {
  return createHash('sha256').update(`${channelId}\n${nonce}`).digest('base64url').slice(0, NONCE_LENGTH);
}

/**
 * The Discord channel of a place; a thread is a channel of its own. Only digits may enter a path: an address from
 * elsewhere could otherwise reach another route.
 */
export function channelIdOf({ chatId, threadId }: Place): string {
  const id = threadId ?? chatId;
  if (/^\d{1,20}$/.test(id)) return id;
  throw new ChannelError('rejected', `"${id.slice(0, 40)}" is not a Discord channel id.`);
}

const Created = z.object({ id: z.string() });
const ShownText = z.object({ content: z.string() });

/** The id of the message in an answer. Throws `ChannelError('unavailable')` for anything else. */
export function messageId(answer: unknown): string {
  const parsed = Created.safeParse(answer);
  if (parsed.success) return parsed.data.id;
  throw new ChannelError('unavailable', 'Discord gave an answer that is not a message.', {
    retryable: true,
    cause: parsed.error,
  });
}
