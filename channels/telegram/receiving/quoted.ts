/**
 * Reads what a Telegram message replies to; leaves out a part with an unknown form, and never loses the message.
 * Pure.
 */
import { z } from 'zod';
import { boundQuote, type Quoted } from '../../../src/protocol/message.ts';
import { forwardOrigin, person, type TelegramMessage, type TelegramPress } from './update.ts';

const text = z.string().optional().catch(undefined);
const file = z.looseObject({ file_name: text }).optional().catch(undefined);
const files = {
  photo: z.array(z.unknown()).transform(() => ({ file_name: undefined })),
  animation: file,
  document: file,
  audio: file,
  voice: file,
  video: file,
  video_note: file,
};

const quotable = z.object({
  from: person.optional().catch(undefined),
  via_bot: z.unknown().optional(),
  sender_chat: z.object({ title: text }).optional().catch(undefined),
  forward_origin: forwardOrigin.optional(),
  date: z.number().optional().catch(undefined),
  text,
  caption: text,
  sticker: z.object({ emoji: text }).optional().catch(undefined),
  ...files,
  photo: files.photo.optional().catch(undefined),
});

const external = quotable.extend({ origin: forwardOrigin.optional() });
const chosenPart = z.object({ text: z.string() });

/** The gateway's kinds, by Telegram's fields. */
const KINDS: readonly [Quoted['media'][number]['kind'], keyof typeof files][] = [
  ['image', 'photo'],
  ['video', 'animation'],
  ['file', 'document'],
  ['audio', 'audio'],
  ['voice', 'voice'],
  ['video', 'video'],
  ['video', 'video_note'],
];

/** The parts of a message that say what it replies to: a message of this chat or of another, and the selected part of it. */
export interface ReplyParts {
  answered: TelegramMessage['reply_to_message'];
  chosen: unknown;
  elsewhere: unknown;
}

/**
 * The quote in a message that `sender` wrote; undefined if the message replies to nothing that has a text or a file.
 * Never throws.
 */
export function quotedOf(
  { answered, chosen, elsewhere }: ReplyParts,
  { botId, sender }: { botId: string; sender: string },
): Quoted | undefined {
  const part = chosenPart.safeParse(chosen).data?.text;
  const foreign = external.safeParse(elsewhere).data;
  // No matter who wrote it, a message of another chat is not part of this conversation.
  if (foreign !== undefined) {
    return boundQuote({ ...partsOf(foreign, part), by: 'other', author: foreign.origin?.author });
  }
  const own = quotable.safeParse(answered).data;
  if (own === undefined) return undefined;
  const { from, date } = own;
  const sentAt = date === undefined ? undefined : date * 1_000;
  if (from?.id === botId) return boundQuote({ ...partsOf(own, part), by: 'bot', sentAt });
  // What the sender only forwarded, or sent through an inline bot, is text that others wrote.
  const isOwn = from?.id === sender && own.forward_origin === undefined && own.via_bot === undefined;
  if (isOwn && own.sender_chat === undefined) return boundQuote({ ...partsOf(own, part), by: 'sender' });
  const author = own.forward_origin?.author ?? own.sender_chat?.title ?? (from && nameOf(from));
  return boundQuote({ ...partsOf(own, part), by: 'other', author });
}

/** A person's name as people see it. */
export function nameOf(someone: TelegramPress['from']): string | undefined {
  const name = [someone.first_name, someone.last_name].filter(Boolean).join(' ');
  return name === '' ? undefined : name;
}

function partsOf(
  message: z.infer<typeof quotable>,
  part: string | undefined,
): Pick<Quoted, 'text' | 'media'> {
  const { sticker } = message;
  const placeholder = sticker === undefined ? '' : `[sticker ${sticker.emoji ?? ''}]`;
  const found = KINDS.flatMap(([kind, field]) => {
    // Telegram sends an animation as a document as well.
    if (field === 'document' && message.animation !== undefined) return [];
    const one = message[field];
    return one === undefined ? [] : [{ kind, name: one.file_name }];
  });
  return { text: part ?? message.text ?? message.caption ?? placeholder, media: found };
}
