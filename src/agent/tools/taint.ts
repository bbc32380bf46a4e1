/**
 * The taint of a turn: the sources of text that it has read besides its user. It is derived from the rows of its context
 * and from unverified memories in its prompt, so that every node and every restart comes to the same result.
 */
import type { TextSource } from '../../contracts/risk.ts';
import type { ContextRow } from '../prompt/history.ts';

export interface Taint {
  /** Empty = the turn has read only text of its user and of the gateway. */
  sources: ReadonlySet<TextSource>;
  /**
   * True for an address that cannot have been made up to leak data: a person of the chat wrote exactly this address, or
   * the search service listed it.
   */
  isNamed(address: string): boolean;
  /** True for a query that leaks nothing: each of its words is on a page that was read, or too short to matter. */
  isPublic(query: string): boolean;
}

/** An address in a result of `web_search`: an indented line of its own. */
const SEARCH_RESULT = /^ {3}(https?:\S+)$/gm;
/** Longest word of a user's message that may be an address, in UTF-16 units. */
const MAX_ADDRESS_CHARS = 2_048;
/** Longest word of letters that reveals nothing by itself: "the", "und". */
const MAX_PLAIN_WORD = 3;
/** Punctuation around an address in prose. */
const PUNCTUATION = /^[<("'`[{„“‚«]+|[>)"'`\]}“”’»,.;:!?]+$/g;

/** The taint of the rows that the model reads, those of earlier turns included. `more` are sources besides these rows. */
export function taintOf(rows: readonly ContextRow[], more: readonly TextSource[] = []): Taint {
  const sources = new Set<TextSource>(more);
  for (const { entry } of rows) {
    if ('source' in entry && entry.source !== undefined) sources.add(entry.source);
    if (entry.kind === 'summary') for (const source of entry.sources ?? []) sources.add(source);
  }
  return {
    sources,
    isNamed: (address) => isNamed(address, rows),
    isPublic: (query) => isPublic(query, rows),
  };
}

function isNamed(address: string, rows: readonly ContextRow[]): boolean {
  const wanted = normal(address);
  if (wanted === undefined) return false;
  return rows.some(({ entry }) => {
    if (entry.kind === 'user' && (entry.source === undefined || entry.source === 'group')) {
      return entry.content.split(/\s+/).some((word) => isAddress(word, wanted));
    }
    const isSearch = entry.kind === 'tool_result' && entry.toolName === 'web_search' && !entry.isError;
    return (
      isSearch && [...entry.content.matchAll(SEARCH_RESULT)].some(([, url = '']) => normal(url) === wanted)
    );
  });
}

function isPublic(query: string, rows: readonly ContextRow[]): boolean {
  const asked = wordsIn(query).filter((word) => word.length > MAX_PLAIN_WORD || !/^\p{L}+$/u.test(word));
  if (asked.length === 0) return true;
  const pages = rows.flatMap(({ entry }) =>
    entry.kind === 'tool_result' && entry.source === 'web' ? wordsIn(entry.content) : [],
  );
  const known = new Set(pages);
  return asked.every((word) => known.has(word));
}

function wordsIn(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** True when a word of the user's is this address, with or without its scheme, ignoring punctuation around it. */
function isAddress(word: string, wanted: string): boolean {
  if (word.length > MAX_ADDRESS_CHARS || !word.includes('.')) return false;
  const bare = word.replaceAll(PUNCTUATION, '');
  return [word, bare, `https://${bare}`, `http://${bare}`].some((given) => normal(given) === wanted);
}

/** An address as it is requested, without its fragment; undefined when it is no http address. */
function normal(address: string): string | undefined {
  const url = URL.parse(address.trim());
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  url.hash = '';
  return url.href;
}
