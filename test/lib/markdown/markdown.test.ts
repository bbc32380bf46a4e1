/** The parser's guard: what is parsed as markup, what is taken literally, and where the line is. */
import { describe, expect, it } from 'vitest';
import { MAX_MARKUP, MAX_NESTING, MAX_PARSED, parseMarkdown } from '../../../src/lib/markdown/markdown.ts';
import { HARD_SEGMENT, Segments } from '../../../src/delivery/text/segments.ts';

const kinds = (text: string) => parseMarkdown(text).children.map((block) => block.type);

describe('the parser', () => {
  it('parses markup up to its limit and treats more of it as plain text', () => {
    const code = '`a` '.repeat(MAX_MARKUP / 2);
    const tame = code.slice(0, code.lastIndexOf('`', code.length - 4));
    const first = (text: string) => {
      const block = parseMarkdown(text).children[0];
      return block?.type === 'paragraph' ? block.children[0]?.type : undefined;
    };
    expect([first(tame), first(code)]).toEqual(['inlineCode', 'text']);
  });

  it('parses a text up to its length limit and treats a longer one as plain text', () => {
    const longest = '# a\n'.padEnd(MAX_PARSED, 'x');
    expect([kinds(longest), kinds(`${longest}x`)]).toEqual([['heading', 'paragraph'], ['paragraph']]);
  });

  it('parses quotes nested up to its limit and treats deeper ones as plain text', () => {
    expect(kinds(`${'>'.repeat(MAX_NESTING)} a`)).toEqual(['blockquote']);
    expect(kinds(`${'>'.repeat(MAX_NESTING + 1)} a`)).toEqual(['paragraph']);
  });

  it.each(['-', '+', '*', '>', '=', '1.'])('reads a code block with a line of many %s as code', (marker) => {
    expect(kinds(`\`\`\`\n${marker.repeat(60)}\n\`\`\``)).toEqual(['code']);
  });

  it.each(['-', '+', '*'])('treats %s as a list only before a space', (marker) => {
    expect(kinds(`**a**\n\n${marker.repeat(60)}x`)).toEqual(['paragraph', 'paragraph']);
    const first = parseMarkdown(`**a**\n\n${marker.repeat(60)}x`).children[0];
    expect(first?.type === 'paragraph' && first.children[0]?.type).toBe('strong');
    expect(kinds(`${`${marker} `.repeat(8)}a`)).toEqual(['list']);
    expect(kinds(`${`${marker} `.repeat(MAX_NESTING + 1)}a`)).toEqual(['paragraph']);
  });

  it('reads a long table of characters in a code block as code', () => {
    const table = '| a | b |\n+---+---+\n'.repeat(700);
    expect(kinds(`\`\`\`\n${table}\`\`\``)).toEqual(['code']);
  });

  it.each([
    ['after the block has ended', `\`\`\`\na\n\`\`\`\n`],
    ['in a block that an indented fence may have ended', ` \`\`\`\na\n\`\`\`\n`],
    ['after a line that only looks like a fence', '```a`b\n'],
    ['where carriage returns end the lines', '```\ra\r```\r'],
    ['after a fence of the other marker in a block', '~~~\n```\n~~~\n'],
  ])('still counts nesting %s', (_, before) => {
    expect(kinds(`${before}${'> '.repeat(60)}a`)).not.toContain('blockquote');
  });

  it('leaves HTML, definitions and footnotes as plain text', () => {
    expect(kinds('<div>\nhello\n</div>\n\n[a]: https://example.org\n\n[^1]: note')).toEqual([
      'paragraph',
      'paragraph',
      'paragraph',
    ]);
  });
});

describe('segments', () => {
  it('never exceed their limit, whatever the input', () => {
    for (const piece of ['x', '- a\n', '|a|b|\n', '> a\n', 'a b ', '```\n', '😀']) {
      const segments = new Segments();
      const text = piece.repeat(Math.ceil((3 * HARD_SEGMENT) / piece.length));
      const closed = segments.push(text);
      const all = [...closed, segments.open()];
      expect(Math.max(...all.map((segment) => segment.text.length))).toBeLessThanOrEqual(HARD_SEGMENT);
      expect(all.map((segment) => segment.text).join('')).toBe(text);
    }
  });
});
