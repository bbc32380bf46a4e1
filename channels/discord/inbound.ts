/** Converts Discord's events to the gateway's messages: pure; anything malformed is ignored. */
import { z } from 'zod';
import type { InboundMessage, Media, Place, SentMessage } from '../../src/contracts/message.ts';

const Snowflake = z.string().regex(/^\d{1,20}$/);
const Person = z.object({
  id: Snowflake,
  username: z.string().optional(),
  global_name: z.string().nullish(),
  bot: z.boolean().optional(),
});
const Attachment = z.object({
  url: z.string(),
  filename: z.string().optional(),
  content_type: z.string().nullish(),
  size: z.number().optional(),
});

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

const RawMessage = z.object({
  id: Snowflake,
  channel_id: Snowflake,
  guild_id: Snowflake.optional(),
  author: Person,
  webhook_id: Snowflake.optional(),
  content: z.string(),
  timestamp: z.string(),
  type: z.number(),
  mentions: z.array(Person).default([]),
  attachments: z.array(Attachment).default([]),
  message_reference: z.object({ message_id: Snowflake.optional() }).nullish(),
  referenced_message: z.object({ author: Person }).nullish(),
});
/** A message as it arrives over the gateway and in a channel's history. */
export type RawMessage = z.infer<typeof RawMessage>;

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
    options: z.array(z.object({ name: z.string(), value: z.unknown() })).default([]),
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
    timestamp: timeOf(press.id),
    media: [],
    place: press.guild_id === undefined ? 'private' : 'group',
    mentioned: true,
  };
}

/**
 * A message written by a person; undefined for messages of the bot itself, other bots, webhooks and the system. The
 * caller gives the kind of its channel: a message does not tell that it is in a thread, one of the history not even its server.
 */
export function toInbound(message: RawMessage, botId: string, kind: ChannelKind): InboundMessage | undefined {
  const { author } = message;
  if (author.id === botId || author.bot === true || message.webhook_id !== undefined) return undefined;
  if (!WRITTEN.includes(message.type)) return undefined;
  const named = message.mentions.some(({ id }) => id === botId);
  return {
    id: message.id,
    ...placeOf(message.channel_id, kind.parentId),
    senderId: author.id,
    senderName: nameOf(author),
    content: readableContent(message, botId),
    timestamp: Date.parse(message.timestamp),
    media: message.attachments.map(toMedia),
    replyTo: message.message_reference?.message_id,
    place: kind.place,
    mentioned: named || message.referenced_message?.author.id === botId,
  };
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
  const { name, options } = interaction.data;
  const given = options.map(({ value }) => (typeof value === 'string' ? value : '')).join(' ');
  return {
    id: interaction.id,
    ...placeOf(interaction.channel_id, readChannel(interaction.channel)?.parentId),
    senderId: user.id,
    senderName: nameOf(user),
    content: name === 'ask' ? given : `/${name} ${given}`.trimEnd(),
    timestamp: timeOf(interaction.id),
    media: [],
    place: interaction.guild_id === undefined ? 'private' : 'group',
    mentioned: true,
    placeholder: placeholderOf(interaction, now),
  };
}

/** The deferred reply of a command; `createdAt` (epoch milliseconds, this machine's clock) determines when its token expires. */
function placeholderOf(interaction: RawInteraction, now: number): SentMessage {
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

/** The text without the bot's name at the start, and with names in place of the ids of other people. */
function readableContent(message: RawMessage, botId: string): string {
  const addressed = message.content.replace(new RegExp(String.raw`^\s*<@!?${botId}>[\s,:]*`), '');
  return addressed.replaceAll(/<@!?(\d{1,20})>/g, (tag, id: string) => {
    const person = message.mentions.find((one) => one.id === id);
    return person === undefined ? tag : `@${nameOf(person) ?? id}`;
  });
}

function nameOf(person: z.infer<typeof Person>): string | undefined {
  return person.global_name ?? person.username;
}

function toMedia(attachment: z.infer<typeof Attachment>): Media {
  const mimeType = attachment.content_type ?? undefined;
  const family = mimeType?.split('/')[0];
  return {
    kind: family === 'image' || family === 'audio' || family === 'video' ? family : 'file',
    url: attachment.url,
    ...(attachment.filename === undefined ? {} : { name: attachment.filename }),
    ...(mimeType === undefined ? {} : { mimeType }),
    ...(attachment.size === undefined ? {} : { bytes: attachment.size }),
  };
}
