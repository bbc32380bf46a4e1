/** What apps and webhooks post instead of text: embeds, and text in components ("components v2"). Pure. */
import { ComponentType } from 'discord.js';
import { z } from 'zod';
import { clipMiddle } from '../../../src/lib/text.ts';

/** Longest text read of the cards of one message, in UTF-16 units: as much as Discord allows in embeds. */
export const MAX_CARD_CHARS = 6_000;
/** A section lies in a container, and its text in the section. */
const MAX_DEPTH = 3;

const TEXT_DISPLAY: number = ComponentType.TextDisplay;

const text = z.string().optional().catch(undefined);
const named = z.object({ name: text }).optional().catch(undefined);

const Embed = z.object({
  author: named,
  title: text,
  url: text,
  description: text,
  fields: z
    .array(z.object({ name: z.string().default(''), value: z.string().default('') }))
    .default([])
    .catch([]),
  footer: z.object({ text }).optional().catch(undefined),
});

const Component = z.object({
  type: z.number(),
  content: text,
  components: z.array(z.unknown()).default([]).catch([]),
});

/** The parts of a message with cards; a part with an unknown form is left out. */
export const Cards = z.object({
  embeds: z.array(z.unknown()).default([]).catch([]),
  components: z.array(z.unknown()).default([]).catch([]),
});

/** The text of all cards of a message. */
export function textOfCards({ embeds, components }: z.infer<typeof Cards>): string {
  const lines = [
    ...embeds.flatMap((one) => embedLines(Embed.safeParse(one).data)),
    ...components.flatMap((one) => componentLines(one, MAX_DEPTH)),
  ];
  return clipMiddle(readTags(lines.filter((line) => line !== '').join('\n')), MAX_CARD_CHARS);
}

/** The text with emojis and commands by name, and times as people elsewhere write them. */
export function readTags(text: string): string {
  return text
    .replaceAll(/<a?(:\w{2,32}:)\d{1,20}>/g, '$1')
    .replaceAll(/<(\/[^<>:\n]{1,100}):\d{1,20}>/g, '$1')
    .replaceAll(/<t:(-?\d{1,10})(?::[tTdDfFsSR])?>/g, (_, seconds: string) => timeText(Number(seconds)));
}

/** `2026-01-31 09:27 UTC`. */
function timeText(seconds: number): string {
  return `${new Date(seconds * 1_000).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

function embedLines(embed: z.infer<typeof Embed> | undefined): string[] {
  if (embed === undefined) return [];
  const { author, title = '', url, description = '', fields, footer } = embed;
  return [
    author?.name ?? '',
    title !== '' && url !== undefined ? `${title} (${url})` : title,
    description,
    ...fields.map(({ name, value }) => `${name}: ${value}`),
    footer?.text ?? '',
  ];
}

function componentLines(value: unknown, depth: number): string[] {
  const { data } = Component.safeParse(value);
  if (data === undefined || depth === 0) return [];
  const inner = data.components.flatMap((one) => componentLines(one, depth - 1));
  return data.type === TEXT_DISPLAY ? [data.content ?? ''] : inner;
}
