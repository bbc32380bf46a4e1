/** Reads the message that a Discord message replies to, and the names of people. Pure. */
import { z } from 'zod';
import { boundQuote, type Quoted } from '../../../src/protocol/message.ts';

export const Snowflake = z.string().regex(/^\d{1,20}$/);
export const Person = z.object({
  id: Snowflake,
  username: z.string().optional(),
  global_name: z.string().nullish(),
  bot: z.boolean().optional(),
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
  message_snapshots: z.unknown().optional(),
});

/** Discord's families of media types that correspond to a kind. */
const FAMILIES = ['image', 'audio', 'video'] as const;

/** The kind of a file by its media type. */
export function kindOf(mimeType: string | null | undefined): Quoted['media'][number]['kind'] {
  const family = mimeType?.split('/')[0];
  return FAMILIES.find((known) => known === family) ?? 'file';
}

/** The quote in a message from `sender`; undefined if the message replied to has neither text nor files. Never throws. */
export function quotedOf(
  referenced: z.infer<typeof Referenced> | null | undefined,
  { botId, sender }: { botId: string; sender: string },
): Quoted | undefined {
  if (referenced === null || referenced === undefined) return undefined;
  const { author, webhook_id: webhook, message_snapshots: forwarded, timestamp, attachments } = referenced;
  const parts = {
    text: withNames(referenced),
    media: attachments.map((one) => ({ kind: kindOf(one.content_type), name: one.filename })),
  };
  const isPlain = webhook === undefined && (forwarded === undefined || forwarded === null);
  if (isPlain && author.id === botId) {
    const sentAt = Date.parse(timestamp ?? '');
    return boundQuote({ ...parts, by: 'bot', ...(!Number.isNaN(sentAt) && { sentAt }) });
  }
  if (isPlain && author.id === sender) return boundQuote({ ...parts, by: 'sender' });
  return boundQuote({ ...parts, by: 'other', author: nameOf(author) });
}

/** The text with names in place of people's ids. */
export function withNames({
  content,
  mentions,
}: {
  content: string;
  mentions: z.infer<typeof Person>[];
}): string {
  return content.replaceAll(/<@!?(\d{1,20})>/g, (tag, id: string) => {
    const person = mentions.find((one) => one.id === id);
    return person === undefined ? tag : `@${nameOf(person) ?? id}`;
  });
}

/** A person's name as people see it. */
export function nameOf(person: z.infer<typeof Person>): string | undefined {
  return person.global_name ?? person.username;
}
