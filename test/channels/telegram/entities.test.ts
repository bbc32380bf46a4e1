/** Marks of a message: Telegram ignores those after the hundredth, so that a message has no more, and no link is lost. */
import { describe, expect, it } from 'vitest';
import {
  MAX_ENTITIES,
  MAX_ENTITY_BYTES,
  MAX_LENGTH,
  renderTelegram,
} from '../../../channels/telegram/render.ts';
import { chunksOf, MessageChunker } from '../../../src/delivery/text/chunker.ts';
import { parseMarkdown } from '../../../src/lib/markdown/markdown.ts';
import { readHtml } from '../../fakes/telegram/html.ts';

const TARGET = { render: renderTelegram, maxLength: MAX_LENGTH };
const LINES = 45;
const MANY_MARKS = Array.from(
  { length: LINES },
  (_, at) => `- **\`--flag-${at}\`** sets [option ${at}](https://example.org/${at}) to \`true\`.`,
).join('\n');

const codes = (count: number): string => Array.from({ length: count }, () => '`x`').join(' ');
const fits = (markdown: string): boolean => renderTelegram(parseMarkdown(markdown)).length <= MAX_LENGTH;
const chunked = (markdown: string) => chunksOf(markdown, TARGET, () => Promise.resolve());

describe('the marks of a message', () => {
  it('fill it at their limit, and do not fit beyond', () => {
    expect([fits(codes(MAX_ENTITIES)), fits(codes(MAX_ENTITIES + 1))]).toEqual([true, false]);
  });

  it('count once where a tag holds another for the same mark', () => {
    const blocks = Array.from({ length: MAX_ENTITIES }, () => '```js\nx\n```').join('\n\n');
    expect(fits(blocks)).toBe(true);
  });

  it('fill it at their limit of bytes, addresses included', () => {
    const link = (bytes: number): string => `[x](https://example.org/${'a'.repeat(bytes - 12 - 20)})`;
    expect([fits(link(MAX_ENTITY_BYTES)), fits(link(MAX_ENTITY_BYTES + 1))]).toEqual([true, false]);
  });

  it('continue in the next message, with the address of every link', async () => {
    const messages = (await chunked(MANY_MARKS)).map(({ text }) => readHtml(text));
    expect(messages.length).toBe(2);
    for (const { entities } of messages) expect(entities.length).toBeLessThanOrEqual(MAX_ENTITIES);
    const addresses = messages.flatMap(({ entities }) => entities.flatMap(({ url }) => url ?? []));
    expect(addresses).toEqual(Array.from({ length: LINES }, (_, at) => `https://example.org/${at}`));
  });

  it('are within their limit in every message of a growing answer, which ends as the whole one', async () => {
    const chunker = new MessageChunker(TARGET);
    for (let at = 0; at < MANY_MARKS.length; at += 16) {
      chunker.push(MANY_MARKS.slice(at, at + 16));
      for (const { text } of chunker.open())
        expect(readHtml(text).entities.length).toBeLessThanOrEqual(MAX_ENTITIES);
    }
    expect(chunker.finish()).toEqual(await chunked(MANY_MARKS));
  });

  it('keep only the words of a link whose address is too long for any message', async () => {
    const [message] = await chunked(`[words](https://example.org/${'あ'.repeat(MAX_ENTITY_BYTES / 3)})`);
    expect(message?.text).toBe('words');
  });
});
