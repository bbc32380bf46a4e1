/** What a Discord message contains besides its text: files, and everything else described as text. Pure. */
import { z } from 'zod';
import type { Media } from '../../../src/protocol/media.ts';
import { oneLine } from '../../../src/lib/text.ts';
import { kindOf, Snowflake } from './quoted.ts';

export const Attachment = z.object({
  id: Snowflake.optional(),
  url: z.string(),
  filename: z.string().optional(),
  content_type: z.string().nullish(),
  size: z.number().optional(),
  /** Duration of a voice message, in seconds. */
  duration_secs: z.number().nullish(),
});
type Attachment = z.infer<typeof Attachment>;

/** The parts of a message, or of a forwarded one, that are read here. A part with an unknown form is left out. */
export const Enclosures = z.object({
  attachments: z.array(Attachment).default([]),
  flags: z.number().optional(),
  sticker_items: z
    .array(z.object({ name: z.string() }))
    .optional()
    .catch(undefined),
  poll: z
    .object({
      question: z.object({ text: z.string().default('') }),
      answers: z.array(z.object({ poll_media: z.object({ text: z.string().default('') }) })),
    })
    .nullish()
    .catch(undefined),
});
type Enclosures = z.infer<typeof Enclosures>;

/** Set on a message that consists of one recording. */
const IS_VOICE_MESSAGE = 1 << 13;
/** The file that Discord's apps create for a text that is too long for a message. */
const LONG_TEXT = 'message.txt';
/** Largest such file that is read as its message's text, in bytes: the gateway's longest message can hold it. */
export const MAX_LONG_TEXT_BYTES = 90_000;

/** The message from which fresh links to its files can be requested. */
export interface MessagePlace {
  channelId: string;
  messageId: string;
}

/** The location of a file, as encoded in `Media.url`. `of` is missing for the files of a command. */
export interface FileReference {
  url: URL;
  of?: MessagePlace | undefined;
}

/** The files of a message; their references name the message, because links to files expire. */
export function mediaOf({ attachments, flags = 0 }: Enclosures, of?: MessagePlace): Media[] {
  const isVoice = (flags & IS_VOICE_MESSAGE) !== 0;
  return attachments.map((attachment) => {
    const { url, filename, content_type: type, size, duration_secs: seconds } = attachment;
    const kind = isVoice ? 'voice' : kindOf(type);
    return {
      kind,
      url: of === undefined ? url : `${url}#${of.channelId}/${of.messageId}`,
      // Discord chooses the names of recordings, not the sender.
      ...(filename === undefined || isVoice ? {} : { name: filename }),
      ...(typeof type === 'string' && { mimeType: type }),
      ...(size === undefined ? {} : { bytes: size }),
      ...(typeof seconds === 'number' && { seconds }),
    };
  });
}

/** Undefined for anything that `mediaOf` did not create. */
export function readReference(reference: string): FileReference | undefined {
  const url = URL.parse(reference);
  if (url === null) return undefined;
  const [, channelId, messageId] = /^#(\d{1,20})\/(\d{1,20})$/.exec(url.hash) ?? [];
  url.hash = '';
  if (channelId === undefined || messageId === undefined) return { url };
  return { url, of: { channelId, messageId } };
}

/** The file that contains the message's own text, if it has one; a forwarded message never has. */
export function longTextOf({ attachments }: Enclosures): Attachment | undefined {
  return attachments.find(
    ({ filename, content_type: type, size = Number.POSITIVE_INFINITY }) =>
      filename === LONG_TEXT && type?.startsWith('text/plain') === true && size <= MAX_LONG_TEXT_BYTES,
  );
}

/** Stickers and polls, as text. `names`: including those of stickers, which their creators chose. */
export function textOfEnclosures({ sticker_items: stickers = [], poll }: Enclosures, names: boolean): string {
  const shown = stickers.map(({ name }) => (names ? `[sticker ${oneLine(name)}]` : '[sticker]'));
  if (poll) {
    const answers = poll.answers.map((answer) => answer.poll_media.text).join(' / ');
    shown.push(`[${oneLine(`poll "${poll.question.text}": ${answers}`)}]`);
  }
  return shown.join('\n');
}
