/** What a Telegram message contains besides its text: files, and everything else described as text, so that nothing is dropped silently. */
import type { Media } from '../../../src/protocol/media.ts';
import { oneLine } from '../../../src/lib/text.ts';
import type { TelegramMessage } from './update.ts';

type File = NonNullable<TelegramMessage['document']>;

/**
 * The attached files; `url` is Telegram's file id, for `getFile`. Telegram sends an animation as a document as well,
 * and a photo in several sizes, the largest last.
 */
export function mediaOf(message: TelegramMessage): Media[] {
  const { photo, animation, document, audio, voice, video, video_note: note } = message;
  const found: [Media['kind'], File | undefined][] = [
    ['image', photo?.at(-1)],
    ['video', animation],
    ['file', animation ? undefined : document],
    ['audio', audio],
    ['voice', voice],
    ['video', video],
    ['video', note],
  ];
  return found.flatMap(([kind, file]) => (file ? [toMedia(kind, file)] : []));
}

function toMedia(kind: Media['kind'], file: File): Media {
  return {
    kind,
    url: file.file_id,
    ...(file.file_name === undefined ? {} : { name: file.file_name }),
    ...(file.mime_type === undefined ? {} : { mimeType: file.mime_type }),
    ...(file.file_size === undefined ? {} : { bytes: file.file_size }),
    ...(file.duration === undefined ? {} : { seconds: file.duration }),
  };
}

/** Content that is neither text nor a file, as text. `by`: the author of this text, if not the sender. */
export interface Enclosure {
  text: string;
  by?: string;
}

/** Undefined for a message that contains none. */
export function enclosureOf(message: TelegramMessage): Enclosure | undefined {
  return shownOf(message) ?? placeOf(message) ?? listOf(message) ?? unreadableOf(message);
}

/** Emojis contain no letters; a text in their place would be something a person wrote. */
const EMOJI = /^[^\p{L}\p{Cc}\s]{1,32}$/u;

function shownOf({ sticker, dice, contact, game }: TelegramMessage): Enclosure | undefined {
  const emoji = (text = ''): string => (EMOJI.test(text) ? ` ${text}` : '');
  if (sticker) return { text: `[sticker${emoji(sticker.emoji)}]` };
  if (dice) return { text: `[dice${emoji(dice.emoji)}: ${dice.value}]` };
  if (game) return { text: bracketed(`game "${game.title}"`), by: 'a game' };
  if (contact === undefined) return undefined;
  const name = [contact.first_name, contact.last_name].filter(Boolean).join(' ');
  return { text: bracketed(`contact ${name}, ${contact.phone_number}`), by: 'a contact card' };
}

function placeOf({ venue, location }: TelegramMessage): Enclosure | undefined {
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
  const tasks = checklist.tasks.map(({ text, completion_date: done }) => `${done ? '☑' : '☐'} ${text}`);
  return { text: bracketed(`checklist "${checklist.title}": ${tasks.join(', ')}`) };
}

/** Content that bots cannot read or that is not worth reading, by its field. */
const UNREADABLE = {
  story: 'story',
  giveaway: 'giveaway',
  paid_media: 'paid media',
  rich_message: 'formatted page',
} as const;

function unreadableOf(message: TelegramMessage): Enclosure | undefined {
  for (const field of ['story', 'giveaway', 'paid_media', 'rich_message'] as const)
    if (message[field] !== undefined) return { text: `[${UNREADABLE[field]}, which I cannot read]` };
  return undefined;
}

function bracketed(text: string): string {
  return `[${oneLine(text)}]`;
}
