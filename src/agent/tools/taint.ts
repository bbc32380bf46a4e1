/**
 * The sources of text that a turn has read besides its user: derived from the rows of its context, so that every node, and every
 * restart, comes to the same, and from whether unverified memories stand in its prompt.
 */
import type { TextSource } from '../../contracts/risk.ts';
import type { ContextRow } from '../prompt/history.ts';

export interface Taint {
  /** Empty = nothing but text of the user and of the gateway. */
  sources: ReadonlySet<TextSource>;
  /**
   * True for an address that cannot have been made up to carry something away: somebody of the chat named it as it is,
   * or the search service listed it.
   */
  isNamed(address: string): boolean;
  /** True for words that give nothing away: each stands on a page that was read, or is too short to matter. */
  isPublic(words: string): boolean;
}

/** A result of `web_search`: an indented line that is an address and nothing else. */
const LISTED = /^ {3}(https?:\S+)$/gm;
/** Longest word of a user's that is taken for an address, in UTF-16 units. */
const MAX_ADDRESS_CHARS = 2_048;
/** Longest word of letters alone that tells nothing by itself: "the", "und". */
const MAX_PLAIN_WORD = 3;
/** Marks around an address in somebody's prose. */
const AROUND = /^[<("'`[{„“‚«]+|[>)"'`\]}“”’»,.;:!?]+$/g;

/** The taint of rows: those of earlier turns that the model still reads, and the turn's own; `more` is read beside them. */
export function taintOf(rows: readonly ContextRow[], more: readonly TextSource[] = []): Taint {
  const sources = new Set<TextSource>(more);
  for (const { entry } of rows) {
    if ('source' in entry && entry.source !== undefined) sources.add(entry.source);
    if (entry.kind === 'summary') for (const source of entry.sources ?? []) sources.add(source);
  }
  return {
    sources,
    isNamed: (address) => isNamed(address, rows),
    isPublic: (words) => isPublic(words, rows),
  };
}

function isNamed(address: string, rows: readonly ContextRow[]): boolean {
  const wanted = normal(address);
  if (wanted === undefined) return false;
  return rows.some(({ entry }) => {
    if (entry.kind === 'user' && (entry.source === undefined || entry.source === 'group')) {
      return entry.content.split(/\s+/).some((word) => saidAs(word, wanted));
    }
    const isSearch = entry.kind === 'tool_result' && entry.toolName === 'web_search' && !entry.isError;
    return isSearch && [...entry.content.matchAll(LISTED)].some(([, url = '']) => normal(url) === wanted);
  });
}

function isPublic(words: string, rows: readonly ContextRow[]): boolean {
  const asked = wordsIn(words).filter((word) => word.length > MAX_PLAIN_WORD || !/^\p{L}+$/u.test(word));
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

/** A word of the user's that is this address, with or without its scheme, marks around it left out. */
function saidAs(word: string, wanted: string): boolean {
  if (word.length > MAX_ADDRESS_CHARS || !word.includes('.')) return false;
  const bare = word.replaceAll(AROUND, '');
  return [word, bare, `https://${bare}`, `http://${bare}`].some((given) => normal(given) === wanted);
}

/** An address as it is asked for: a fragment stays at home. */
function normal(address: string): string | undefined {
  const url = URL.parse(address.trim());
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  url.hash = '';
  return url.href;
}
