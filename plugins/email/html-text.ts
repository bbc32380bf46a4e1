/** The text of an HTML mail: lines, links with their targets, quotes with `> `, and nothing that no one sees. */
import { Parser } from 'htmlparser2';

/** Longest text that is made, in UTF-16 units. */
const MAX_TEXT = 200_000;
/** Tags that are read: the parser takes longer for each that is open. */
const MAX_TAGS = 20_000;
const SKIPPED = new Set(
  'script style head title noscript template svg iframe object select textarea'.split(' '),
);
const BLOCKS = new Set(
  'address article aside blockquote br dd div dl dt fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section table tr ul'.split(
    ' ',
  ),
);
/** What writers of mails hide from people: it is not theirs. */
const HIDDEN =
  /display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d])|max-height\s*:\s*0(?![.\d])/i;
/** Without an end of their own. */
const VOID = new Set('area base br col embed hr img input link meta source track wbr'.split(' '));

/** Never throws: whatever is no HTML is text. What stands after many tags is left out. */
export function textOfHtml(html: string): string {
  const lines: string[] = [''];
  let length = 0;
  let quotes = 0;
  let skipped = 0;
  const links: (string | undefined)[] = [];
  const add = (text: string): void => {
    if (length > MAX_TEXT) return;
    lines[lines.length - 1] += text;
    length += text.length;
  };
  const breakLine = (): void => {
    if (
      lines
        .at(-1)
        ?.replace(/^(> )+/, '')
        .trim() !== ''
    )
      lines.push('');
    lines[lines.length - 1] = '> '.repeat(quotes);
  };
  const parser = new Parser({
    onopentag(name, attributes) {
      const isHidden = HIDDEN.test(attributes['style'] ?? '') || 'hidden' in attributes;
      if (skipped > 0 || SKIPPED.has(name) || (isHidden && !VOID.has(name))) {
        if (!VOID.has(name)) skipped += 1;
        return;
      }
      if (name === 'blockquote') quotes = Math.min(quotes + 1, 20);
      if (BLOCKS.has(name)) breakLine();
      if (name === 'li') add('- ');
      if (name === 'td' || name === 'th') add(' ');
      if (name === 'img' && attributes['alt']) add(`[${attributes['alt']}]`);
      if (name === 'a') links.push(attributes['href']);
    },
    ontext(text) {
      if (skipped === 0) add(text.replaceAll(/[\s\u00A0]+/g, ' '));
    },
    onclosetag(name) {
      if (VOID.has(name)) return;
      if (skipped > 0) {
        skipped -= 1;
        return;
      }
      if (name === 'a') {
        const href = links.pop();
        if (href !== undefined && /^https?:/.test(href) && !lines.at(-1)?.endsWith(href)) add(` (${href})`);
      }
      if (name === 'blockquote') quotes = Math.max(0, quotes - 1);
      if (BLOCKS.has(name)) breakLine();
    },
  });
  parser.write(firstTags(html));
  parser.end();
  return lines
    .map((line) => line.replaceAll(/ {2,}/g, ' ').trimEnd())
    .map((line) => (line.startsWith('>') ? line : line.trimStart()))
    .join('\n')
    .trim();
}

function firstTags(html: string): string {
  let at = -1;
  for (let count = 0; count < MAX_TAGS; count += 1) {
    at = html.indexOf('<', at + 1);
    if (at === -1) return html;
  }
  return html.slice(0, at);
}
