/** Converts Discord's events to the gateway's messages; ignores anything malformed. Pure. */
import { ChannelType, MessageReferenceType, MessageType } from 'discord.js';
import { z } from 'zod';
import type { EarlierMessage } from '../../../src/protocol/channel.ts';
import type { InboundMessage, Place } from '../../../src/protocol/message.ts';
import { textOfCards } from './cards.ts';
import {
  Enclosures,
  mediaOf,
  nameOf,
  Person,
  quotedOf,
  Referenced,
  Snapshot,
  Snowflake,
  textOfEnclosures,
  withNames,
} from './message-parts.ts';

/** Threads: channels to Discord, threads of their parent channel to the gateway. */
const THREADS: readonly number[] = [
  ChannelType.AnnouncementThread,
  ChannelType.PublicThread,
  ChannelType.PrivateThread,
];
/** Forums and media channels: every post in them is a thread. */
const FORUMS: readonly number[] = [ChannelType.GuildForum, ChannelType.GuildMedia];
const DIRECT: number = ChannelType.DM;
const ChannelInfo = z.object({
  type: z.number(),
  parent_id: Snowflake.nullish(),
  guild_id: Snowflake.optional(),
  owner_id: Snowflake.nullish(),
});

/** The kind of a Discord channel. `parentId` is set for a thread: grants of the parent channel apply to it as well. */
export interface ChannelKind {
  place: InboundMessage['place'];
  parentId?: string | undefined;
  guildId?: string | undefined;
  /** For a thread: the person who opened it. */
  ownerId?: string | undefined;
  /** It contains posts, and no messages of its own. */
  isForum?: true | undefined;
}

/** The readers of a message: the bot, and the role that Discord has created for it in the message's server. */
export interface Reader {
  botId: string;
  roleId?: string | undefined;
}

/** Undefined for anything but a channel description. Only a thread has a parent here: a channel's parent is its category. */
export function readChannel(answer: unknown): ChannelKind | undefined {
  const { data } = ChannelInfo.safeParse(answer);
  if (data === undefined) return undefined;
  const place = data.type === DIRECT ? 'private' : 'group';
  const kind: ChannelKind = { place, guildId: data.guild_id };
  if (FORUMS.includes(data.type)) return { ...kind, isForum: true };
  if (!THREADS.includes(data.type)) return kind;
  return { ...kind, parentId: data.parent_id ?? undefined, ownerId: data.owner_id ?? undefined };
}

const RawMessage = z.object({
  id: Snowflake,
  channel_id: Snowflake,
  /** Only in events, and not from every server. */
  channel_type: z.number().optional(),
  guild_id: Snowflake.optional(),
  author: Person,
  /** Only in events. */
  member: z.object({ roles: z.array(Snowflake).default([]) }).optional(),
  webhook_id: Snowflake.optional(),
  content: z.string(),
  timestamp: z.string(),
  type: z.number(),
  mentions: z.array(Person).default([]),
  mention_roles: z.array(Snowflake).default([]),
  edited_timestamp: z.string().nullish(),
  ...Enclosures.shape,
  message_reference: z.object({ type: z.number().optional(), message_id: Snowflake.optional() }).nullish(),
  message_snapshots: z.array(Snapshot).nullish(),
  referenced_message: Referenced.nullish(),
});
/** A message as it arrives over the gateway and in a channel's history. */
export type RawMessage = z.infer<typeof RawMessage>;

/** The kind of a message's channel, if its event reveals it: undefined for a thread, whose parent it does not name. */
export function kindOfEvent({ guild_id: guild, channel_type: type }: RawMessage): ChannelKind | undefined {
  if (guild === undefined) return { place: 'private' };
  return type === undefined || THREADS.includes(type) ? undefined : { place: 'group', guildId: guild };
}

/** Types of messages that people write. All others are Discord's notices or the bot's command replies. */
const WRITTEN: readonly number[] = [MessageType.Default, MessageType.Reply];

/** Undefined for anything but a message. */
export function readMessage(event: unknown): RawMessage | undefined {
  return RawMessage.safeParse(event).data;
}

/** The messages in an answer that lists some, oldest first. */
export function readMessages(answer: unknown): RawMessage[] {
  return (Array.isArray(answer) ? answer : [])
    .map(readMessage)
    .filter((message) => message !== undefined)
    .sort((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1));
}

/** A message whose author has changed its text; undefined for every other change of a message. */
export function readEdit(event: unknown): RawMessage | undefined {
  const message = readMessage(event);
  return typeof message?.edited_timestamp === 'string' && !isByBot(message) ? message : undefined;
}

/**
 * A message written by a person, another bot or a webhook; undefined for those of the bot itself and of the system.
 * The caller supplies the kind of its channel: a message does not say that it is in a thread, and one from the
 * history does not even name its server.
 */
