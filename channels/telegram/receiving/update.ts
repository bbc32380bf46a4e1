/** The parts of a Telegram update that the channel reads, checked once; all others are ignored. */
import { z } from 'zod';

/** Telegram promises 52 bits; a number beyond a double's precision names a different chat and is refused. */
const id = z.union([z.int(), z.string().regex(/^-?\d{1,20}$/)]).transform(String);

/** The General topic: its messages name no thread, yet it is a topic. */
export const GENERAL_TOPIC = '1';

export const person = z.object({
  id,
  is_bot: z.boolean(),
  first_name: z.string().optional(),
  last_name: z.string().optional(),
  language_code: z.string().optional(),
});

const chat = z.object({
  id,
  type: z.string(),
  title: z.string().optional(),
  is_forum: z.boolean().optional(),
});

const entity = z.object({
  type: z.string(),
  offset: z.int().min(0),
  length: z.int().min(0),
  /** Of a `text_link`. */
  url: z.string().optional().catch(undefined),
  /** Of a `pre`. */
  language: z.string().optional().catch(undefined),
  user: person.optional(),
});

/** If one is invalid, the text is read without any. */
export const entities = z.array(entity).optional().catch(undefined);

const title = z.object({ title: z.string().optional() });

/** The author of a forwarded message (Bot API `MessageOrigin`), in the field that its kind uses. */
const origin = z.object({
  sender_user: z.object({ first_name: z.string().optional(), last_name: z.string().optional() }).optional(),
  sender_user_name: z.string().optional(),
  sender_chat: title.optional(),
  chat: title.optional(),
});

/** Any value counts as forwarded; `author` is its name, if the form is known. */
export const forwardOrigin = z.unknown().transform((value): { author: string | undefined } => {
  const {
    sender_user: user,
    sender_user_name: hiddenName,
    sender_chat: group,
    chat: channel,
  } = origin.safeParse(value).data ?? {};
  const name = [user?.first_name, user?.last_name].filter(Boolean).join(' ') || hiddenName;
  return { author: name ?? group?.title ?? channel?.title };
});

const file = z.object({
  file_id: z.string(),
  file_name: z.string().optional(),
  mime_type: z.string().optional(),
  file_size: z.number().optional(),
  /** Seconds. */
  duration: z.number().optional(),
});

const location = z.object({
  latitude: z.number(),
  longitude: z.number(),
  /** Seconds for which a live location is updated. */
  live_period: z.number().optional(),
});

/** What a message may contain that is neither text nor a file (Bot API 10.3). For some, only their presence is read. */
const enclosures = {
  sticker: z.object({ emoji: z.string().optional() }),
  dice: z.object({ emoji: z.string(), value: z.int() }),
  location,
  venue: z.object({ location, title: z.string(), address: z.string() }),
  contact: z.object({ phone_number: z.string(), first_name: z.string(), last_name: z.string().optional() }),
  poll: z.object({ question: z.string(), options: z.array(z.object({ text: z.string() })) }),
  checklist: z.object({
    title: z.string(),
    tasks: z.array(z.object({ text: z.string(), completion_date: z.number().optional() })),
  }),
  game: z.object({ title: z.string() }),
  story: z.unknown(),
  giveaway: z.unknown(),
  paid_media: z.unknown(),
  rich_message: z.unknown(),
};

/** A bot's connection to a person's account; without `rights`, it may do nothing there. */
export const businessConnection = z.object({
  id: z.string(),
  user: person,
  is_enabled: z.boolean(),
  rights: z.object({ can_reply: z.boolean().optional() }).optional(),
});

