/** Reads slash commands and presses, and converts them to the gateway's messages; ignores anything malformed. Pure. */
import {
  ApplicationCommandOptionType,
  ApplicationCommandType,
  ApplicationIntegrationType,
  ComponentType,
  InteractionContextType,
  InteractionType,
  SnowflakeUtil,
} from 'discord.js';
import { z } from 'zod';
import type { InboundMessage, SentMessage } from '../../../src/protocol/message.ts';
import { membershipsOf } from '../guilds.ts';
import { placeOf, readChannel } from '../receiving/inbound.ts';
import { Attachment, mediaOf, nameOf, Person, Snowflake } from '../receiving/message-parts.ts';

/** What every interaction says: who acted, and where. */
const Action = z.object({
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
});
type Action = z.infer<typeof Action>;

const Option = z.object({
  name: z.string(),
  type: z.number().optional(),
  value: z.unknown(),
  focused: z.boolean().optional(),
});

const RawInteraction = Action.extend({
  data: z.object({
    name: z.string(),
    type: z.number().default(ApplicationCommandType.ChatInput),
    options: z.array(Option).default([]),
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

const RawPress = Action.extend({
  message: z.object({ id: Snowflake }),
  data: z.object({ custom_id: z.string(), component_type: z.literal(ComponentType.Button) }),
});
/** A pressed button under a message of the bot. */
export type RawPress = z.infer<typeof RawPress>;

/** Longest option of a menu that Discord accepts. */
export const MAX_OPTION = 100;
const CHOICE = /^choose:([-_a-z0-9]{1,32})$/;

const RawChoice = Action.extend({
  data: z.object({
    custom_id: z.string().regex(CHOICE),
    component_type: z.literal(ComponentType.StringSelect),
    values: z.tuple([z.string().min(1).max(MAX_OPTION)]),
  }),
});
/** A choice from a menu under the reply to a command. */
export type RawChoice = z.infer<typeof RawChoice>;

const RawForm = Action.extend({
  /** Absent if a command opened it. */
  message: z.object({ id: Snowflake }).optional(),
  data: z.object({
    custom_id: z.string(),
    components: z.array(
      z.object({
        component: z.object({
          custom_id: z.string(),
          value: z.string().default(''),
          /** Of a file upload: ids of `resolved.attachments`. */
          values: z.array(z.string()).default([]).catch([]),
        }),
      }),
    ),
    resolved: z.object({ attachments: z.record(z.string(), Attachment).default({}) }).optional(),
  }),
});
/** A form that a user has filled in. */
export type RawForm = z.infer<typeof RawForm>;

/** An interaction by its kind; the kind tells how to answer it. */
export type ReadInteraction =
  | { kind: 'command' | 'message_command' | 'typing'; interaction: RawInteraction }
  | { kind: 'press'; interaction: RawPress }
  | { kind: 'choice'; interaction: RawChoice }
  | { kind: 'form'; interaction: RawForm };

/** Undefined for anything that is not acted on. */
export function readInteraction(event: unknown): ReadInteraction | undefined {
  switch (Action.safeParse(event).data?.type) {
    case InteractionType.ApplicationCommand: {
      const { data } = RawInteraction.safeParse(event);
      if (data?.data.type === ApplicationCommandType.ChatInput) return { kind: 'command', interaction: data };
      if (data?.data.type !== ApplicationCommandType.Message) return undefined;
      return { kind: 'message_command', interaction: data };
    }
    case InteractionType.ApplicationCommandAutocomplete: {
      const { data } = RawInteraction.safeParse(event);
      return data && { kind: 'typing', interaction: data };
    }
    case InteractionType.ModalSubmit: {
      const { data } = RawForm.safeParse(event);
      return data && { kind: 'form', interaction: data };
    }
    case InteractionType.MessageComponent: {
      const { data: press } = RawPress.safeParse(event);
      if (press !== undefined) return { kind: 'press', interaction: press };
      const { data: choice } = RawChoice.safeParse(event);
      return choice && { kind: 'choice', interaction: choice };
    }
    default:
      return undefined;
  }
}

/** The id of the message on screen that is a deferred command reply. */
export const ORIGINAL = '@original';

/** A pressed button as a message without text; undefined if Discord names no user. */
export function fromPress(press: RawPress): InboundMessage | undefined {
  const { data, message } = press;
  const inbound = messageBy(press, '');
  return inbound && { ...inbound, button: data.custom_id, forms: true, buttonUnder: { id: message.id } };
}

/** A choice as the command that it completes; undefined if Discord names no user. */
export function fromChoice(choice: RawChoice, now: number): InboundMessage | undefined {
  const [, name = ''] = CHOICE.exec(choice.data.custom_id) ?? [];
  const inbound = messageBy(choice, `/${name} ${choice.data.values[0]}`);
  return inbound && { ...inbound, placeholder: placeholderOf(choice, now) };
}

/** The form that a button has opened, as a press with the values that were filled in; undefined if Discord names no user. */
export function fromForm(form: RawForm): InboundMessage | undefined {
  const { data, message } = form;
  const inbound = messageBy(form, '');
  const buttonUnder = message && { id: message.id };
  return inbound && { ...inbound, button: data.custom_id, fields: fieldsOf(data), buttonUnder };
}

/** The values that were filled in, by field name. */
export function fieldsOf({ components }: RawForm['data']): Record<string, string> {
  return Object.fromEntries(components.map(({ component }) => [component.custom_id, component.value]));
}

/** The files that were added. */
export function filesOf({ components, resolved }: RawForm['data']): Attachment[] {
  const ids = components.flatMap(({ component }) => component.values);
  return ids.flatMap((id) => resolved?.attachments[id] ?? []);
}

/** A message of the person who acted, where they acted; undefined if Discord names no user. */
export function messageBy(interaction: Action, content: string): InboundMessage | undefined {
  const user = interaction.member?.user ?? interaction.user;
  if (user === undefined) return undefined;
  return {
    id: interaction.id,
    ...placeOf(interaction.channel_id, readChannel(interaction.channel)?.parentId),
    senderId: user.id,
    senderName: nameOf(user),
    content,
    language: interaction.locale,
    memberships: membershipsOf(interaction.guild_id, interaction.member?.roles),
    timestamp: SnowflakeUtil.timestampFrom(interaction.id),
    media: [],
    place:
      interaction.guild_id === undefined && interaction.context !== InteractionContextType.PrivateChannel
        ? 'private'
        : 'group',
    isGuest: isGuest(interaction) || undefined,
    mentioned: true,
  };
}

/** True in other people's chats, and in a server where only the person has installed the bot: it is not a member there. */
function isGuest({ guild_id: guildId, context, authorizing_integration_owners: owners }: Action): boolean {
  if (context === InteractionContextType.PrivateChannel) return true;
  return (
    guildId !== undefined && owners !== undefined && !(ApplicationIntegrationType.GuildInstall in owners)
  );
}

/** A slash command as a message: the prompt of `/ask`, otherwise `/name argument`; its deferred reply is the placeholder. */
export function fromInteraction(interaction: RawInteraction, now: number): InboundMessage | undefined {
  const { name, options, resolved } = interaction.data;
  const isFile = ({ type }: z.infer<typeof Option>) => type === ApplicationCommandOptionType.Attachment;
  const values = options.filter((option) => !isFile(option)).map(({ value }) => value);
  const text = values.filter((value) => typeof value === 'string').join(' ');
  const message = messageBy(interaction, name === 'ask' ? text : `/${name} ${text}`.trimEnd());
  const files = options.filter(isFile).map(({ value }) => resolved?.attachments[String(value)]);
  return (
    message && {
      ...message,
      // No message contains these files, so they can be fetched only while their links live: for a day.
      media: mediaOf({ attachments: files.filter((file) => file !== undefined) }),
      placeholder: placeholderOf(interaction, now),
    }
  );
}

/** What identifies an interaction when it is answered. */
export interface InteractionHandle {
  id: string;
  token: string;
  application_id: string;
}

/** The deferred reply of a command; `createdAt` (epoch milliseconds, this machine's clock) determines when its token expires. */
export function placeholderOf(interaction: InteractionHandle, now: number): SentMessage {
  const { token: interactionToken, application_id: applicationId } = interaction;
  return { id: ORIGINAL, metadata: { interactionToken, applicationId, createdAt: String(now) } };
}