export function toInbound(
  message: RawMessage,
  reader: Reader,
  kind: ChannelKind,
): InboundMessage | undefined {
  const { author } = message;
  const { botId, roleId } = reader;
  if (author.id === botId) return undefined;
  if (!WRITTEN.includes(message.type)) return undefined;
  const isNamed =
    (roleId !== undefined && message.mention_roles.includes(roleId)) ||
    message.mentions.some(({ id }) => id === botId);
  const forwarded = (message.message_snapshots ?? []).map((snapshot) => snapshot.message);
  // A reference to a forwarded message points into another chat, whose messages no one here can reply to.
  const replyTo =
    message.message_reference?.type === MessageReferenceType.Forward
      ? undefined
      : message.message_reference?.message_id;
  const parts = [withoutBotName(message, reader), ...forwarded];
  const texts = parts.map(withNames);
  // The name of a sticker is not the sender's own text; text next to it would not count as such either.
  const isSticker =
    texts.every((text) => text === '') &&
    parts.some((part) => part.sticker_items?.length !== undefined && part.sticker_items.length > 0);
  const enclosed = [...parts.map((part) => textOfEnclosures(part, isSticker)), ...cardsOf(message)];
  const of = { channelId: message.channel_id, messageId: message.id };
  return {
    id: message.id,
    ...placeOf(message.channel_id, kind.parentId),
    senderId: author.id,
    ...(isByBot(message) && { fromBot: true }),
    senderName: nameOf(author),
    content: [...texts, ...enclosed].filter(Boolean).join('\n'),
    timestamp: Date.parse(message.timestamp),
    media: [message, ...forwarded].flatMap((part) => mediaOf(part, of)),
    replyTo,
    messageId: message.id,
    quoted: quotedOf(message.referenced_message, botId, author.id),
    // Discord does not say who wrote a forwarded text; text next to it counts as forwarded, too.
    ...((forwarded.length > 0 || isSticker) && { forwarded: true }),
    ...(isSticker && { forwardedFrom: 'a sticker' }),
    place: kind.place,
    mentioned: isNamed || message.referenced_message?.author.id === botId,
  };
}

/** True for a message that another bot or a webhook wrote. */
export function isByBot({ author, webhook_id: webhook }: RawMessage): boolean {
  return author.bot === true || webhook !== undefined;
}

/** True for a message as Discord shows it without the Message Content Intent, unless it is private or names the bot. */
export function isTextHidden(message: RawMessage, botId: string): boolean {
  const { content, attachments, mentions, sticker_items: stickers = [] } = message;
  const isBare = content === '' && attachments.length === 0 && stickers.length === 0;
  return isBare && !mentions.some(({ id }) => id === botId);
}

/** The place of a channel. A thread belongs to the chat of its parent, and has the same access rules. */
export function placeOf(channelId: string, parentId: string | undefined): Place {
  if (parentId === undefined) return { channel: 'discord', chatId: channelId };
  return { channel: 'discord', chatId: parentId, threadId: channelId };
}

/** Embeds of people's own messages are previews of links, which others wrote. */
function cardsOf(message: RawMessage): string[] {
  const forwarded = (message.message_snapshots ?? []).map((snapshot) => snapshot.message);
  return [...(isByBot(message) ? [message] : []), ...forwarded].map(textOfCards);
}

/** A message of a thread; undefined for notices of Discord. */
export function toEarlier(message: RawMessage, botId: string): EarlierMessage | undefined {
  const { author, type } = message;
  const isOwn = author.id === botId;
  if (!isOwn && !WRITTEN.includes(type)) return undefined;
  const of = { channelId: message.channel_id, messageId: message.id };
  return {
    id: message.id,
    senderId: author.id,
    senderName: nameOf(author),
    content: textOf(message),
    media: mediaOf(message, of),
    forwarded: (message.message_snapshots ?? []).length > 0,
    isOwn,
  };
}

/** All text of a message, including that of its stickers, polls, cards and forwarded messages, with names in place of ids. */
export function textOf(message: RawMessage): string {
  const parts = [message, ...(message.message_snapshots ?? []).map((snapshot) => snapshot.message)];
  const enclosed = parts.map((part) => textOfEnclosures(part, false));
  return [...parts.map(withNames), ...enclosed, ...cardsOf(message)].filter(Boolean).join('\n');
}

function withoutBotName(message: RawMessage, { botId, roleId }: Reader): RawMessage {
  const role = roleId === undefined ? '' : `|<@&${roleId}>`;
  const content = message.content.replace(new RegExp(String.raw`^\s*(?:<@!?${botId}>${role})[\s,:]*`), '');
  return { ...message, content };
}
