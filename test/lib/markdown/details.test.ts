/** What a writer wants collapsed, found in blocks as Markdown without raw HTML yields them. */
import { expect, it } from 'vitest';
import { type Details, foldDetails, MAX_DETAILS_DEPTH } from '../../../src/lib/markdown/details.ts';
import { parseMarkdown, textBelow } from '../../../src/lib/markdown/markdown.ts';

const seen = (markdown: string): unknown[] =>
  foldDetails(parseMarkdown(markdown).children).map((node) =>
    node.type === 'details'
      ? { title: textsOf(node.summary), inside: textsOf(node.children), ...(node.isOpen && { open: true }) }
      : textBelow(node),
  );
const textsOf = (nodes: Details['children']): string[] => nodes.map((node) => textBelow(node));

it('takes the content between the tags, with the summary separate', () => {
  const one = '<details>\n<summary>The **proof**</summary>\n\nFirst.\n\n- a\n- b\n\n</details>\n\nAfter.';
  expect(seen(`Before.\n\n${one}`)).toEqual([
    'Before.',
    { title: ['The ', 'proof'], inside: ['First.', 'a b'] },
    'After.',
  ]);
  expect(seen('<details open><summary>T</summary>\nright here\n</details>')).toEqual([
    { title: ['T'], inside: ['right here'], open: true },
  ]);
});

it('finds the end directly below a list, a table and code', () => {
  const around = (text: string): string => `<details>\n<summary>T</summary>\n\n${text}\n</details>\n\nAfter.`;
  for (const [text, inside] of [
    ['- a\n- b', 'a b'],
    ['| a | b |\n|--|--|\n| c | d |', 'a b c d'],
    ['```\ncode\n```', 'code'],
  ] as const)
    expect(seen(around(text))).toEqual([{ title: ['T'], inside: [inside] }, 'After.']);
});

it('keeps nested details, and extends to the end of the text while the closing tag is not yet written', () => {
  const inner = '<details>\n\ninner\n\n</details>';
  const [outer, after] = foldDetails(
    parseMarkdown(`<details>\n\na\n\n${inner}\n\nb\n\n</details>\n\nc`).children,
  );
  expect(outer).toMatchObject({ type: 'details', children: { length: 5 } });
  expect(after?.type).toBe('paragraph');
  expect(seen('<details>\n<summary>half a tit')).toEqual([{ title: ['half a tit'], inside: [] }]);
  expect(seen('<details>\n<summary>T</summary>\n\nso far')).toEqual([{ title: ['T'], inside: ['so far'] }]);
});

it('leaves everything else as it is', () => {
  for (const text of ['see <details> here', '<details ontoggle=alert(1)>', '</details>', '`<details>`'])
    expect(seen(text)).toEqual([text.replaceAll('`', '')]);
});

it('collapses a limited number of nested details; deeper ones lose their tags and keep their text', () => {
  const depthOf = (nodes: ReturnType<typeof foldDetails>): number =>
    Math.max(
      0,
      ...nodes.map((node) => (node.type === 'details' ? 1 + depthOf(foldDetails(node.children)) : 0)),
    );
  const textIn = (nodes: ReturnType<typeof foldDetails>): string =>
    nodes
      .map((node) => (node.type === 'details' ? textIn(foldDetails(node.children)) : textBelow(node)))
      .join(' ');
  for (const [depth, end] of [
    [MAX_DETAILS_DEPTH, '\n\n</details>'],
    [MAX_DETAILS_DEPTH + 1, '\n\n</details>'],
    [5_000, '\n\n</details>'],
    [5_000, ''],
  ] as const) {
    const text = `${'<details>\n\n'.repeat(depth)}inside${end.repeat(depth)}`;
    const folded = foldDetails(parseMarkdown(text).children);
    expect([depth, depthOf(folded)]).toEqual([depth, Math.min(depth, MAX_DETAILS_DEPTH)]);
    expect(textIn(folded)).toBe('inside');
  }
});
