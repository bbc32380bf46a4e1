/** The parts of a Telegram update that the channel reads, checked once when it arrives; everything else is ignored. */
import { z } from 'zod';

/** Telegram promises 52 significant bits; a number beyond a double's precision names some other chat and is refused. */
const id = z.union([z.int(), z.string().regex(/^-?\d{1,20}$/)]).transform(String);

const person = z.object({
  id,
  is_bot: z.boolean(),
  first_name: z.string().optional(),
  last_name: z.string().optional(),
});

const chat = z.object({ id, type: z.string(), is_forum: z.boolean().optional() });

const entity = z.object({
  type: z.string(),
  offset: z.int().min(0),
  length: z.int().min(0),
  user: person.optional(),
});

const file = z.object({
  file_id: z.string(),
  file_name: z.string().optional(),
  mime_type: z.string().optional(),
  file_size: z.number().optional(),
});

const message = z.object({
  message_id: id,
  date: z.number(),
  chat,
  from: person.optional(),
  sender_chat: z.object({ id }).optional(),
  via_bot: person.optional(),
  is_automatic_forward: z.boolean().optional(),
  /** Present on what was forwarded. */
  forward_origin: z.unknown().optional(),
  message_thread_id: id.optional(),
  is_topic_message: z.boolean().optional(),
  /** Telegram's own notes: said in the group that became a supergroup, and in that one. */
  migrate_to_chat_id: id.optional(),
  migrate_from_chat_id: id.optional(),
  text: z.string().optional(),
  caption: z.string().optional(),
  entities: z.array(entity).optional(),
  caption_entities: z.array(entity).optional(),
  reply_to_message: z.object({ message_id: id, from: person.optional() }).optional(),
  photo: z.array(file).optional(),
  document: file.optional(),
  animation: file.optional(),
  audio: file.optional(),
  voice: file.optional(),
  video: file.optional(),
  video_note: file.optional(),
});

/** What one element of `getUpdates` must be for the channel to act on it (Bot API `Update`). */
export const updateSchema = z.object({
  update_id: z.int().min(0),
  message: message.optional(),
  callback_query: z
    .object({
      id: z.string(),
      from: person,
      data: z.string().optional(),
      /** Of an old message only its place is told. */
      message: z
        .object({
          chat,
          message_id: id,
          message_thread_id: id.optional(),
          is_topic_message: z.boolean().optional(),
        })
        .optional(),
    })
    .optional(),
});

export type TelegramUpdate = z.infer<typeof updateSchema>;
export type TelegramPress = NonNullable<TelegramUpdate['callback_query']>;
export type TelegramMessage = z.infer<typeof message>;
export type TelegramEntity = z.infer<typeof entity>;
