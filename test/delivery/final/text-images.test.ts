/** Code and images by their position in a Markdown text. */
import { describe, expect, it } from 'vitest';
import { fencedBlocks } from '../../../src/delivery/final/long-code.ts';
import { imagesIn } from '../../../src/delivery/final/answer-files.ts';

describe('the blocks of code in a text', () => {
  it('are found with their language, at the margin and in a list, closed or not', () => {
    const text = 'a\n```js\nlet a;\n```\n1. b\n\n   ~~~~ py x\n   if a:\n     ```\n   ~~~~\nc\n```\nend';
    const found = fencedBlocks(text);
    expect(found.map(({ info, code, indent }) => [info, code, indent.length])).toEqual([
      ['js', 'let a;', 0],
      ['py x', 'if a:\n  ```', 3],
      ['', 'end', 0],
    ]);
    expect(found.map(({ start, end }) => text.slice(start, end).split('\n').at(-1))).toEqual([
      '```',
      '   ~~~~',
      'end',
    ]);
  });

  it('are found quickly in a text of many fences', () => {
    const text = '`````````` x\n'.repeat(20_000);
    const before = performance.now();
    expect(fencedBlocks(text).length).toBeGreaterThan(0);
    expect(performance.now() - before).toBeLessThan(1_000);
  });
});

describe('the images of a text', () => {
  const pathsIn = (text: string) => imagesIn(text).map(({ path }) => path);

  it('are those that name a file, with their position and description', () => {
    const text = 'See ![the *chart*](out/my%20chart.png "t") and ![](<a b.png>).';
    const found = imagesIn(text);
    expect(found.map(({ alt, path, start, end }) => [alt, path, text.slice(start, end)])).toEqual([
      ['the chart', 'out/my chart.png', '![the *chart*](out/my%20chart.png "t")'],
      ['', 'a b.png', '![](<a b.png>)'],
    ]);
  });

  it('are not addresses, code or links', () => {
    expect(
      pathsIn('![a](https://x.org/a.png) ![b](data:image/png;base64,AA) ![c](//x/y.png) [d](d.png)'),
    ).toEqual([]);
    expect(pathsIn('`![a](a.png)`\n\n```md\n![b](b.png)\n```\n\n    ![c](c.png)\n')).toEqual([]);
    expect(pathsIn('![no')).toEqual([]);
  });

  it('are found in a text that is too long to be parsed at once', () => {
    const filler = 'words, *marks* and words\n\n'.repeat(4_000);
    const text = `${filler}![a](a.png)\n\n${filler}![b](b.png)`;
    expect(imagesIn(text).map(({ start, end }) => text.slice(start, end))).toEqual([
      '![a](a.png)',
      '![b](b.png)',
    ]);
  });
});
