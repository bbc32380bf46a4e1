/** Sends and edits messages and shows typing in Discord's channels, over REST. */
import { createHash } from 'node:crypto';
import { ButtonStyle, ComponentType, MessageFlags } from 'discord.js';
import { z } from 'zod';
import type { OutboundPart } from '../../src/contracts/channel.ts';
import { ChannelError } from '../../src/contracts/errors.ts';
import { parseMarkdown } from '../../src/lib/markdown.ts';
import type { Button, Place } from '../../src/contracts/message.ts';
import { isAnswerLost } from './errors.ts';
import { render } from './render.ts';
import type { DiscordRest } from './rest.ts';

/** Discord's limit on a message's text, in characters. */
export const MAX_LENGTH = 2_000;
/** Characters of Discord's 25 for a nonce; 144 bits are enough to be unique. */
const NONCE_LENGTH = 24;

/** Buttons in one row. */
const MAX_ROW = 5;

/** The fields of every message we send: it pings nobody and shows no link previews, whatever the model wrote. */
export interface Content {
  content: string;
  allowed_mentions: { parse: [] };
  flags: number;
  /** Always present: an edit without it would keep the old buttons. */
  components: object[];
}

export class Sending {
  readonly #rest: DiscordRest;

  constructor(rest: DiscordRest) {
    this.#rest = rest;
  }

  /**
   * Creates a message; gives its id. Discord answers a repeated nonce with the first message, so a lost answer is
   * requested once more here, and any later repeat of the same part is harmless.
   */
  async create(place: Place, content: Content, nonce: string, replyTo?: string): Promise<string> {
    const reply = replyTo !== undefined && /^\d{1,20}$/.test(replyTo);
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
      });
    const answer = await create().catch(async (error: unknown) => {
      if (!isAnswerLost(error)) throw error;
      return await create();
    });
    return messageId(answer);
  }

  async edit(id: string, chatId: string, content: Content): Promise<void> {
    await this.#rest.call({
      method: 'patch',
      path: `/channels/${chatId}/messages/${id}`,
      bucket: `edit ${chatId}`,
      body: content,
    });
  }

  async typing(place: Place): Promise<void> {
    const path = `/channels/${channelIdOf(place)}/typing` as const;
    await this.#rest.call({ method: 'post', path, bucket: `typing ${channelIdOf(place)}` });
  }
}

/** The fields for a part. Discord parses markup in everything, so `plain` only leaves out what the renderer added. */
export function contentOf(part: OutboundPart): Content {
  return content(part.plain === true ? part.body.plain : part.body.text, part.buttons);
}

/** A short text of the gateway itself (Markdown), cut to what fits. */
export function contentOfText(text: string): Content {
  return content(render(parseMarkdown(text)).text.slice(0, MAX_LENGTH).toWellFormed());
}

function content(text: string, buttons: readonly Button[] = []): Content {
  const flags = MessageFlags.SuppressEmbeds;
  return { content: text, allowed_mentions: { parse: [] }, flags, components: rowsOf(buttons) };
}

/** Discord's styles: grey, green and red. */
const STYLES = {
  normal: ButtonStyle.Secondary,
  confirm: ButtonStyle.Success,
  danger: ButtonStyle.Danger,
};

/** Buttons in rows of five, as Discord wants them. */
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
 * The Discord channel of a place; a thread is one of its own. Only digits may enter a path: an address from elsewhere
 * could otherwise reach another route.
 */
export function channelIdOf({ chatId, threadId }: Place): string {
  const id = threadId ?? chatId;
  if (/^\d{1,20}$/.test(id)) return id;
  throw new ChannelError('rejected', `"${id.slice(0, 40)}" is not a Discord channel id.`);
}

const Created = z.object({ id: z.string() });

/** The id of the message in an answer. Throws `ChannelError('unavailable')` for anything else. */
export function messageId(answer: unknown): string {
  const parsed = Created.safeParse(answer);
  if (parsed.success) return parsed.data.id;
  throw new ChannelError('unavailable', 'Discord gave an answer that is no message.', {
    retryable: true,
    cause: parsed.error,
  });
}
