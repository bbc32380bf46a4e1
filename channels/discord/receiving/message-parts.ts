/** The parts of a Discord message: people, files, the message replied to, and everything that is described as text. Pure. */
import { MessageFlags } from 'discord.js';
import { z } from 'zod';
import { kindOfType } from '../../../src/protocol/channel-parts.ts';
import type { Media } from '../../../src/protocol/media.ts';
import { boundQuote, type Quoted } from '../../../src/protocol/message.ts';
import { oneLine } from '../../../src/lib/text.ts';
import { SNOWFLAKE } from '../config.ts';
import { Cards, readTags, textOfCards } from './cards.ts';

export const Snowflake = z.string().regex(SNOWFLAKE);

export const Person = z.object({
  id: Snowflake,
  username: z.string().optional(),
  global_name: z.string().nullish(),
  bot: z.boolean().optional(),
});

export const Attachment = z.object({
  id: Snowflake.optional(),
  url: z.string(),
  filename: z.string().optional(),
  content_type: z.string().nullish(),
  size: z.number().optional(),
  /** Duration of a voice message, in seconds. */
  duration_secs: z.number().nullish(),
});
export type Attachment = z.infer<typeof Attachment>;

/** The parts of a message, or of a forwarded one, that are read here. A part with an unknown form is left out. */
export const Enclosures = z.object({
  ...Cards.shape,
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

/** What Discord keeps of a forwarded message: its author is not included. */
export const Snapshot = z.object({
  message: z.object({
    content: z.string().default(''),
    mentions: z.array(Person).default([]),
    ...Enclosures.shape,
  }),
});

/** A message replied to. A part with an unknown form is left out: the message that quotes it must be answered. */
export const Referenced = z.object({
  author: Person,
  webhook_id: z.unknown().optional(),
  content: z.string().catch(''),
  timestamp: z.string().optional().catch(undefined),
  mentions: z.array(Person).catch([]),
  attachments: z
    .array(z.object({ filename: z.string().optional(), content_type: z.string().nullish() }))
    .catch([]),
  message_snapshots: z.array(Snapshot).nullish().catch([]),
  ...Cards.shape,
});

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
export function mediaOf(
  { attachments, flags = 0 }: Pick<Enclosures, 'attachments' | 'flags'>,
  of?: MessagePlace,
): Media[] {
  const isVoice = (flags & MessageFlags.IsVoiceMessage) !== 0;
  return attachments.map((attachment) => {
    const { url, filename, content_type: type, size, duration_secs: seconds } = attachment;
    const kind = isVoice ? 'voice' : kindOfType(type);
    return {
      kind,
      url: of === undefined ? url : `${url}#${of.channelId}/${of.messageId}`,
      // Discord chooses the names of recordings, not the sender.
      ...(!isVoice && { name: filename }),
      mimeType: type ?? undefined,
      bytes: size,
      seconds: seconds ?? undefined,
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
  const lines = stickers.map(({ name }) => (names ? `[sticker ${oneLine(name)}]` : '[sticker]'));
  if (poll) {
    const answers = poll.answers.map((answer) => answer.poll_media.text).join(' / ');
    lines.push(`[${oneLine(`poll "${poll.question.text}": ${answers}`)}]`);
  }
  return lines.join('\n');
}

/** The quote in a message from a sender; undefined if the message replied to has neither text nor files. Never throws. */
export function quotedOf(
  referenced: z.infer<typeof Referenced> | null | undefined,
  botId: string,
  senderId: string,
): Quoted | undefined {
  if (referenced === null || referenced === undefined) return undefined;
  const { author, webhook_id: webhook, message_snapshots: snapshots, timestamp, attachments } = referenced;
  const forwarded = (snapshots ?? []).map(({ message }) => message);
  // Elsewhere an embed is the preview of a link.
  const hasCards = author.id !== botId && (webhook !== undefined || author.bot === true);
  const lines = [
    withNames(referenced),
    hasCards ? textOfCards(referenced) : '',
    ...forwarded.map(textOfForwarded),
  ];
  const files = [...attachments, ...forwarded.flatMap((one) => one.attachments)];
  const parts = {
    text: lines.filter(Boolean).join('\n'),
    media: files.map((one) => ({ kind: kindOfType(one.content_type), name: one.filename })),
  };
  const isPlain = webhook === undefined && (snapshots === undefined || snapshots === null);
  if (isPlain && author.id === botId) {
    return boundQuote({ ...parts, by: 'bot', sentAt: Date.parse(timestamp ?? '') || undefined });
  }
  if (isPlain && author.id === senderId) return boundQuote({ ...parts, by: 'sender' });
  return boundQuote({ ...parts, by: 'other', author: nameOf(author) });
}

/** All text of a forwarded message. */
function textOfForwarded(message: z.infer<typeof Snapshot>['message']): string {
  return [withNames(message), textOfEnclosures(message, true), textOfCards(message)]
    .filter(Boolean)
    .join('\n');
}

/** The text with names in place of people's ids and tags; `readWhole` asks Discord for the names of channels and roles. */
export function withNames(message: { content: string; mentions: z.infer<typeof Person>[] }): string {
  const { content, mentions } = message;
  const named = content.replaceAll(/<@!?(\d{1,20})>/g, (tag, id: string) => {
    const person = mentions.find((one) => one.id === id);
    return person === undefined ? tag : `@${nameOf(person) ?? id}`;
  });
  return readTags(named);
}

/** A person's name as people see it. */
export function nameOf(person: z.infer<typeof Person>): string | undefined {
  return person.global_name ?? person.username;
}
