/** Discord's Markdown syntax: what must be escaped, and how to write code, spans and addresses safely. Pure. */

/** Zero-width space: separates characters that Discord would otherwise read as one mark. */
const ZERO_WIDTH = '\u200b';

/** Words that ping everyone after an `@`. */
const PING = '(?:everyone|here)';

/** Addresses in plain text, without the punctuation after them; an address ends before a ping. */
const ADDRESS = new RegExp(
  String.raw`https?:\/\/(?:(?!@${PING})[^\s<>\`\\])*(?!@${PING})[^\s<>\`\\.,:;"')\]]`,
  'g',
);

/**
 * Makes text appear literally: no mark, no spoiler, no mention, no custom emoji, no date. Puts addresses in `<…>`:
 * Discord would link them anyway, and would read an escape after one as part of it.
 */
export function escapeText(text: string): string {
  let escaped = '';
  let from = 0;
  for (const { 0: address, index } of text.matchAll(ADDRESS)) {
    escaped += `${escapeMarks(text.slice(from, index))}<${address}>`;
    from = index + address.length;
  }
  return escaped + escapeMarks(text.slice(from));
}

function escapeMarks(text: string): string {
  return text
    .replaceAll(/[\\*_~|`[\]<]/g, String.raw`\$&`)
    .replaceAll(/(?<=https?:\/)(?=\/)/g, ZERO_WIDTH)
    .replaceAll(new RegExp(`@(?=${PING})`, 'g'), `@${ZERO_WIDTH}`)
    .replaceAll(/<(?=[@#:/]|a:|t:|id:|https?:)/g, `<${ZERO_WIDTH}`);
}

/** Joins two rendered phrases so that the end of one and the start of the other form no mark and no ping. */
export function joinPhrases(before: string, after: string): string {
  // `**a****b**` is not markup: keep the two marks apart.
  const isMark = /[*~`]$/.test(before) && /^[*~`]/.test(after);
  const isPing = before.endsWith('@') && new RegExp(`^${PING}`).test(after);
  const isMention = before.endsWith('<') && /^[@#:/]|^(?:a|t|id|https?):/.test(after);
  return before + (isMark || isPing || isMention ? ZERO_WIDTH : '') + after;
}

/** The addresses in a text, which are not escaped. */
export function addressesIn(text: string): string[] {
  return text.match(ADDRESS) ?? [];
}

/** Escapes line starts that would become headings, small print, quotes or list items. */
export function escapeLineStarts(text: string): string {
  return text.replaceAll(
    /^([^\S\n\r\u2028\u2029]*)(#(?=#{0,2}\s)|>|-(?=\s|#)|(\d+)\.(?=\s))/gm,
    (_, indent: string, marker: string, digits: string | undefined) =>
      digits === undefined ? `${indent}\\${marker}` : `${indent}${digits}\\.`,
  );
}

/** A code block. Discord knows fences of exactly three backticks, so backticks inside are separated instead. */
export function fence(code: string, language: string): string {
  const tag = /^[a-z0-9_+\-.#]{1,20}$/i.test(language) ? language : '';
  const body = code.replaceAll('``', `\`${ZERO_WIDTH}\``);
  return `\`\`\`${tag}\n${body.trim() === '' ? ZERO_WIDTH : body}\n\`\`\``;
}

/**
 * A code span. Uses two backticks around code that contains one; more in a row are separated, because three would
 * open a block.
 */
export function span(code: string): string {
  if (!code.includes('`')) return `\`${code}\``;
  const parted = code.replaceAll(/`(?=`)/g, `\`${ZERO_WIDTH}`);
  return `\`\` ${parted} \`\``;
}

/** The address, if it is a web address that contains nothing that could end a link in `<…>`; undefined otherwise. */
export function webUrl(url: string): string | undefined {
  if (!/^https?:\/\/[^\s]/i.test(url)) return undefined;
  return url.replaceAll(new RegExp(String.raw`[\s<>\\\`]|@(?=${PING})`, 'g'), percent);
}

/** A link with a separate text. Parentheses in the address would end it. */
export function maskedLink(text: string, url: string): string {
  return `[${text}](<${url.replaceAll(/[()]/g, percent)}>)`;
}

function percent(char: string): string {
  return `%${char.charCodeAt(0).toString(16).padStart(2, '0')}`;
}
