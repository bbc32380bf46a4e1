/** Reads slash commands and presses, and converts them to the gateway's messages; ignores anything malformed. Pure. */
import { z } from 'zod';
import type { InboundMessage, SentMessage } from '../../../src/protocol/message.ts';
import { Attachment, mediaOf } from '../receiving/attachments.ts';
import { membershipsOf } from '../guilds/members.ts';
import { placeOf, readChannel } from '../receiving/inbound.ts';
import { nameOf, Person, Snowflake } from '../receiving/quoted.ts';

/** The interaction types of commands, of buttons and menus under messages (with the kind that is a button), of suggestions, and of forms. */
const COMMAND = 2;
const MESSAGE_COMPONENT = 3;
const BUTTON = 2;
const AUTOCOMPLETE = 4;
const MODAL_SUBMIT = 5;
/** Group chats and private chats with other people. */
const PRIVATE_CHANNEL = 2;
/** The kind of an installation in a server; `1` is that for a person. */
const GUILD_INSTALL = '0';
/** The types of commands: behind a slash, and on a message. */
const CHAT_INPUT = 1;
const ON_MESSAGE = 3;

export const RawInteraction = z.object({
  id: Snowflake,
  application_id: Snowflake,
  type: z.number(),
  token: z.string(),
  channel_id: Snowflake,
  channel: z.unknown().optional(),
  guild_id: Snowflake.optional(),
  locale: z.string().optional(),
  /** Where it was used: in a server, in private with the bot, or in other people's chats. */
  context: z.number().nullish(),
  /** Who has installed the app that it belongs to, by kind of installation. */
  authorizing_integration_owners: z.record(z.string(), z.unknown()).optional(),
  member: z.object({ user: Person, roles: z.array(Snowflake).default([]) }).optional(),
  user: Person.optional(),
  data: z.object({
    name: z.string(),
    type: z.number().default(CHAT_INPUT),
    options: z
      .array(
        z.object({
          name: z.string(),
          type: z.number().optional(),
          value: z.unknown(),
          focused: z.boolean().optional(),
        }),
      )
      .default([]),
    target_id: Snowflake.optional(),
    resolved: z
      .object({
        attachments: z.record(z.string(), Attachment).default({}),
        messages: z.record(z.string(), z.unknown()).default({}),
      })
      .optional(),
  }),
});
/** A slash command, possibly still being typed, or a command on a message. */
export type RawInteraction = z.infer<typeof RawInteraction>;

const RawPress = RawInteraction.extend({
  message: z.object({ id: Snowflake }),
  data: z.object({ custom_id: z.string(), component_type: z.number() }),
});
/** A pressed button under a message of the bot. */
export type RawPress = z.infer<typeof RawPress>;

const RawForm = RawInteraction.extend({
  /** Absent if a command opened it. */
  message: z.object({ id: Snowflake }).optional(),
  data: z.object({
    custom_id: z.string(),
    components: z.array(
      z.object({ component: z.object({ custom_id: z.string(), value: z.string().default('') }) }),
    ),
  }),
});
/** A form that a user has filled in. */
export type RawForm = z.infer<typeof RawForm>;
/** The type of a command's option that is a file. */
const ATTACHMENT_OPTION = 11;
/** The start of Discord's ids, in epoch milliseconds (2015-01-01). */
const DISCORD_EPOCH = 1_420_070_400_000n;

/** The id of the message on screen that is a deferred command reply. */
export const ORIGINAL = '@original';

/** Undefined for anything but a slash command. */
export function readInteraction(event: unknown): RawInteraction | undefined {
  const { data } = RawInteraction.safeParse(event);
  return data?.type === COMMAND && data.data.type === CHAT_INPUT ? data : undefined;
}

/** Undefined for anything but a command on a message. */
export function readMessageCommand(event: unknown): RawInteraction | undefined {
  const { data } = RawInteraction.safeParse(event);
  return data?.type === COMMAND && data.data.type === ON_MESSAGE ? data : undefined;
}

/** Undefined for anything but a slash command that is being typed. */
export function readTyping(event: unknown): RawInteraction | undefined {
  const { data } = RawInteraction.safeParse(event);
  return data?.type === AUTOCOMPLETE ? data : undefined;
}

