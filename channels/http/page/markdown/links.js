/** Addresses in Markdown: which ones are safe, where a bare one ends, and the target of a link. */
import { decodeCharacters } from './characters.js';

/** Schemes that a link may have; other targets are shown as text. */
const SAFE_SCHEMES = new Set(['http:', 'https:', 'mailto:']);
/** The target of a link and its optional title. */
const TARGET = /^(<[^<>\n]*>|\S*)(?:\s+(?:"[^"]*"|'[^']*'|\([^()]*\)))?$/;
const BARE_LINK = /https?:\/\/[^\s<>"`\\]{1,1000}/iy;
const REFERENCE_AT_END = /&[a-z\d]{1,30};$/i;
const ANGLE_LINK = /<((?:https?:\/\/|mailto:)[^\s<>]{1,1000})>/iy;

/**
 * The address when its scheme is safe, else undefined.
 * @param {string} target
 */
export function safeHref(target) {
  const url = URL.parse(target.replace(/^<|>$/g, ''));
  return url !== null && SAFE_SCHEMES.has(url.protocol) ? url.href : undefined;
}

/** A name with a dot, or a scheme: what people take for an address. */
const LOOKS_LIKE_ADDRESS = /[\p{L}\p{N}-]\.\p{L}{2}|:\/\//u;

/**
 * The host that a link leads to, when its text looks like an address elsewhere; undefined for any other text.
 * @param {string} text
 * @param {string} href
 */
export function hiddenHost(text, href) {
  if (!LOOKS_LIKE_ADDRESS.test(text)) return undefined;
  const { host, protocol } = new URL(href);
  if (protocol === 'mailto:') return text.trim() === href.slice('mailto:'.length) ? undefined : href;
  const said = URL.parse(text.trim()) ?? URL.parse(`https://${text.trim()}`);
  return said?.host === host ? undefined : host;
}

/**
 * The target between the parentheses of a link; undefined when they contain something else.
 * @param {string} text
 */
export function readTarget(text) {
  const [, target] = TARGET.exec(text.trim()) ?? [];
  return target === undefined ? undefined : decodeCharacters(target);
}

/**
 * The file that the target of an image names; undefined for an address.
 * @param {string} target
 */
export function readPath(target) {
  if (/^(?:[a-z][a-z0-9+.-]*:|\/\/|#|$)/i.test(target)) return undefined;
  try {
    return decodeURIComponent(target);
  } catch {
    // A percent sign of the name itself.
    return target;
  }
}

/**
 * An address in the text itself, bare or in angle brackets, and its length in characters.
 * @param {string} text
 * @param {number} at
 * @returns {{ target: string, href: string, length: number } | undefined}
 */
export function readAddress(text, at) {
  ANGLE_LINK.lastIndex = at;
  const angle = ANGLE_LINK.exec(text);
  BARE_LINK.lastIndex = at;
  const isInWord = /[A-Za-z]/.test(text.charAt(at - 1));
  const bare = angle === null && !isInWord ? BARE_LINK.exec(text)?.[0] : undefined;
  const target = angle?.[1] ?? (bare === undefined ? undefined : withoutTrailing(bare));
  const href = target === undefined ? undefined : safeHref(target);
  if (target === undefined || href === undefined) return undefined;
  return { target, href, length: angle?.[0].length ?? target.length };
}

/**
 * The position of the closing mark for each opening one, found in one pass.
 * @param {string} text
 * @param {string} opening
 * @param {string} closing
 */
export function matchPairs(text, opening, closing) {
  /** @type {Map<number, number>} */
  const pairs = new Map();
  /** @type {number[]} */
  const open = [];
  for (let i = 0; i < text.length; i += 1) {
    const char = text[i];
    if (char === '\\') i += 1;
    else if (char === opening) open.push(i);
    else if (char === closing) {
      const start = open.pop();
      if (start !== undefined) pairs.set(start, i);
    }
  }
  return pairs;
}

/**
 * A bare link without the punctuation of the sentence after it, and without a character reference.
 * @param {string} link
 */
function withoutTrailing(link) {
  let end = link.length - (REFERENCE_AT_END.exec(link)?.[0].length ?? 0);
  while (end > 0) {
    const last = link[end - 1] ?? '';
    const unopened = last === ')' && !link.slice(0, end).includes('(');
    if (!unopened && !".,;:!?'*_~".includes(last)) break;
    end -= 1;
  }
  return link.slice(0, end);
}
