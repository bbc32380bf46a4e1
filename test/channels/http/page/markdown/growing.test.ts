/**
 * Answers on the page while they grow: unclosed marks are shown as if they were closed, and what is shown stays where
 * it is.
 */
import { describe, expect, it } from 'vitest';
import type { Inline } from '../../../../../channels/http/page/markdown/nodes.ts';
import { GrowingDocument, parseDocument } from '../../../../../channels/http/page/markdown/document.ts';
import { parseInline } from '../../../../../channels/http/page/markdown/inline.ts';
import { inlineText } from '../../../../../channels/http/page/markdown/plain-text.ts';
import { answers, inBites } from '../../../../corpora/answers.ts';

const beginningsOf = (text: string): string[] =>
  Array.from(text, (_, at) => text.slice(0, at + 1)).concat(text);

describe('a growing line', () => {
  it.each([
    ['a **bold', [{ text: 'a ' }, { type: 'strong', children: [{ text: 'bold' }] }]],
    ['a **bold*', [{ text: 'a ' }, { type: 'strong', children: [{ text: 'bold' }] }]],
    ['***both', [{ type: 'em', children: [{ type: 'strong', children: [{ text: 'both' }] }] }]],
    ['**a *b', [{ type: 'strong', children: [{ text: 'a ' }, { type: 'em' }] }]],
    ['~~gone', [{ type: 'del', children: [{ text: 'gone' }] }]],
    ['**a ~~b', [{ type: 'strong', children: [{ text: 'a ' }, { type: 'del' }] }]],
    ['see `code', [{ text: 'see ' }, { type: 'code', text: 'code' }]],
    [
      'see [the **page',
      [{ text: 'see ' }, { type: 'label', children: [{ text: 'the ' }, { type: 'strong' }] }],
    ],
    ['[page](https://x.o', [{ type: 'label', children: [{ text: 'page' }] }]],
    ['a **', [{ text: 'a ' }]],
    ['重要**なこと', [{ text: '重要' }, { type: 'strong' }]],
  ])('shows %j with its marks closed', (text, expected) => {
    expect(parseInline(text, true)).toMatchObject(expected);
  });

  it.each([
    '2*3 and a * b',
    'about ~5 minutes',
    'as said in [1',
    'list[index',
    'open *here\nnot there',
    'a ` \n b',
  ])('shows %j as it is written: this is rarely markup', (text) => {
    expect(parseInline(text, true)).toEqual([{ type: 'text', text: text.replace(/ +\n/, '\n') }]);
  });

  it.each([
    'It is **bold** and *thin* and `code` and ~~gone~~ and ***both*** at once.',
    'See [the **page**](https://example.org/a_(b) "title") and ![a picture](https://example.org/i.png) there.',
    '__under__ and _lines_, snake_case and 2 * 3 * 4.',
    '**A *b* c** and ``a`b`` end.',
  ])('never takes back what it has shown of %j', (text) => {
    const end = inlineText(text);
    for (const beginning of beginningsOf(text)) {
      const shown = parseInline(beginning, true)
        .map((node) => textIn(node))
        .join('');
      expect(end.startsWith(shown.trim())).toBe(true);
    }
  });
});

function textIn(node: Inline): string {
  if ('children' in node) return node.children.map(textIn).join('');
  return node.type === 'break' ? ' ' : node.text;
}

describe('a growing document', () => {
  const typesOf = (text: string): string[] => new GrowingDocument().blocksOf(text).map(({ type }) => type);

  it("shows a block's markup with its first words", () => {
    for (const marker of [
      '#',
      '## ',
      '-',
      '- ',
      '1',
      '1. ',
      '> ',
      '> - ',
      '```',
      '```py',
      '---',
      '- [',
      '- [x] ',
      '- **',
    ])
      expect([marker, typesOf(`before\n\n${marker}`)]).toEqual([marker, ['paragraph']]);
    expect(typesOf('before\n\n## W')).toEqual(['paragraph', 'heading']);
    expect(typesOf('before\n\n```py\nx')).toEqual(['paragraph', 'code']);
    expect(typesOf('```py\nx\n```')).toEqual(['code']);
  });

  it('shows a table from its first row on', () => {
    const text = '| name | size |\n|---|--:|\n| one | 1 |';
    for (const beginning of beginningsOf(text).slice(2))
      expect([beginning, typesOf(beginning)]).toEqual([beginning, ['table']]);
  });

  it('parses only the growing block again', () => {
    const growing = new GrowingDocument();
    const before = growing.blocksOf('# T\n\nfirst\n\n- a\n- b\n\nlast\nmo');
    const after = growing.blocksOf('# T\n\nfirst\n\n- a\n- b\n\nlast\nmore');
    const same = after.map((block, index) => block === before[index]);
    expect(same).toEqual([true, true, true, false]);
  });

  it('reads another text from its start', () => {
    const growing = new GrowingDocument();
    growing.blocksOf('# T\n\nfirst\n\nlast');
    expect(growing.blocksOf('- a\n\nb')).toEqual(new GrowingDocument().blocksOf('- a\n\nb'));
  });

  it('reads the same as it would from the whole, whatever came before', () => {
    for (const text of answers().slice(0, 40)) {
      const growing = new GrowingDocument();
      let beginning = '';
      for (const bite of inBites(text, 7)) {
        beginning += bite;
        expect(growing.blocksOf(beginning)).toEqual(new GrowingDocument().blocksOf(beginning));
      }
      expect(growing.blocksOf(`${text}\n\nEnd.`)).toEqual(parseDocument(`${text}\n\nEnd.`));
    }
  });
});
