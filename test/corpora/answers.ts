/** Typical model answers, generated from a fixed seed: prose, lists, code, tables, formulas and links in many languages. */
import * as fc from 'fast-check';

const SEED = 20_261;
/** As many as were examined when the first renderer was measured. */
const ANSWERS = 200;

const SENTENCES = [
  'The short answer is **yes**, but only while the connection stays open.',
  'Run `npm ci` once, then *restart* the service; see README.md for the rest.',
  'According to the [manual](https://example.org/manual?page=3&lang=en#limits), the limit is 4,096 characters.',
  'That costs about $5 a month, i.e. roughly 0.2 % of the budget (2 * 3 * 4 = 24).',
  'Prüfe zuerst, ob der Dienst läuft – “äußere” Fehler stehen in `/var/log/syslog`.',
  'Прежде всего сохраните файл, затем откройте его снова.',
  '首先安装依赖，然后启动服务器。如果失败，请检查日志文件。',
  'まず設定ファイルを開いてください。**重要：**保存を忘れないでください。',
  'هذا النص من اليمين إلى اليسار ويحتوي على `code` وكلمات English.',
  'Great work 👩‍👩‍👧‍👦 — ship it 🚀🇩🇪, then tell @team_lead and #general about it.',
  'Note: `snake_case_name`, 2_000_000, file_name.py and **not**_this_ are all fine.',
  'The growth is \\(O(n \\log n)\\), since \\(a_1 + a_2 \\leq \\frac{n}{2}\\).',
  'Is `a < b && c > d` true? It depends on <T> and on the & sign, doesn’t it?',
  'See https://example.com/a_(b)?x=1&y=2, www.example.net/path or mail help@example.org.',
  'Use `[text](url)` for links; ~~the old way~~ is gone, and \\*stars\\* stay stars.',
];

const CODE: readonly (readonly [string, string])[] = [
  ['python', 'def fib(n: int) -> int:\n    """Slow."""\n    return n if n < 2 else fib(n - 1) + fib(n - 2)'],
  [
    'ts',
    'const found = items.find(({ id }) => id === "a_b") ?? null;\nif (found) console.log(`${found.id} & more`);',
  ],
  ['bash', 'set -euo pipefail\nfor f in *.txt; do\n  grep -n "<b>" "$f" | sed \'s/_/-/g\' >> out.md\ndone'],
  ['', '+--------+------+\n| name   | size |\n+--------+------+\n| a_b_c  |   12 |\n+--------+------+'],
  ['sql', "SELECT id, name FROM users WHERE name LIKE '%\\_%' AND age > 30 ORDER BY 1;"],
  ['html', '<ul class="x">\n  <li>a &amp; b</li>\n</ul>\n<!-- done -->'],
  ['diff', '- old line\n+ new line\n@@ -1,2 +1,2 @@'],
];

const sentence = fc.constantFrom(...SENTENCES);
const paragraph = fc.array(sentence, { minLength: 1, maxLength: 4 }).map((all) => all.join(' '));
const long = fc.array(sentence, { minLength: 12, maxLength: 24 }).map((all) => all.join(' '));
const heading = fc
  .tuple(
    fc.constantFrom('#', '##', '###', '####'),
    fc.constantFrom('Overview', 'Step 2: **Install**', 'Why `x`?', '结论'),
  )
  .map(([mark, text]) => `${mark} ${text}`);
const bullets = fc
  .tuple(
    fc.constantFrom('-', '*', '+'),
    fc.array(fc.tuple(sentence, fc.boolean()), { minLength: 2, maxLength: 6 }),
  )
  .map(([mark, items]) =>
    items
      .map(([text, deep]) => `${mark} ${text}${deep ? `\n  ${mark} ${text}\n    1. one\n    2. two` : ''}`)
      .join('\n'),
  );
const steps = fc
  .tuple(fc.constantFrom(1, 3, 9), fc.array(sentence, { minLength: 2, maxLength: 12 }), fc.boolean())
  .map(([first, items, loose]) =>
    items.map((text, at) => `${first + at}. **Step ${first + at}:** ${text}`).join(loose ? '\n\n' : '\n'),
  );
const tasks = fc
  .array(fc.tuple(fc.boolean(), sentence), { minLength: 1, maxLength: 5 })
  .map((items) => items.map(([done, text]) => `- [${done ? 'x' : ' '}] ${text}`).join('\n'));
const code = fc
  .tuple(fc.constantFrom(...CODE), fc.constantFrom(1, 1, 1, 8, 40))
  .map(([[language, text], times]) => `\`\`\`${language}\n${Array(times).fill(text).join('\n\n')}\n\`\`\``);
const cell = fc.constantFrom(
  'yes',
  '**12 GB**',
  '`a_b`',
  'a rather long cell with many words',
  '€ 3',
  '无',
  '[docs](https://example.org)',
  'x<br>y',
  '',
);
const table = fc
  .tuple(fc.integer({ min: 2, max: 6 }), fc.integer({ min: 1, max: 14 }))
  .chain(([columns, rows]) =>
    fc.array(fc.array(cell, { minLength: columns, maxLength: columns }), {
      minLength: rows,
      maxLength: rows,
    }),
  )
  .map((rows) => {
    const head = rows[0]!.map((_, at) => `Column ${at + 1}`);
    const rule = rows[0]!.map((_, at) => [':--', '--:', ':-:', '---'][at % 4]);
    return [head, rule, ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
  });
const quote = fc
  .array(sentence, { minLength: 1, maxLength: 10 })
  .map((lines) => lines.map((text) => `> ${text}`).join('\n>\n'));
const formula = fc.constantFrom(
  '\\[\\int_0^1 x^2\\,dx = \\frac{1}{3}\\]',
  '$$E = mc^2 \\quad \\sum_{i=1}^{n} i = \\frac{n(n+1)}{2}$$',
  '\\[\\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix}\\]',
);
const block = fc.oneof(
  { weight: 6, arbitrary: paragraph },
  { weight: 1, arbitrary: long },
  { weight: 2, arbitrary: heading },
  { weight: 3, arbitrary: bullets },
  { weight: 2, arbitrary: steps },
  { weight: 1, arbitrary: tasks },
  { weight: 3, arbitrary: code },
  { weight: 2, arbitrary: table },
  { weight: 1, arbitrary: quote },
  { weight: 1, arbitrary: formula },
  { weight: 1, arbitrary: fc.constant('---') },
);

/** The answers, always the same ones, from one paragraph to several messages. */
export function answers(): string[] {
  const answer = fc
    .tuple(paragraph, fc.array(block, { minLength: 0, maxLength: 14 }))
    .map(([first, rest]) => [first, ...rest].join('\n\n'));
  return fc.sample(answer, { seed: SEED, numRuns: ANSWERS });
}

/** The text in bites of about the length of a token. */
export function inBites(text: string, length: number): string[] {
  const bites: string[] = [];
  for (let at = 0; at < text.length; at += length) bites.push(text.slice(at, at + length));
  return bites;
}
