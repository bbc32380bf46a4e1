/** The cards that apps post: attachments and blocks, as text. Pure. */
import { z } from 'zod';
import { clipMiddle } from '../../src/lib/text.ts';

/** Longest text read of the cards in one message, in UTF-16 units. */
export const MAX_CARD_CHARS = 4_000;

const words = z.object({ text: z.string() });

/** The blocks that contain text ("Block Kit": header, section, context); a part with an unknown form is left out. */
const block = z.object({
  text: words.optional().catch(undefined),
  fields: z.array(words).optional().catch(undefined),
  elements: z.array(z.unknown()).optional().catch(undefined),
});

/** Blocks of any kind. */
export const blocks = z.array(block.catch({})).nullish().catch(undefined);

type Blocks = z.infer<typeof blocks>;

/** A card of an app ("Secondary message attachments"). */
export interface Card {
  pretext?: string | undefined;
  title?: string | undefined;
  text?: string | undefined;
  fallback?: string | undefined;
  fields?: { title?: string | undefined; value?: string | undefined }[] | undefined;
  footer?: string | undefined;
  blocks?: Blocks;
}

/** The text of cards in Slack's markup: the blocks count only where a message has no text of its own. */
export function cardText(cards: readonly Card[], ownBlocks: Blocks): string {
  const lines = [...blockLines(ownBlocks), ...cards.flatMap(cardLines)].filter((line) => line !== '');
  return clipMiddle(lines.join('\n'), MAX_CARD_CHARS);
}

function cardLines({ pretext, title, text, fallback, fields = [], footer, blocks: inner }: Card): string[] {
  const lines = [
    pretext ?? '',
    title ?? '',
    text ?? '',
    ...fields.map((field) => [field.title, field.value].filter(Boolean).join(': ')),
    ...blockLines(inner),
    footer ?? '',
  ].filter((line) => line !== '');
  return lines.length > 0 ? lines : [fallback ?? ''];
}

function blockLines(all: Blocks): string[] {
  return (all ?? []).flatMap(({ text, fields = [], elements = [] }) => [
    text?.text ?? '',
    ...fields.map((field) => field.text),
    ...elements.flatMap((element) => words.safeParse(element).data?.text ?? []),
  ]);
}
