/** What a plug-in's channel hands over, as it must be: nothing else of it reaches the gateway. */
import { z } from 'zod';
import { type ChannelIds, isId } from '../protocol/access.ts';
import type { EarlierMessage } from '../protocol/channel.ts';
import { GatewayError } from '../protocol/errors.ts';
import { mediaShape } from '../protocol/media.ts';
import type { InboundMessage } from '../protocol/message.ts';

/** Longest id of a person, chat, thread or message, and longest name, in UTF-16 units. */
const MAX_ID_CHARS = 250;
const MAX_NAME_CHARS = 300;
/** Longest text of a message; the intake has a lower limit of its own. */
const MAX_TEXT_CHARS = 1_000_000;
/** Files of one message. */
const MAX_MEDIA = 20;

const id = z
  .string()
  .min(1)
  .max(MAX_ID_CHARS)
  .refine((text) => !/\s/.test(text), 'must have no white space');
const name = z.string().max(MAX_NAME_CHARS);
const key = z.string().min(1).max(500);

/** A message of the bot on its platform. */
export const sentShape = z.object({
  id: key,
  metadata: z.record(z.string().max(100), z.string().max(2_000)).optional(),
});

export const identityShape = z.object({ id, name, readsAll: z.boolean().optional() });

export const findingsShape = z
  .array(
    z.object({
      subject: z.string().max(60),
      level: z.enum(['ok', 'warning', 'error']),
      text: z.string().max(500),
      remedy: z.string().max(500).optional(),
    }),
  )
  .max(20);

export const earlierShape = z.array(
  z.object({
    id: key,
    senderId: id,
    senderName: name.optional(),
    content: z.string().max(MAX_TEXT_CHARS),
    isOwn: z.boolean(),
  }),
);

export const webhookAnswerShape = z.object({
  status: z.int().min(200).max(599),
  headers: z.record(z.string().regex(/^[a-z][a-z-]{0,60}$/i), z.string().max(500)).default({}),
  body: z
    .string()
    .max(64 * 1024)
    .default(''),
});

const messageShape = z.object({
  id: key,
  chatId: id,
  threadId: id.optional(),
  senderId: id,
  senderName: name.optional(),
  fromBot: z.boolean().optional(),
  content: z.string().max(MAX_TEXT_CHARS),
  timestamp: z.number().positive(),
  place: z.enum(['private', 'group']),
  mentioned: z.boolean(),
  media: z
    .array(mediaShape.extend({ url: z.string().min(1).max(2_000), name: name.optional() }))
    .max(MAX_MEDIA)
    .default([]),
  messageId: key.optional(),
  isEdit: z.literal(true).optional(),
  quoted: z
    .object({
      by: z.enum(['bot', 'sender', 'other']),
      name: name.optional(),
      text: z.string().max(MAX_TEXT_CHARS),
    })
    .optional(),
  forwarded: z.boolean().optional(),
  language: z.string().max(40).optional(),
  chatName: name.optional(),
  button: z.string().max(500).optional(),
  buttonUnder: sentShape.optional(),
});

/** A message as the gateway receives it. Throws `GatewayError('bad_message')` with the field that breaks the contract. */
export function readMessage(channel: string, ids: ChannelIds, value: unknown): InboundMessage {
  const { data, error } = messageShape.safeParse(value);
  if (data === undefined) {
    const [issue] = error.issues;
    throw bad(`${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`);
  }
  if (!isId(data.senderId, ids.userId)) throw bad(`senderId must be ${ids.description}`);
  if (!isId(data.chatId, ids.chatId)) throw bad(`chatId must be ${ids.description}`);
  const place = ids.privacyOf?.(data.chatId) ?? data.place;
  const { quoted, ...message } = data;
  return {
    ...message,
    channel,
    place,
    ...(quoted && { quoted: { ...quoted, media: [] } }),
  };
}

function bad(reason: string): GatewayError {
  return new GatewayError('bad_message', `The message breaks the contract: ${reason}.`);
}

/** The newest messages of a thread. */
export function readEarlier(messages: z.output<typeof earlierShape>, limit: number): EarlierMessage[] {
  return messages.slice(-limit).map((one) => ({ ...one, media: [] }));
}
