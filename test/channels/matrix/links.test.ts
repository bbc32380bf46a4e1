/** Addresses behind the words of a Matrix message. */
import { expect, it } from 'vitest';
import { MAX_LINKS, withLinks } from '../../../channels/matrix/links.ts';

it.each([
  [
    'here and here',
    '<a href="https://a.example">here</a> and <a class="x" href="https://b.example">here</a>',
    '[here](https://a.example) and [here](https://b.example)',
  ],
  ['https://a.example', '<a href="https://a.example">https://a.example</a>', 'https://a.example'],
  ['run it', '<a href="javascript:alert(1)">run it</a>', 'run it'],
  ['a < b', '<a href="https://a.example">a &lt; b</a>', '[a < b](https://a.example)'],
  ['other words', '<a href="https://a.example">missing</a>', 'other words'],
  ['plain', '', 'plain'],
])('turns "%s" with %s into %s', (body, html, text) => {
  expect(withLinks(body, html)).toBe(text);
});

it(`reads ${MAX_LINKS} links, and hostile HTML in no time`, () => {
  const words = Array.from({ length: MAX_LINKS + 1 }, (_, n) => `w${n}.`);
  const html = words.map((word, n) => `<a href="https://${n}.example">${word}</a>`).join(' ');
  const text = withLinks(words.join(' '), html);
  expect(text.match(/\]\(/g)).toHaveLength(MAX_LINKS);
  expect(text.endsWith(` w${MAX_LINKS}.`)).toBe(true);
  const started = performance.now();
  for (const hostile of [
    '<a ',
    '<a href="x',
    '<a href="https://a.example">',
    '<a href="https://a.example">x<',
  ])
    withLinks('x', hostile.repeat(65_536 / hostile.length));
  expect(performance.now() - started).toBeLessThan(2_000);
});
