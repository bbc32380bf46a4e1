/** Answers of 64 KiB, each of one kind of text. */

const SIZE = 64 * 1024;

/** Kinds with what they repeat. */
const PIECES: readonly (readonly [kind: string, piece: string])[] = [
  ['prose', 'A sentence about README.md and /proc in words. '],
  ['paragraphs with links', 'See [the site](https://example.test/a?b=c&d) and [x](tel:+49).\n\n'],
  [
    'tables',
    '| a | b |\n|--|--:|\n| short | 1 |\n| a much longer cell than the others | with words in it |\n\n',
  ],
  ['loose lists', '- item **one** of many\n\n  with more\n\n'],
  ['formulas', 'It is \\(a_1 = \\frac{1}{2}\\) and \\[\\begin{x} q \\end{x}\\] there. '],
  ['quotes', '> said and done\n> again\n\n'],
  ['code', '```ts\nconst a = [1, 2, 3].map((one) => one * 2); // and so on\n```\n\n'],
  ['one block of code', '    return `${a} & <b>`;\n'],
  ['entities', '&amp; '],
  ['dense marks', '**a** *b* ~~c~~ `d` '],
];

/** Kinds with their texts. */
export const LONG_ANSWERS: readonly (readonly [kind: string, text: string])[] = PIECES.map(
  ([kind, piece]) => {
    const opening = kind === 'one block of code' ? '```js\n' : '';
    return [kind, opening + piece.repeat(Math.ceil(SIZE / piece.length)).slice(0, SIZE - opening.length)];
  },
);
