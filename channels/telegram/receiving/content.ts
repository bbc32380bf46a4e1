/** What a Telegram message contains besides its text: files, quotes, and everything else described as text. Pure. */
import { z } from 'zod';
import type { Media } from '../../../src/protocol/media.ts';
import { boundQuote, type Quoted } from '../../../src/protocol/message.ts';
import { oneLine } from '../../../src/lib/text.ts';
import { markedText } from './marked-text.ts';
import { readRichMessage } from './rich-text.ts';
import { entities, forwardOrigin, person, type TelegramMessage, type TelegramPress } from './update.ts';

/** The gateway's kinds of files, by Telegram's fields. Telegram sends an animation as a document as well. */
const KINDS: readonly [Quoted['media'][number]['kind'], keyof typeof files][] = [
  ['image', 'photo'],
  ['video', 'animation'],
  ['file', 'document'],
  ['audio', 'audio'],
  ['voice', 'voice'],
  ['video', 'video'],
  ['video', 'video_note'],
];

/** The attached files; `url` is Telegram's file id, for `getFile`. Of a photo in several sizes, the last is the largest. */
export function mediaOf(message: TelegramMessage): Media[] {
  return KINDS.flatMap(([kind, field]): Media[] => {
    const file = field === 'photo' ? message.photo?.at(-1) : message[field];
    if (file === undefined || isAnimation(field, message)) return [];
    const { file_id: url, file_name: name, mime_type: mimeType, file_size: bytes, duration: seconds } = file;
    return [{ kind, url, name, mimeType, bytes, seconds }];
  });
}

function isAnimation(field: string, { animation }: { animation?: unknown }): boolean {
  return field === 'document' && animation !== undefined;
}

/** Content that is neither text nor a file, as text. `by`: the author of this text, if not the sender. */
export interface Enclosure {
  text: string;
  by?: string;
}

/** Undefined for a message that contains none. */
export function enclosureOf(message: TelegramMessage): Enclosure | undefined {
  return stickerOf(message) ?? locationOf(message) ?? listOf(message) ?? unreadableOf(message);
}

/** Emojis contain no letters; a text in their place would be something a person wrote. */
const EMOJI = /^[^\p{L}\p{Cc}\s]{1,32}$/u;

function stickerOf({ sticker, dice, contact, game }: TelegramMessage): Enclosure | undefined {
  const emoji = (text = ''): string => (EMOJI.test(text) ? ` ${text}` : '');
  if (sticker) return { text: `[sticker${emoji(sticker.emoji)}]` };
  if (dice) return { text: `[dice${emoji(dice.emoji)}: ${dice.value}]` };
  if (game) return { text: bracketed(`game "${game.title}"`), by: 'a game' };
  if (contact === undefined) return undefined;
  const name = [contact.first_name, contact.last_name].filter(Boolean).join(' ');
  return { text: bracketed(`contact ${name}, ${contact.phone_number}`), by: 'a contact card' };
}

function locationOf({ venue, location }: TelegramMessage): Enclosure | undefined {
  if (venue) {
    const { title, address } = venue;
    const at = coordinates(venue.location);
    return { text: bracketed(`place "${title}", ${address}, at ${at}`), by: 'a place on the map' };
  }
  if (location === undefined) return undefined;
  // A live location moves by edits of its message, which the channel does not read.
  const live = location.live_period === undefined ? '' : 'live ';
  return { text: `[${live}location ${coordinates(location)}]` };
}

/** Six decimal places are a tenth of a meter. */
function coordinates({ latitude, longitude }: { latitude: number; longitude: number }): string {
  return `${latitude.toFixed(6)}, ${longitude.toFixed(6)}`;
}

