/** Sends and edits messages and shows typing in Discord's channels, over REST. */
import { readFile } from 'node:fs/promises';
import { ButtonStyle, ComponentType, MessageFlags, Routes } from 'discord.js';
import { z } from 'zod';
import type { OutboundFile, OutboundPart } from '../../src/protocol/channel.ts';
import { nonceDigest } from '../../src/protocol/channel-parts.ts';
import { ChannelError, channelUnavailable } from '../../src/protocol/errors.ts';
import type { Button, Place } from '../../src/protocol/message.ts';
import { parseMarkdown } from '../../src/lib/markdown/markdown.ts';
import { TtlCache } from '../../src/lib/ttl-cache.ts';
import { isAnswerLost, isGone, lacksPermission, toChannelError, toEditError } from './errors.ts';
import { render } from './render.ts';
import type { DiscordRest, UploadFile } from './rest.ts';

/** Discord's limit on a message's text, in characters. */
export const MAX_LENGTH = 2_000;
/** Characters of a nonce, out of Discord's 25; 144 bits are enough to be unique. */
const NONCE_LENGTH = 24;

/** Chats in which the bot was not a member, and how long that is remembered in milliseconds: as long as a command can be answered. */
export const MAX_GUEST_CHATS = 1_000;
const GUEST_MS = 15 * 60_000;

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
  readonly #guestIn: TtlCache<true>;

  /** `onRefused` is called for the first refusal in a channel for lack of a permission. */
  constructor(rest: DiscordRest, monotonicNow: () => number, onRefused: (channelId: string) => void) {
    this.#rest = rest;
    this.#guestIn = new TtlCache(GUEST_MS, MAX_GUEST_CHATS, monotonicNow);
    this.#onRefused = onRefused;
  }

  /** Creates a message; returns its id. A repeated nonce gets the first message, so a lost answer is requested once more. */
  async create(
    { nonce, replyTo, ...place }: OutboundPart | OutboundFile,
    content: Content,
    files?: UploadFile[],
  ): Promise<string> {
    const channelId = channelIdOf(place);
    // The message that started a thread is shown above everything in it, and is often in another channel.
    const isReply = replyTo !== undefined && replyTo !== place.threadId && /^\d{1,20}$/.test(replyTo);
    const body = {
      ...content,
      nonce: nonceDigest(`${channelId}\n${nonce}`, NONCE_LENGTH),
      enforce_nonce: true,
      ...(isReply && { message_reference: { message_id: replyTo, fail_if_not_exists: false } }),
    };
    const path = Routes.channelMessages(channelId);
    const create = async (): Promise<unknown> =>
      await this.#rest.call({ method: 'post', path, bucket: `send ${channelId}`, body, files });
    try {
      const answer = await create().catch(async (error: unknown) => {
        if (!isAnswerLost(error)) throw error;
        return await create();
      });
      this.#rest.noteMessage(channelId, undefined);
      return await this.#withText(answer, channelId, content);
    } catch (error) {
      this.#noteRefusal(channelId, error);
      throw error;
    }
  }

  /** Reports to health and to people that the bot may not write in a channel. */
  #noteRefusal(channelId: string, error: unknown): void {
    if (this.#rest.noteMessage(channelId, toChannelError(error))) this.#onRefused(channelId);
  }

  /** Discord answers a known nonce with the message as it was first sent: that message gets the text. Returns its id. */
  async #withText(answer: unknown, channelId: string, content: Content): Promise<string> {
    const id = messageId(answer);
    const { data } = MessageText.safeParse(answer);
    if (data !== undefined && data.content.trim() !== content.content.trim())
      await this.edit(id, channelId, content);
    return id;
  }

  /** Throws `ChannelError('message_gone')` also for a message that exists but may not be changed: a new one can be sent. */
  async edit(id: string, chatId: string, content: Partial<Content>): Promise<void> {
    const path = Routes.channelMessage(chatId, id);
    try {
      await this.#rest.call({ method: 'patch', path, bucket: `edit ${chatId}`, body: content });
    } catch (error) {
      throw toEditError(error);
    }
  }

  /** A message that is already gone is not an error. */
  async delete(id: string, chatId: string): Promise<void> {
    const path = Routes.channelMessage(chatId, id);
    await unlessGone(this.#rest.call({ method: 'delete', path, bucket: `delete ${chatId}` }));
  }

  /** The bot is not a member of a channel, and reaches it only through the tokens of commands. */
  noteGuest(channelId: string): void {
    this.#guestIn.set(channelId, true);
  }

  async typing(place: Place): Promise<void> {
    const channelId = channelIdOf(place);
    if (this.#guestIn.get(channelId) === true) return;
    try {
      const path = Routes.channelTyping(channelId);
      await this.#rest.call({ method: 'post', path, bucket: `typing ${channelId}` });
    } catch (error) {
      this.#noteRefusal(channelId, error);
      throw error;
    }
  }
}

/** Waits for a deletion; a message that is already gone counts as deleted. */
export async function unlessGone(deletion: Promise<unknown>): Promise<void> {
  try {
    await deletion;
  } catch (error) {
    if (!isGone(error)) throw error;
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

function contentWith(text: string, buttons: readonly Button[] = []): Content {
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

/** The Discord channel of a place; a thread is one of its own. Only digits may enter a path, lest it reach another route. */
export function channelIdOf({ chatId, threadId }: Place): string {
  const id = threadId ?? chatId;
  if (/^\d{1,20}$/.test(id)) return id;
  throw new ChannelError('rejected', `"${id.slice(0, 40)}" is not a Discord channel id.`);
}

const Created = z.object({ id: z.string() });
const MessageText = z.object({ content: z.string() });

/** The id of the message in an answer. Throws `ChannelError('unavailable')` for anything else. */
export function messageId(answer: unknown): string {
  const parsed = Created.safeParse(answer);
  if (parsed.success) return parsed.data.id;
  throw channelUnavailable('Discord did not answer with a message.', parsed.error);
}

/** Largest file that a bot can send where no one has paid for more, in bytes (Discord's documentation). */
export const MAX_UPLOAD_BYTES = 10 * 1024 * 1024 - 64 * 1024;

/** A message with a file. */
export interface FileMessage {
  content: Content;
  files: UploadFile[];
}

/** The forms in which a file can be sent, best first. Throws `ChannelError('rejected')` for a file that cannot be read. */
export async function formsOf(file: OutboundFile): Promise<FileMessage[]> {
  const bytes = await readFile(file.path).catch((cause: unknown) => {
    throw new ChannelError('rejected', `The file ${file.name} cannot be read.`, { cause });
  });
  const files = [{ name: file.name, mimeType: file.mimeType, bytes }];
  const attached = { id: 0, filename: file.name };
  const caption = contentWith(file.caption?.text ?? '');
  const plain = { content: { ...caption, attachments: [attached] }, files };
  const seconds = file.kind === 'voice' && caption.content === '' ? oggSeconds(bytes) : undefined;
  if (seconds === undefined) return [plain];
  const sound = { ...attached, duration_secs: seconds, waveform: WAVEFORM };
  const content = { ...caption, flags: MessageFlags.IsVoiceMessage, attachments: [sound] };
  return [{ content, files }, plain];
}

/** Discord draws up to 256 samples of a byte each; the audio itself is not decoded here, so all samples are the same. */
const WAVEFORM = Buffer.alloc(64, 96).toString('base64');

/** Positions in an Opus OGG file count this many samples a second, whatever the recording used (RFC 7845). */
const OPUS_RATE = 48_000;

/** Duration of a recording, from the last page of its OGG file; undefined for anything else. */
function oggSeconds(bytes: Buffer): number | undefined {
  if (bytes.subarray(0, 4).toString('latin1') !== 'OggS') return undefined;
  const last = bytes.lastIndexOf('OggS');
  if (last + 14 > bytes.length) return undefined;
  const seconds = Number(bytes.readBigInt64LE(last + 6)) / OPUS_RATE;
  return seconds > 0 ? seconds : undefined;
}

/** The refusal of one form, after which another may succeed, as files need their own permission; throws every other error. */
export function fileRefusal(error: unknown): ChannelError {
  const failure = toChannelError(error);
  if (failure.code === 'rejected') return failure;
  if (!lacksPermission(failure)) throw failure;
  const message =
    'The bot is not allowed to send files here on Discord: give it the Attach Files permission.';
  return new ChannelError('rejected', message, { cause: failure.cause });
}
