/** From Discord's events to the house's messages: pure, and strict about what came over the wire. */
import { z } from 'zod';
import type { InboundMessage, Media, SentMessage } from '../../src/message.ts';

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
/** A message as the gateway and the channel's history show it. */
export type RawMessage = z.infer<typeof RawMessage>;

const RawInteraction = z.object({
  id: Snowflake,
  application_id: Snowflake,
  type: z.number(),
  token: z.string(),
  channel_id: Snowflake,
  guild_id: Snowflake.optional(),
  member: z.object({ user: Person }).optional(),
  user: Person.optional(),
  data: z.object({
    name: z.string(),
    options: z.array(z.object({ name: z.string(), value: z.unknown() })).default([]),
  }),
});
/** Somebody used a slash command. */
export type RawInteraction = z.infer<typeof RawInteraction>;

const RawPress = RawInteraction.extend({
  message: z.object({ id: Snowflake }),
  data: z.object({ custom_id: z.string(), component_type: z.number() }),
});
/** Somebody pressed a button under a message of the bot. */
export type RawPress = z.infer<typeof RawPress>;

/** Message types people write: plain and reply. All others are Discord's own notices or the bot's command replies. */
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

/** Undefined for anything that is no message. */
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

/** A pressed button as a message without words. */
export function fromPress(press: RawPress): InboundMessage | undefined {
  const user = press.member?.user ?? press.user;
  if (user === undefined) return undefined;
  return {
    id: press.id,
    channel: 'discord',
    chatId: press.channel_id,
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
 * What a person wrote; undefined for the bot's own words, other bots, webhooks and system messages. `place` is told by
 * the caller, because messages from a channel's history do not say whether they are from a server.
 */
export function toInbound(
  message: RawMessage,
  botId: string,
  place: InboundMessage['place'] = message.guild_id === undefined ? 'private' : 'group',
): InboundMessage | undefined {
  const { author } = message;
  if (author.id === botId || author.bot === true || message.webhook_id !== undefined) return undefined;
  if (!WRITTEN.includes(message.type)) return undefined;
  const named = message.mentions.some(({ id }) => id === botId);
  return {
    id: message.id,
    channel: 'discord',
    chatId: message.channel_id,
    senderId: author.id,
    senderName: nameOf(author),
    content: readableContent(message, botId),
    timestamp: Date.parse(message.timestamp),
    media: message.attachments.map(toMedia),
    replyTo: message.message_reference?.message_id,
    place,
    mentioned: named || message.referenced_message?.author.id === botId,
  };
}

/** A slash command as a message: the prompt of `/ask`, else `/name argument`; its deferred reply is the placeholder. */
export function fromInteraction(interaction: RawInteraction, now: number): InboundMessage | undefined {
  const user = interaction.member?.user ?? interaction.user;
  if (user === undefined) return undefined;
  const { name, options } = interaction.data;
  const given = options.map(({ value }) => (typeof value === 'string' ? value : '')).join(' ');
  return {
    id: interaction.id,
    channel: 'discord',
    chatId: interaction.channel_id,
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

/** The deferred reply of a command; `createdAt` (epoch milliseconds, this machine's clock) tells when its token ends. */
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

/** Without the bot's name at the start; other people's ids replaced by their names. */
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