/** Undefined for anything but a form that was filled in. */
export function readForm(event: unknown): RawForm | undefined {
  const { data } = RawForm.safeParse(event);
  return data?.type === MODAL_SUBMIT ? data : undefined;
}

/** Undefined for anything but a pressed button. */
export function readPress(event: unknown): RawPress | undefined {
  const { data } = RawPress.safeParse(event);
  return data?.type === MESSAGE_COMPONENT && data.data.component_type === BUTTON ? data : undefined;
}

/** A pressed button as a message without text; undefined if Discord names no user. */
export function fromPress(press: RawPress): InboundMessage | undefined {
  const { data, message } = press;
  const by = byWhom(press);
  return by && { ...by, content: '', button: data.custom_id, forms: true, buttonUnder: { id: message.id } };
}

/**
 * The form that a button has opened, as a press with the values that were filled in; undefined if Discord names no
 * user.
 */
export function fromForm({ data, message, ...rest }: RawForm): InboundMessage | undefined {
  const by = byWhom(rest);
  const buttonUnder = message && { id: message.id };
  return by && { ...by, content: '', button: data.custom_id, fields: fieldsOf(data), buttonUnder };
}

/** The values that were filled in, by field name. */
export function fieldsOf({ components }: RawForm['data']): Record<string, string> {
  return Object.fromEntries(components.map(({ component }) => [component.custom_id, component.value]));
}

/** Who acted, and where; undefined if Discord names no user. */
export function byWhom(
  interaction: Pick<
    RawInteraction,
    | 'id'
    | 'member'
    | 'user'
    | 'channel_id'
    | 'channel'
    | 'guild_id'
    | 'context'
    | 'authorizing_integration_owners'
    | 'locale'
  >,
): Omit<InboundMessage, 'content'> | undefined {
  const user = interaction.member?.user ?? interaction.user;
  if (user === undefined) return undefined;
  return {
    id: interaction.id,
    ...placeOf(interaction.channel_id, readChannel(interaction.channel)?.parentId),
    senderId: user.id,
    senderName: nameOf(user),
    ...(interaction.locale !== undefined && { language: interaction.locale }),
    memberships: membershipsOf(interaction.guild_id, interaction.member?.roles),
    timestamp: timeOf(interaction.id),
    media: [],
    place:
      interaction.guild_id === undefined && interaction.context !== PRIVATE_CHANNEL ? 'private' : 'group',
    ...(isGuest(interaction) && { isGuest: true as const }),
    mentioned: true,
  };
}

/**
 * True in other people's chats, and in a server where only the person has installed the bot: it is not a member
 * there.
 */
function isGuest({
  guild_id: guildId,
  context,
  authorizing_integration_owners: owners,
}: Pick<RawInteraction, 'guild_id' | 'context' | 'authorizing_integration_owners'>): boolean {
  if (context === PRIVATE_CHANNEL) return true;
  return guildId !== undefined && owners !== undefined && !(GUILD_INSTALL in owners);
}

/**
 * A slash command as a message: the prompt of `/ask`, otherwise `/name argument`; its deferred reply is the
 * placeholder.
 */
export function fromInteraction(interaction: RawInteraction, now: number): InboundMessage | undefined {
  const by = byWhom(interaction);
  if (by === undefined) return undefined;
  const { name, options, resolved } = interaction.data;
  const isFile = ({ type }: { type?: number | undefined }): boolean => type === ATTACHMENT_OPTION;
  const values = options.filter((option) => !isFile(option)).map(({ value }) => value);
  const given = values.filter((value) => typeof value === 'string').join(' ');
  const files = options.filter(isFile).map(({ value }) => resolved?.attachments[String(value)]);
  return {
    ...by,
    content: name === 'ask' ? given : `/${name} ${given}`.trimEnd(),
    // No message contains these files, so they can be fetched only while their links live: for a day.
    media: mediaOf({ attachments: files.filter((file) => file !== undefined) }),
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

/** When an id was created, in epoch milliseconds. */
function timeOf(id: string): number {
  return Number((BigInt(id) >> 22n) + DISCORD_EPOCH);
}
