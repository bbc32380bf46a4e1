/** Markdown for property tests: whole documents with every kind of block, and hostile ones. */
import * as fc from 'fast-check';

const word = fc.constantFrom(
  'alpha',
  'beta',
  'γάμμα',
  '漢字',
  '👩‍👩‍👧‍👦',
  'a&b',
  '<b>',
  'e\u0301',
  'x'.repeat(40),
  '🇩🇪',
  '1.5',
  '\\*',
);
const words = fc.array(word, { minLength: 1, maxLength: 12 }).map((list) => list.join(' '));
const inline = fc.oneof(
  words,
  words.map((text) => `**${text}**`),
  words.map((text) => `*${text}*`),
  words.map((text) => `~~${text}~~`),
  word.map((text) => `\`${text}\``),
  words.map((text) => `[${text}](https://example.org/page)`),
);
const line = fc.array(inline, { minLength: 1, maxLength: 4 }).map((list) => list.join(' '));
const code = fc
  .tuple(fc.constantFrom('', 'ts', 'python'), fc.array(words, { minLength: 1, maxLength: 30 }))
  .map(([lang, lines]) => `\`\`\`${lang}\n${lines.join('\n')}\n\`\`\``);
const list = fc
  .tuple(fc.constantFrom('- ', '3. '), fc.array(line, { minLength: 1, maxLength: 12 }))
  .map(([mark, items]) => items.map((item) => mark + item).join('\n'));
const table = fc
  .array(fc.tuple(words, words), { minLength: 1, maxLength: 12 })
  .map((rows) => ['|head|tail|', '|-|-|', ...rows.map((row) => `|${row.join('|')}|`)].join('\n'));
const quote = fc
  .array(line, { minLength: 1, maxLength: 4 })
  .map((lines) => lines.map((text) => `> ${text}`).join('\n'));

const nested = fc
  .array(fc.tuple(line, fc.array(line, { maxLength: 4 })), { minLength: 1, maxLength: 6 })
  .map((items) =>
    items.map(([item, inner]) => [`- ${item}`, ...inner.map((text) => `  1. ${text}`)].join('\n')).join('\n'),
  );
const quotedCode = code.map((text) => text.replace(/^/gm, '> '));

/** Letters with markup between them in any order: not a document, but text that may arrive. */
export const scribble = fc
  .array(
    fc.constantFrom(
      'a',
      'b',
      ' ',
      '\n',
      '\n\n',
      '*',
      '**',
      '_',

      '[',
      ']',
      '>',
      '> ',
      '- ',
      '#',
      '1. ',
      '    ',
    ),
    {
      maxLength: 400,
    },
  )
  .map((pieces) => pieces.join(''));

/** A document of up to 12 blocks. */
export const markdownDocument = fc
  .array(
    fc.oneof(
      line,
      code,
      list,
      table,
      quote,
      nested,
      quotedCode,
      line.map((text) => `## ${text}`),
    ),
    { minLength: 1, maxLength: 12 },
  )
  .map((blocks) => blocks.join('\n\n'));

/** Texts that take other renderers seconds; each is repeated up to the requested size. */
export const HOSTILE: Record<string, string> = {
  brackets: '[',
  images: '![',
  'link tails': '](',
  'empty links': '[](b)',
  stars: '*',
  'open stars': '*a ',
  'mixed stars': '***_ ',
  underscores: '_',
  'crossed emphasis': '*a_b',
  backticks: '`',
  'open code': '`a ',
  angles: '<',
  tags: '<a ',
  comments: '<!--',
  pipes: '|',
  cells: '|a|\n',
  rows: '|1|2|\n',
  quotes: '>',
  'spaced quotes': '> ',
  bullets: '- ',
  numbers: '1. ',
  'quoted bullets': '- > ',
  items: '- a\n',
  lines: 'a\n',
  'blank lines': '\n',
  headings: '# a\n',
  fences: '```\n',
  definitions: '[a]: b\n',
  footnotes: '[^1]: a\n\n',
  links: 'http://a ',
  mails: 'a@b.c ',
  entities: '&amp;',
  backslashes: '\\',
  tildes: '~~a ',
  tabs: '\t',
  spaces: ' ',
  letters: 'x',
  families: '👩‍👩‍👧‍👦',
  marks: 'e\u0301\u0301\u0301',
  'lone surrogates': '\ud83d',
};
