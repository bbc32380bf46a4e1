/** The addresses that a message's HTML has behind its words, which its plain text lacks. Pure. */
import { linkText } from '../../src/lib/markdown/link.ts';

/** Longest words of a link that are read, in UTF-16 units. */
const MAX_WORDS = 1_000;
/** Maximum number of links read in one message. */
export const MAX_LINKS = 100;
const LINK = new RegExp(
  String.raw`<a\s[^<>]{0,500}?href="([^"<>]{1,4000})"[^<>]{0,500}>(.{1,${MAX_WORDS}}?)</a>`,
  'gis',
);

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  '#39': "'",
  nbsp: '\u00A0',
};

/** The body with its links as Markdown. Mentions are links to `matrix.to`, and stay words. */
export function withLinks(body: string, html: string): string {
  let text = '';
  let end = 0;
  for (const [, href = '', label = ''] of [...html.matchAll(LINK)].slice(0, MAX_LINKS)) {
    const url = decoded(href);
    const words = decoded(label.replaceAll(/<[^<>]{0,500}>/g, ''));
    const at = words.trim() === '' ? -1 : body.indexOf(words, end);
    if (at === -1 || body.includes(url) || !/^(?:https?|mailto):/i.test(url) || isMention(url)) continue;
    text += body.slice(end, at) + linkText(words, url);
    end = at + words.length;
  }
  return text + body.slice(end);
}

function isMention(url: string): boolean {
  return url.startsWith('https://matrix.to/');
}

function decoded(html: string): string {
  return html.replaceAll(/&(#?\w{1,6});/g, (whole, name: string) => ENTITIES[name] ?? whole);
}
