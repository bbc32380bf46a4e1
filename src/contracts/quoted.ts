/** The message that another message replies to, as the model reads it. */
import { z } from 'zod';
import { clipMiddle } from '../lib/text.ts';
import { mediaShape } from './media.ts';
import type { Source } from './tools/risk.ts';

/** Longest quoted text, in UTF-16 units: more than a Telegram or Discord message can contain. */
export const MAX_QUOTED_CHARS = 8_000;
/** Files of a quoted message that are named; more than a Telegram album or a Discord message has. */
const MAX_QUOTED_MEDIA = 10;

/** For parsing what was stored. */
export const storedQuote = z.object({
  text: z.string(),
  by: z.enum(['bot', 'sender', 'other']),
  author: z.string().optional(),
  sentAt: z.number().optional(),
  media: z.array(mediaShape.pick({ kind: true, name: true })),
});

/**
 * A quoted message. `by` says whose words these are: this bot's own, the quoting sender's own, or someone else's, which
 * includes what the sender had only forwarded. `author` names someone else and is for display only; `sentAt` is the
 * platform's time in epoch milliseconds, if it reports one; the text is empty when the message has only files.
 */
export type Quoted = z.infer<typeof storedQuote>;

/**
 * The quote within its limits: a longer text loses its middle, with a marker; undefined when there is nothing to read
 * in it.
 */
export function boundQuote(quoted: Quoted): Quoted | undefined {
  if (quoted.text === '' && quoted.media.length === 0) return undefined;
  const media = quoted.media.slice(0, MAX_QUOTED_MEDIA).map(({ kind, name }) => ({ kind, name }));
  return { ...quoted, text: clipMiddle(quoted.text, MAX_QUOTED_CHARS), media };
}

/** Sources of a quoted text: empty for text of the bot and of the sender, if it comes without files. */
export function sourcesOfQuote({ by, media }: Quoted): Source[] {
  const others: Source[] = by === 'other' ? ['quoted'] : [];
  const named: Source[] = media.some(({ name }) => name !== undefined) ? ['local'] : [];
  return [...others, ...named];
}
