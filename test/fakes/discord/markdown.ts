/** What a Discord client shows of a message's text: its Markdown subset applied, everything else as written. */

const INLINE: [RegExp, (match: RegExpExecArray) => string][] = [
  [/^\\([^0-9A-Za-z\s])/, ([, mark = '']) => mark],
  [/^(`{1,2})([\s\S]*?[^`])\1(?!`)/, ([, , code = '']) => code.replaceAll(/^ (?=`)|(?<=`) $/g, '')],
  [/^<(https?:\/\/[^\s>]+)>/, ([, url = '']) => url],
  [/^https?:\/\/[^\s<]+[^<.,:;"')\]\s]/, ([url]) => url],
  [/^<@!?(\d{17,20})>/, () => '@somebody'],
  [/^<@&(\d{17,20})>/, () => '@some-role'],
  [/^<#(\d{17,20})>/, () => '#some-channel'],
  [/^<a?:(\w{2,32}):\d{17,20}>/, ([, name]) => `:${name}:`],
  [/^<t:(-?\d+)(?::[tTdDfFR])?>/, () => 'some date'],
  [/^\[((?:\\.|[^\]\\])+)\]\(<?(https?:\/\/[^\s>]+?)>?\)/, ([, text = '']) => inline(text)],
  [/^\*\*((?:\\[\s\S]|[^\\])+?)\*\*(?!\*)/, ([, text = '']) => inline(text)],
  [/^__((?:\\[\s\S]|[^\\])+?)__(?!_)/, ([, text = '']) => inline(text)],
  [
    /^\*(?=\S)((?:\*\*|\\[\s\S]|\s+(?:\\[\s\S]|[^\s*\\]|\*\*)|[^\s*\\])+?)\*(?!\*)/,
    ([, text = '']) => inline(text),
  ],
  [/^_((?:__|\\[\s\S]|[^\\_])+?)_(?!\w)/, ([, text = '']) => inline(text)],
  [/^~~((?:\\[\s\S]|[^\\])+?)~~/, ([, text = '']) => inline(text)],
  [/^\|\|((?:\\[\s\S]|[^\\])+?)\|\|/, ([, text = '']) => inline(text)],
];

function inline(text: string): string {
  let shown = '';
  let rest = text;
  while (rest !== '') {
    // Whole words at once, but never past an `h`: an address may begin there.
    const plain = /^[0-9A-Za-gi-z\s]+/.exec(rest)?.[0];
    if (plain !== undefined) {
      shown += plain;
      rest = rest.slice(plain.length);
      continue;
    }
    const [match, show] = firstRule(rest);
    shown += show;
    rest = rest.slice(match);
  }
  return shown;
}

/** The length consumed and what is shown for it, of the first rule that matches; one character otherwise. */
function firstRule(rest: string): [number, string] {
  for (const [pattern, show] of INLINE) {
    const match = pattern.exec(rest);
    if (match !== null) return [match[0].length, show(match)];
  }
  return [1, rest.charAt(0)];
}

/** Line marks: heading, small print, bullet. What they leave is inline text. */
function unmarkLine(line: string): string {
  const [, indent = '', bullet, text = ''] = /^( *)([*-] |\d+\. )?([\s\S]*)$/.exec(line) ?? [];
  const mark = bullet === undefined ? '' : /\d/.test(bullet) ? bullet : '• ';
  return `${indent}${mark}${text.replace(/^(?:#{1,3}|-#)\s+(?=\S)/, '')}`;
}

const QUOTE = /^(?:>>> [\s\S]*|(?:> [^\n]*(?:\n|$))+)/m;
const CODE_BLOCK = /```(?:([a-z0-9_+\-.#]+?)\n)?\n*([^\n][\s\S]*?)\n*```/i;

/** An address in angle brackets, with any scheme: it begins before a block of code and may take its fence. */
const ANGLE_LINK = /(?<=(?:^|[^\\])(?:\\\\)*)<([^: >]+:\/[^ >]+)>/;

/** The text as a person sees it: quotes and code blocks first, nothing inside a code block is markup. */
export function visibleText(content: string): string {
  const code = CODE_BLOCK.exec(content);
  const link = ANGLE_LINK.exec(content);
  if (link !== null && code !== null && link.index < code.index) {
    const end = link.index + link[0].length;
    if (end > code.index)
      return shownLines(content.slice(0, link.index)) + link[1] + visibleText(content.slice(end));
  }
  const quote = QUOTE.exec(content);
  const first = quote !== null && (code === null || quote.index <= code.index) ? quote : code;
  if (first === null) return shownLines(content);
  const inside = first === quote ? visibleText(first[0].replaceAll(/^>(?:>>)? /gm, '')) : (first[2] ?? '');
  const rest = content.slice(first.index + first[0].length);
  return shownLines(content.slice(0, first.index)) + inside + visibleText(rest);
}

function shownLines(text: string): string {
  return inline(text.split('\n').map(unmarkLine).join('\n'));
}

/** True if every code fence that opens also closes. */
export function fencesBalanced(content: string): boolean {
  return (content.replaceAll(/\\`/g, '').match(/```/g) ?? []).length % 2 === 0;
}
