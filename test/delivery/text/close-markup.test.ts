/** The unfinished end of a growing text, made readable. */
import { describe, expect, it } from 'vitest';
import { closeOpenMarkup } from '../../../src/delivery/text/open-end.ts';
import { MessageChunker } from '../../../src/delivery/text/chunker.ts';
import { renderHeavy } from '../render.ts';

describe('the open end of a growing text', () => {
  it.each([
    ['a **bold', 'a **bold**'],
    ['a **bold *both', 'a **bold *both***'],
    ['a `code', 'a `code`'],
    ['a `', 'a '],
    ['a ~~gone', 'a ~~gone~~'],
    ['2 * 3', '2 * 3'],
    ['snake_case_', 'snake_case_'],
    ['see [the page](https://exa', 'see the page'],
    ['whole **bold** and `code`', 'whole **bold** and `code`'],
    ['**old\n\nnew *open', '**old\n\nnew *open*'],
    ['`a ** b` c', '`a ** b` c'],
  ])('shows %j as %j', (text, closed) => {
    expect(closeOpenMarkup(text)).toBe(closed);
  });

  it('closes an open code block only in what is shown', () => {
    const pages = new MessageChunker({ render: renderHeavy, maxLength: 500 });
    pages.push('```ts\nconst a = **1');
    expect(pages.open().map((page) => page.text)).toEqual(['```ts\nconst a = **1\n```']);
    pages.push('*2;\n```\n');
    expect(pages.finish().map((page) => page.text)).toEqual(['```ts\nconst a = **1*2;\n```']);
  });

  it('adds a footer if there is room for it', () => {
    const pages = new MessageChunker({ render: renderHeavy, maxLength: 20 });
    pages.push('short');
    expect(pages.open('tool').map((page) => page.text)).toEqual(['short\n\n_tool_']);
    pages.push(' but full');
    expect(pages.open('a tool').map((page) => page.text)).toEqual(['short but full']);
  });
});
