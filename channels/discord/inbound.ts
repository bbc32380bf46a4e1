/** Converts Discord's events to the gateway's messages: pure; anything malformed is ignored. */
import { z } from 'zod';
import type { InboundMessage, Place, SentMessage } from '../../src/contracts/message.ts';
import { Attachment, Enclosures, mediaOf, wordsOf } from './attachments.ts';
import { nameOf, Person, quotedOf, Referenced, Snowflake, withNames } from './quoted.ts';

/** Public, private and announcement threads: channels for Discord, threads of their parent channel for the gateway. */
const THREADS = [10, 11, 12];
/** A direct message with one person. */
const DM = 1;
const ChannelInfo = z.object({ type: z.number(), parent_id: Snowflake.nullish() });

/** The kind of a Discord channel. `parentId` is set for a thread: grants of the parent channel apply to it as well. */
export interface ChannelKind {
  place: InboundMessage['place'];
  parentId?: string | undefined;
}

/** Undefined for anything but a channel's description. Only a thread has a parent here: a channel's parent is its category. */
export function readChannel(answer: unknown): ChannelKind | undefined {
  const { data } = ChannelInfo.safeParse(answer);
  if (data === undefined) return undefined;
  const parentId = THREADS.includes(data.type) ? (data.parent_id ?? undefined) : undefined;
  return { place: data.type === DM ? 'private' : 'group', parentId };
}

/** What Discord keeps of a forwarded message: not who wrote it. */
const Snapshot = z.object({
  message: z.object({
    content: z.string().default(''),
    mentions: z.array(Person).default([]),
    ...Enclosures.shape,
  }),
});
/** The type of a reference to a message that is forwarded; a reply has 0 or none. */
const FORWARD = 1;

const RawMessage = z.object({
  id: Snowflake,
  channel_id: Snowflake,
  /** Only in events, and not from every server. */
  channel_type: z.number().optional(),
  guild_id: Snowflake.optional(),
  author: Person,
  webhook_id: Snowflake.optional(),
  content: z.string(),
  timestamp: z.string(),
  type: z.number(),
  mentions: z.array(Person).default([]),
  ...Enclosures.shape,
  message_reference: z.object({ type: z.number().optional(), message_id: Snowflake.optional() }).nullish(),
  message_snapshots: z.array(Snapshot).nullish(),
  referenced_message: Referenced.nullish(),
});
/** A message as it arrives over the gateway and in a channel's history. */
export type RawMessage = z.infer<typeof RawMessage>;

/** The kind of a message's channel as far as its event tells: undefined for a thread, whose parent it does not name. */
export function kindOfEvent({ guild_id: guild, channel_type: type }: RawMessage): ChannelKind | undefined {
  if (guild === undefined) return { place: 'private' };
  return type === undefined || THREADS.includes(type) ? undefined : { place: 'group' };
}

const RawInteraction = z.object({
  id: Snowflake,
  application_id: Snowflake,
  type: z.number(),
  token: z.string(),
  channel_id: Snowflake,
  channel: z.unknown().optional(),
  guild_id: Snowflake.optional(),
  member: z.object({ user: Person }).optional(),
  user: Person.optional(),
  data: z.object({
    name: z.string(),
    options: z
      .array(z.object({ name: z.string(), type: z.number().optional(), value: z.unknown() }))
      .default([]),
    resolved: z.object({ attachments: z.record(z.string(), Attachment).default({}) }).optional(),
  }),
});
/** A slash command. */
export type RawInteraction = z.infer<typeof RawInteraction>;

const RawPress = RawInteraction.extend({
  message: z.object({ id: Snowflake }),
  data: z.object({ custom_id: z.string(), component_type: z.number() }),
});
/** A pressed button under a message of the bot. */
export type RawPress = z.infer<typeof RawPress>;

/** Types of messages that people write: plain and reply. All others are Discord's notices or the bot's command replies. */
const WRITTEN = [0, 19];
/** The interaction type of slash commands; buttons and forms are others. */
const SLASH_COMMAND = 2;
/** The interaction type of buttons and menus under messages, and the kind that is a button. */
const MESSAGE_COMPONENT = 3;
const BUTTON = 2;
/** The type of a command's option that is a file. */
const ATTACHMENT_OPTION = 11;
/** Milliseconds at which Discord's ids begin (2015-01-01). */
const DISCORD_EPOCH = 1_420_070_400_000n;

/** The id of the message on screen that a deferred command reply is. */
export const ORIGINAL = '@original';

/** Undefined for anything but a message. */
export function readMessage(event: unknown): RawMessage | undefined {
  return RawMessage.safeParse(event).data;
}

/** Undefined for anything but a slash command. */
export function readInteraction(event: unknown): RawInteraction | undefined {
  const { data } = RawInteraction.safeParse(event);
  return data?.type === SLASH_COMMAND ? data : undefined;
}

/** Undefined for anything but a pressed button. */
export function readPress(event: unknown): RawPress | undefined {
  const { data } = RawPress.safeParse(event);
  return data?.type === MESSAGE_COMPONENT && data.data.component_type === BUTTON ? data : undefined;
}

