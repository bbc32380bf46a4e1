/** Texts that break renderers: fixed ones to look at, and an arbitrary that mixes Markdown with everything else. */
import * as fc from 'fast-check';

/** Each contains the word "readable", which must reach the reader. */
export const HOSTILE_TEXTS: readonly string[] = [
  'readable <b>bold</i> & &amp; &lt; <script>alert(1)</script>',
  '<img src=x onerror=alert(1)> readable',
  '**readable *unbalanced ~~markup `code ```',
  '[readable](javascript:alert(1)) and [x](" onmouseover=alert(1))',
  '![readable](https://example.test/?a=1&b="2")',
  'readable 👩‍👩‍👧‍👦 🇺🇳 e\u0301 \u202Eright to left\u202C',
  'lone \uD83D readable \uDC00 surrogates',
  'NUL \u0000 readable \u0007 bell \u001B[31m',
  'readable @everyone @here <@1> <#2> https://example.test/?q=1&r=2',
  '```js\nreadable("<&>")\n',
  '| readable | b |\n|---|---|\n| `x|y` | <i>z</i> |',
  '> quoted readable\n> > deeper\n\n1. one\n   - two\n     - [x] three',
];

const PIECES = (
  '** * _ ~~ ` ``` ```js⏎ #␠ >␠ -␠ 1.␠ -␠[␠]␠ | |---|---|⏎ [ ]( ) ![ https://example.test/a?b=c&d javascript:x ' +
  'tg://user?id=1 <b> </b> < > & &amp; &#0; " \\ ⏎ ⏎⏎ ␠␠␠␠ --- \uD83D \uDC00 \0 👩‍👧 [^1] [^1]:␠'
)
  .split(' ')
  .map((piece) => piece.replaceAll('␠', ' ').replaceAll('⏎', '\n'));

/** Strings that look like Markdown gone wrong. */
export const markdownish: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...PIECES) },
      { weight: 2, arbitrary: fc.string({ maxLength: 12 }) },
      { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 6 }) },
      { weight: 1, arbitrary: fc.constantFrom('word ', 'two words', 'x') },
    ),
    { maxLength: 40 },
  )
  .map((parts) => parts.join(''));
