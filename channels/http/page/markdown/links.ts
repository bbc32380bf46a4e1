/** Addresses in Markdown: which ones are safe, where a bare one ends, and the target of a link. */
import type { Inline } from './nodes.ts';
import { decodeCharacters } from './characters.ts';
import { writtenText } from './formulas.ts';

/** Schemes that a link may have; other targets are shown as text. */
const SAFE_SCHEMES = new Set(['http:', 'https:', 'mailto:']);
/** Longest target and title of a link, in characters. */
export const MAX_TARGET = 1_000;
/** Parentheses nested deeper than this are not a target. */
const MAX_PARENTHESES = 32;
const BLANK = /[ \t\n]*/y;
const ANGLE_TARGET = /<((?:\\[^\n]|[^<>\n\\]){0,1000})>/y;
const TITLE = /"(?:\\[^]|[^"\\]){0,1000}"|'(?:\\[^]|[^'\\]){0,1000}'|\((?:\\[^]|[^()\\]){0,1000}\)/y;
const BARE_LINK = /https?:\/\/[^\s<>"`\\]{1,1000}/iy;
const ANGLE_LINK = /<((?:https?:\/\/|mailto:)[^\s<>]{1,1000})>/iy;

/** The address when its scheme is safe, else undefined. */
export function safeHref(target: string) {
  const url = URL.parse(writtenText(target).replace(/^<|>$/g, ''));
  return url !== null && SAFE_SCHEMES.has(url.protocol) ? url.href : undefined;
}

/** A name with a dot, or a scheme: what people take for an address. */
const LOOKS_LIKE_ADDRESS = /[\p{L}\p{N}-]\.\p{L}{2}|:\/\//u;

/**
 * The host that a link leads to, when its text looks like an address elsewhere; undefined for any other text.
 */
export function hiddenHost(text: string, href: string) {
  if (!LOOKS_LIKE_ADDRESS.test(text)) return undefined;
  const { host, protocol } = new URL(href);
  if (protocol === 'mailto:') return text.trim() === href.slice('mailto:'.length) ? undefined : href;
  const textUrl = URL.parse(text.trim()) ?? URL.parse(`https://${text.trim()}`);
  return textUrl?.host === host ? undefined : host;
}

/**
 * The target of a link, between its parentheses; undefined if there is something else.
 * @param at the opening parenthesis
 */
export function readResource(text: string, at: number): { target: string; end: number } | undefined {
  if (text[at] !== '(') return undefined;
  const start = skip(BLANK, text, at + 1);
  const afterAngle = skip(ANGLE_TARGET, text, start);
  const end = text[start] === '<' ? afterAngle : endOfTarget(text, start);
  if (text[start] === '<' && afterAngle === start) return undefined;
  const target = text[start] === '<' ? text.slice(start + 1, end - 1) : text.slice(start, end);
  const behind = skip(BLANK, text, end);
  const titled = behind > end ? skip(BLANK, text, skip(TITLE, text, behind)) : behind;
  return text[titled] === ')' ? { target: decodeCharacters(target), end: titled + 1 } : undefined;
}

/** The position after what a pattern matches there. */
function skip(pattern: RegExp, text: string, at: number) {
  pattern.lastIndex = at;
  return at + (pattern.exec(text)?.[0].length ?? 0);
}

/** The end of a target without brackets, whose parentheses are balanced. */
function endOfTarget(text: string, start: number) {
  let depth = 0;
  for (let at = start; at < text.length && at <= start + MAX_TARGET; at += 1) {
    const char = text.charAt(at);
    if (char <= ' ' || char === '\u007f' || (char === ')' && depth === 0)) return at;
    if (char === '\\' && /[!-/:-@[-`{-~]/.test(text.charAt(at + 1))) at += 1;
    else if (char === '(') depth += 1;
    else if (char === ')') depth -= 1;
    if (depth > MAX_PARENTHESES) return at;
  }
  return start;
}

/** The file that the target of an image names; undefined for an address. */
export function readPath(target: string) {
  if (/^(?:[a-z][a-z0-9+.-]*:|\/\/|#|$)/i.test(target)) return undefined;
  const path = writtenText(target);
  try {
    return decodeURIComponent(path);
  } catch {
    // A percent sign of the name itself.
    return path;
  }
}

/** An address in the text itself, in angle brackets or `bare`, and its length in characters. */
export function readAddress(
  text: string,
  at: number,
  mayBeBare: boolean,
): { target: string; href: string; length: number } | undefined {
  ANGLE_LINK.lastIndex = at;
  const angle = ANGLE_LINK.exec(text);
  BARE_LINK.lastIndex = at;
  const isInWord = /[A-Za-z]/.test(text.charAt(at - 1));
  const bare = mayBeBare && angle === null && !isInWord ? BARE_LINK.exec(text)?.[0] : undefined;
  const target = angle?.[1] ?? (bare === undefined ? undefined : withoutTrailing(bare));
  const href = target === undefined ? undefined : safeHref(target);
  if (target === undefined || href === undefined) return undefined;
  return { target: writtenText(target), href, length: angle?.[0].length ?? target.length };
}

/** Nodes whose bare addresses are links. */
export function linkAddresses(nodes: Inline[]): Inline[] {
  return nodes.flatMap((node) => {
    if (node.type === 'text') return linksOf(node.text);
    if (node.type !== 'strong' && node.type !== 'em' && node.type !== 'del') return node;
    return { ...node, children: linkAddresses(node.children) };
  });
}

function linksOf(text: string): Inline[] {
  const nodes: Inline[] = [];
  let from = 0;
  for (const { index } of text.matchAll(/https?:\/\//gi)) {
    const address =
      index >= from && /^$|[\s\p{P}\p{S}]/u.test(text.charAt(index - 1))
        ? readAddress(text, index, true)
        : undefined;
    if (address === undefined) continue;
    if (index > from) nodes.push({ type: 'text', text: text.slice(from, index) });
    nodes.push({ type: 'link', href: address.href, children: [{ type: 'text', text: address.target }] });
    from = index + address.length;
  }
  if (from < text.length) nodes.push({ type: 'text', text: text.slice(from) });
  return nodes;
}

/**
 * A bare link without the punctuation of the sentence after it, without a character reference, and without the brackets
 * of a link around it.
 */
function withoutTrailing(link: string) {
  const bracket = link.search(/\][([]/);
  let bare = bracket < 0 ? link : link.slice(0, bracket);
  for (;;) {
    const trailing = /(?:[!"'*,.:;?_~\]]|&[a-z]{1,30};)$/i.exec(bare)?.[0];
    const unopened = bare.endsWith(')') && bare.split('(').length < bare.split(')').length;
    if (trailing === undefined && !unopened) return bare;
    bare = bare.slice(0, -(trailing?.length ?? 1));
  }
}