/** A pressed button as a message without text; undefined when Discord names no user. */
export function fromPress(press: RawPress): InboundMessage | undefined {
  const user = press.member?.user ?? press.user;
  if (user === undefined) return undefined;
  return {
    id: press.id,
    ...placeOf(press.channel_id, readChannel(press.channel)?.parentId),
    senderId: user.id,
    senderName: nameOf(user),
    content: '',
    button: press.data.custom_id,
    buttonUnder: { id: press.message.id },
    timestamp: timeOf(press.id),
    media: [],
    place: press.guild_id === undefined ? 'private' : 'group',
    mentioned: true,
  };
}

/**
 * A message written by a person, another bot or a webhook; undefined for those of the bot itself and of the system. The
 * caller gives the kind of its channel: a message does not tell that it is in a thread, one of the history not even its server.
 */
export function toInbound(message: RawMessage, botId: string, kind: ChannelKind): InboundMessage | undefined {
  const { author } = message;
  if (author.id === botId) return undefined;
  if (!WRITTEN.includes(message.type)) return undefined;
  const named = message.mentions.some(({ id }) => id === botId);
  const forwarded = (message.message_snapshots ?? []).map((snapshot) => snapshot.message);
  // A reference to a forwarded message leads into another chat, whose messages nobody here can reply to.
  const replyTo =
    message.message_reference?.type === FORWARD ? undefined : message.message_reference?.message_id;
  const quoted = quotedOf(message.referenced_message, { botId, sender: author.id });
  const parts = [withoutBotName(message, botId), ...forwarded];
  const texts = parts.map(withNames);
  // The name of a sticker is not the sender's own text; what stands beside it would not be either.
  const isSticker = texts.every((text) => text === '') && parts.some((part) => part.sticker_items?.length);
  const words = parts.map((part) => wordsOf(part, isSticker));
  const of = { channelId: message.channel_id, messageId: message.id };
  return {
    id: message.id,
    ...placeOf(message.channel_id, kind.parentId),
    senderId: author.id,
    ...((author.bot === true || message.webhook_id !== undefined) && { fromBot: true }),
    senderName: nameOf(author),
    content: [...texts, ...words].filter(Boolean).join('\n'),
    timestamp: Date.parse(message.timestamp),
    media: [message, ...forwarded].flatMap((part) => mediaOf(part, of)),
    replyTo,
    ...(quoted && { quoted }),
    // Discord does not say who wrote a forwarded text; what stands beside it counts as forwarded, too.
    ...(forwarded.length > 0 && { forwarded: true }),
    ...(isSticker && { forwarded: true, forwardedFrom: 'a sticker' }),
    place: kind.place,
    mentioned: named || message.referenced_message?.author.id === botId,
  };
}

/** True for a message as Discord shows it without the Message Content Intent, unless it is private or names the bot. */
export function isTextHidden(message: RawMessage, botId: string): boolean {
  const { content, attachments, mentions, sticker_items: stickers = [] } = message;
  const isBare = content === '' && attachments.length === 0 && stickers.length === 0;
  return isBare && !mentions.some(({ id }) => id === botId);
}

/** The place of a channel. A thread belongs to the chat of its parent, and has the same access rules. */
function placeOf(channelId: string, parentId: string | undefined): Place {
  if (parentId === undefined) return { channel: 'discord', chatId: channelId };
  return { channel: 'discord', chatId: parentId, threadId: channelId };
}

/** A slash command as a message: the prompt of `/ask`, else `/name argument`; its deferred reply is the placeholder. */
export function fromInteraction(interaction: RawInteraction, now: number): InboundMessage | undefined {
  const user = interaction.member?.user ?? interaction.user;
  if (user === undefined) return undefined;
  const { name, options, resolved } = interaction.data;
  const isFile = ({ type }: { type?: number | undefined }): boolean => type === ATTACHMENT_OPTION;
  const words = options.filter((option) => !isFile(option)).map(({ value }) => value);
  const given = words.filter((value) => typeof value === 'string').join(' ');
  const files = options.filter(isFile).map(({ value }) => resolved?.attachments[String(value)]);
  return {
    id: interaction.id,
    ...placeOf(interaction.channel_id, readChannel(interaction.channel)?.parentId),
    senderId: user.id,
    senderName: nameOf(user),
    content: name === 'ask' ? given : `/${name} ${given}`.trimEnd(),
    timestamp: timeOf(interaction.id),
    // No message holds these files, so they can be fetched only while their links live: for a day.
    media: mediaOf({ attachments: files.filter((file) => file !== undefined) }),
    place: interaction.guild_id === undefined ? 'private' : 'group',
    mentioned: true,
    placeholder: placeholderOf(interaction, now),
  };
}

/** The deferred reply of a command; `createdAt` (epoch milliseconds, this machine's clock) determines when its token expires. */
export function placeholderOf(
  interaction: Pick<RawInteraction, 'token' | 'application_id'>,
  now: number,
): SentMessage {
  return {
    id: ORIGINAL,
    metadata: {
      interactionToken: interaction.token,
      applicationId: interaction.application_id,
      createdAt: String(now),
    },
  };
}

/** When an id was made, in epoch milliseconds. */
function timeOf(id: string): number {
  return Number((BigInt(id) >> 22n) + DISCORD_EPOCH);
}

/** The message without the bot's name at the start. */
function withoutBotName(message: RawMessage, botId: string): RawMessage {
  const content = message.content.replace(new RegExp(String.raw`^\s*<@!?${botId}>[\s,:]*`), '');
  return { ...message, content };
}