const message = z.object({
  message_id: id,
  /** Of a message in a chat of a connected account; `sender_business_bot` sent it in that account's name. */
  business_connection_id: z.string().optional(),
  sender_business_bot: z.unknown().optional(),
  /** Telegram itself sent it for its author: an absence or greeting message, or a scheduled one. */
  is_from_offline: z.boolean().optional(),
  date: z.number(),
  chat,
  from: person.optional(),
  sender_chat: z.object({ id }).optional(),
  /** Only its sender and the bot see it; its `message_id` is then 0. */
  ephemeral_message_id: z.int().optional(),
  /** Of an anonymous administrator: the title that the group gave them. */
  author_signature: z.string().optional(),
  via_bot: person.optional(),
  is_automatic_forward: z.boolean().optional(),
  forward_origin: forwardOrigin.optional(),
  message_thread_id: id.optional(),
  is_topic_message: z.boolean().optional(),
  /** Service messages of Telegram, in the group that became a supergroup and in that supergroup. */
  /** Service messages about topics. The bot names a new topic unless a person has chosen its name. */
  forum_topic_created: z.object({ is_name_implicit: z.boolean().optional() }).optional(),
  forum_topic_edited: z.object({ name: z.string().optional() }).optional(),
  migrate_to_chat_id: id.optional(),
  migrate_from_chat_id: id.optional(),
  text: z.string().optional(),
  caption: z.string().optional(),
  entities,
  caption_entities: entities,
  /** `quotedOf` reads its content, and that of the two fields below: nothing in them may lose the message. */
  reply_to_message: z.looseObject({ message_id: id, from: person.optional() }).optional(),
  /** The part of the message replied to that the person selected. */
  quote: z.unknown().optional(),
  /** The message replied to, if it is in another chat. */
  external_reply: z.unknown().optional(),
  photo: z.array(file).optional(),
  document: file.optional(),
  animation: file.optional(),
  audio: file.optional(),
  voice: file.optional(),
  video: file.optional(),
  video_note: file.optional(),
  /** The same for every part of an album. */
  media_group_id: z.string().optional(),
  ...z.object(enclosures).partial().shape,
});

/** What the bot may do in a chat: `restricted` is a member only while `is_member` says so. */
const member = z.object({ status: z.string(), is_member: z.boolean().optional() });

/** A standard reaction has an `emoji`; others are not read. */
const reaction = z.object({ type: z.string(), emoji: z.string().optional() });

/** What an element of `getUpdates` must contain for the channel to act on it (Bot API `Update`). */
export const updateSchema = z.object({
  update_id: z.int().min(0),
  message: message.optional(),
  edited_message: message.optional(),
  /** A message to the bot in a chat where it is no member, to be answered by `answerGuestQuery`. */
  guest_message: message.extend({ guest_query_id: z.string() }).optional(),
  business_connection: businessConnection.optional(),
  business_message: message.optional(),
  edited_business_message: message.optional(),
  deleted_business_messages: z
    .object({ business_connection_id: z.string(), chat, message_ids: z.array(id) })
    .optional(),
  /** Someone types after the bot's name, in any chat, and then chooses what the bot has offered. */
  inline_query: z.object({ id: z.string(), from: person, query: z.string() }).optional(),
  chosen_inline_result: z
    .object({ from: person, query: z.string(), inline_message_id: z.string().optional() })
    .optional(),
  message_reaction: z
    .object({
      chat,
      message_id: id,
      /** Absent for a reaction in the name of a chat. */
      user: person.optional(),
      actor_chat: z.object({ id }).optional(),
      old_reaction: z.array(reaction),
      new_reaction: z.array(reaction),
    })
    .optional(),
  my_chat_member: z
    .object({ chat, from: person, old_chat_member: member, new_chat_member: member })
    .optional(),
  /** Someone pressed the button of a draft (Bot API `MessageGenerationStopped`). */
  stopped_message_generation: z
    .object({ chat, message_thread_id: id.optional(), draft_id: z.number() })
    .optional(),
  callback_query: z
    .object({
      id: z.string(),
      from: person,
      data: z.string().optional(),
      /** For an old message Telegram sends only its chat and id. */
      message: z
        .object({
          chat,
          message_id: id,
          from: person.optional(),
          message_thread_id: id.optional(),
          is_topic_message: z.boolean().optional(),
        })
        .optional(),
    })
    .optional(),
});

export type TelegramUpdate = z.infer<typeof updateSchema>;
export type TelegramMembership = NonNullable<TelegramUpdate['my_chat_member']>;
export type TelegramReaction = NonNullable<TelegramUpdate['message_reaction']>;
export type TelegramDraftStop = NonNullable<TelegramUpdate['stopped_message_generation']>;
export type TelegramPress = NonNullable<TelegramUpdate['callback_query']>;
export type TelegramMessage = z.infer<typeof message>;
export type TelegramEntity = z.infer<typeof entity>;