/** The sender wrote the poll or checklist, unless it is forwarded. */
function listOf({ poll, checklist }: TelegramMessage): Enclosure | undefined {
  if (poll) {
    const options = poll.options.map(({ text }) => text);
    return { text: bracketed(`poll "${poll.question}": ${options.join(' / ')}`) };
  }
  if (checklist === undefined) return undefined;
  const tasks = checklist.tasks.map(({ text, completion_date: date }) => `${date ? '☑' : '☐'} ${text}`);
  return { text: bracketed(`checklist "${checklist.title}": ${tasks.join(', ')}`) };
}

/** Content that bots cannot read, by its field. */
const UNREADABLE = {
  story: 'story',
  giveaway: 'giveaway',
  paid_media: 'paid media',
  rich_message: 'formatted page',
} as const;

function unreadableOf(message: TelegramMessage): Enclosure | undefined {
  const richText = readRichMessage(message.rich_message);
  if (richText !== undefined) return { text: richText };
  for (const field of ['story', 'giveaway', 'paid_media', 'rich_message'] as const)
    if (message[field] !== undefined) return { text: `[${UNREADABLE[field]}, which I cannot read]` };
  return undefined;
}

function bracketed(text: string): string {
  return `[${oneLine(text)}]`;
}

/* What a message replies to: a part with an unknown form is left out, and never loses the message. */

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
  entities,
  caption_entities: entities,
  rich_message: z.unknown().optional(),
  sticker: z.object({ emoji: text }).optional().catch(undefined),
  ...files,
  photo: files.photo.optional().catch(undefined),
});

const external = quotable.extend({ origin: forwardOrigin.optional() });

const selectedPart = z.object({ text: z.string(), entities });

/** The quote of what a message from `sender` replies to, or of the selected part; undefined for none. Never throws. */
export function quotedOf(
  repliedTo: TelegramMessage['reply_to_message'],
  selection: unknown,
  externalReply: unknown,
  botId: string,
  sender: string,
): Quoted | undefined {
  const selected = selectedPart.safeParse(selection).data;
  const part = selected && markedText(selected.text, selected.entities ?? []);
  const foreign = external.safeParse(externalReply).data;
  // No matter who wrote it, a message of another chat is not part of this conversation.
  if (foreign !== undefined)
    return boundQuote({ ...partsOf(foreign, part), by: 'other', author: foreign.origin?.author });
  const message = quotable.safeParse(repliedTo).data;
  if (message === undefined) return undefined;
  const { from, date, forward_origin: origin, sender_chat: chat, via_bot: inlineBot } = message;
  const parts = partsOf(message, part);
  if (from?.id === botId) {
    // Telegram tells whole seconds: until the end of this one, or the answer to a chat's first message counts as older than the chat.
    const sentAt = date === undefined ? undefined : (date + 1) * 1_000 - 1;
    return boundQuote({ ...parts, by: 'bot', sentAt });
  }
  // What the sender only forwarded, or sent through an inline bot, is text that others wrote.
  const isSenders = from?.id === sender && origin === undefined && inlineBot === undefined;
  if (isSenders && chat === undefined) return boundQuote({ ...parts, by: 'sender' });
  return boundQuote({
    ...parts,
    by: 'other',
    author: origin?.author ?? chat?.title ?? (from && nameOf(from)),
  });
}

/** A person's name as people see it. */
export function nameOf(someone: TelegramPress['from']): string | undefined {
  const name = [someone.first_name, someone.last_name].filter(Boolean).join(' ');
  return name === '' ? undefined : name;
}

function partsOf(message: z.infer<typeof quotable>, part: string | undefined) {
  const { sticker, text: ownText, caption } = message;
  const shown =
    ownText === undefined
      ? caption && markedText(caption, message.caption_entities ?? [])
      : markedText(ownText, message.entities ?? []);
  const placeholder = sticker === undefined ? '' : `[sticker ${sticker.emoji ?? ''}]`;
  const media = KINDS.flatMap(([kind, field]) => {
    const file = message[field];
    return file === undefined || isAnimation(field, message) ? [] : [{ kind, name: file.file_name }];
  });
  return { text: part ?? shown ?? readRichMessage(message.rich_message) ?? placeholder, media };
}
