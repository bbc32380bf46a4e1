/** A text with its entities as Markdown: the addresses behind words and the blocks of code, which the text alone lacks. Pure. */
import { linkText } from '../../../src/lib/markdown/link.ts';
import type { TelegramEntity } from './update.ts';

/** Of entities that overlap, the first counts. */
export function markedText(text: string, entities: readonly TelegramEntity[]): string {
  let marked = '';
  let end = 0;
  for (const entity of entities.toSorted((one, other) => one.offset - other.offset)) {
    const { offset, length } = entity;
    const words = text.slice(offset, offset + length);
    const shown = offset < end || words === '' ? undefined : withMark(entity, words, text[offset - 1]);
    if (shown === undefined) continue;
    marked += text.slice(end, offset) + shown;
    end = offset + length;
    if (entity.type === 'pre' && end < text.length && text[end] !== '\n') marked += '\n';
  }
  return marked + text.slice(end);
}

/** Undefined for an entity that adds nothing to its words. `before`: the character in front of them. */
function withMark(
  { type, url = '', language = '' }: TelegramEntity,
  words: string,
  before: string | undefined,
): string | undefined {
  if (type === 'pre') {
    const start = before === undefined || before === '\n' ? '' : '\n';
    return `${start}\`\`\`${/^[\w+#.-]{1,32}$/.test(language) ? language : ''}\n${words}\n\`\`\``;
  }
  return type === 'text_link' ? linkText(words, url) : undefined;
}
