/**
 * Reads outside the session that need no question although the session is tainted: an address can carry text of the chat
 * to the owner of a server, a query to the search service, and the choice among several can, too. So a read passes only
 * when the person left nothing to choose: they typed this very address or query themselves, or it is the next page of the
 * newest search, in its order, and nothing private was read.
 */
import { isPrivate, type Reach } from '../../protocol/agent/risk.ts';
import type { ContextRow } from '../prompt/history.ts';
import { typedText } from '../prompt/marks.ts';
import type { Taint } from '../turn/turn-rows.ts';

/** Reads of one turn, those of its subagents included, after which every further one asks. */
export const MAX_UNASKED_READS = 5;
/** Longest word of a person's message that may be an address, in UTF-16 units. */
const MAX_ADDRESS_CHARS = 2_048;
/** Punctuation around an address or a query in prose. */
const OPENING = '<("\'`[{„“‚«';
const CLOSING = '>)"\'`]}“”’»,.;:!?';
/** Quotation marks, by their opening one. */
const QUOTES: Readonly<Record<string, string>> = {
  '"': '"',
  "'": "'",
  '`': '`',
  '„': '“',
  '“': '”',
  '‚': '‘',
  '‘': '’',
  '«': '»',
  '»': '«',
};

/** A read outside, by its address or its query. */
export type ReadReach = Exclude<Reach, string>;

/** The parts of a turn that its reads are judged by. */
export interface Reader {
  taint: Taint;
  /** Everything the model has read, oldest first. */
  rows: readonly ContextRow[];
  /** The author of the message that the turn answers; undefined when others have a part in it. */
  author: string | undefined;
}

/** True when the read needs no question. Never throws. */
export function mayReadUnasked(reader: Reader, reach: ReadReach): boolean {
  const { author, taint } = reader;
  const output = sentBy(reach);
  if (author === undefined || taint.sent.size >= MAX_UNASKED_READS || taint.sent.has(output)) return false;
  const typed = reader.rows.flatMap(({ entry }) =>
    entry.kind === 'user' && entry.author === author ? [typedText(entry)] : [],
  );
  if ('query' in reach) return isTypedQuery(reach.query, typed.at(-1) ?? '');
  const address = normal(reach.address);
  if (address === undefined) return false;
  if (typed.some((text) => text.split(/\s+/).some((word) => isAddress(word, address)))) return true;
  return !isPrivate(taint.sources) && nextListed(reader) === address;
}

/** What the read sends out, in one form for the same address. */
export function sentBy(reach: ReadReach): string {
  return 'query' in reach ? `query ${reach.query}` : (normal(reach.address) ?? reach.address);
}

/** The first page of the newest search that was not read since. */
function nextListed({ rows, taint }: Reader): string | undefined {
  const at = rows.findLastIndex(({ entry }) => entry.kind === 'tool_result' && entry.addresses !== undefined);
  const listing = rows[at]?.entry;
  if (listing?.kind !== 'tool_result') return undefined;
  const read = new Set(
    rows.slice(at).flatMap(({ entry }) => (entry.kind === 'tool_result' ? [entry.sent] : [])),
  );
  const listed = (listing.addresses ?? []).flatMap((address) => normal(address) ?? []);
  return listed.find((address) => !read.has(address) && !taint.sent.has(address));
}

/**
 * True for a query that the person has just typed: between quotation marks, or as the end of the message, in words without
 * digits (those may be codes and passwords). Letter by letter: spelling can carry text, too.
 */
function isTypedQuery(query: string, message: string): boolean {
  if (quoted(message).includes(query)) return true;
  const text = trimmed(message, '', CLOSING).replaceAll(/\s+/g, ' ').trim();
  if (query === text || /\p{N}/u.test(query) || !/^\p{L}.*\p{L}$/u.test(query)) return false;
  return text.endsWith(` ${query}`);
}

/** The phrases between quotation marks. */
function quoted(text: string): string[] {
  const phrases: string[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const close = QUOTES[text[at] ?? ''];
    const end = close === undefined ? -1 : text.indexOf(close, at + 1);
    if (end === -1) continue;
    phrases.push(text.slice(at + 1, end).trim());
    at = end;
  }
  return phrases;
}

/** True when a word of the person's is this address, with or without its scheme, ignoring punctuation around it. */
function isAddress(word: string, address: string): boolean {
  if (word.length > MAX_ADDRESS_CHARS || !word.includes('.')) return false;
  const bare = trimmed(word, OPENING, CLOSING);
  return [word, bare, `https://${bare}`, `http://${bare}`].some((candidate) => normal(candidate) === address);
}

/** Without these characters at both ends; linear, however many there are. */
function trimmed(text: string, opening: string, closing: string): string {
  let from = 0;
  let to = text.length;
  while (from < to && opening.includes(text.charAt(from))) from += 1;
  while (to > from && (closing.includes(text.charAt(to - 1)) || text.charAt(to - 1) === ' ')) to -= 1;
  return text.slice(from, to);
}

/** An address as it is requested, without its fragment; undefined when it is not an http address. */
function normal(address: string): string | undefined {
  const url = URL.parse(address.trim());
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  url.hash = '';
  return url.href;
}
