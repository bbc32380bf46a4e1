/** Cuts the text of a document into passages along its structure: pages, headings, paragraphs, sentences. */
import { createHash } from 'node:crypto';
import type { NewPassage, PassagePlace } from '../protocol/knowledge.ts';
import { estimateTokens } from '../lib/text.ts';

/** A passage grows to about this many tokens, and never has more than `MAX_TOKENS`. */
const TARGET_TOKENS = 300;
export const MAX_TOKENS = 400;
/** A heading begins a new passage once the one before has this many tokens: a heading alone answers nothing. */
const MIN_TOKENS = 60;
/** What is repeated of the passage before, for the search alone. */
export const OVERLAP_TOKENS = 40;
/** Longest heading that a place names, in UTF-16 units. */
const MAX_HEADING_CHARS = 120;

/** What a document is besides its text. */
export interface DocumentKind {
  title: string;
  /** `#` begins a heading; in code it does not. */
  headings: boolean;
  /** Its text has lines that people can find; that of an office document or a page has none. */
  lines: boolean;
  /** The reader marks pages and sheets with lines in brackets. */
  marks: boolean;
}

/** A piece of text that is not cut. */
interface Piece {
  text: string;
  tokens: number;
  page?: number | undefined;
  headings: readonly string[];
  /** Counted from 1. */
  from: number;
  to: number;
  isHeading: boolean;
}

/**
 * Yields the passages in their order, each when it is asked for: a long document blocks no one. Nothing of the text is lost
 * but white space and marks of pages. Never throws.
 */
export function* passagesIn(text: string, kind: DocumentKind): Generator<NewPassage> {
  let open: Piece[] = [];
  let tokens = 0;
  let tail = '';
  const close = function* (): Generator<NewPassage> {
    if (open.length === 0) return;
    const passage = passageOf(open, tail, kind);
    tail = endOf(passage.content);
    open = [];
    tokens = 0;
    yield passage;
  };
  for (const piece of piecesOf(text, kind)) {
    const [first] = open;
    if (first !== undefined && first.page !== piece.page) {
      yield* close();
      tail = '';
    }
    const begins = piece.isHeading && tokens >= MIN_TOKENS;
    const isFull = tokens + piece.tokens > MAX_TOKENS || tokens >= TARGET_TOKENS;
    if (begins || isFull) yield* close();
    if (begins) tail = '';
    if (open.length === 0 && piece.text.trim() === '') continue;
    open.push(piece);
    tokens += piece.tokens;
  }
  yield* close();
}

function passageOf(pieces: readonly Piece[], tail: string, { title, lines }: DocumentKind): NewPassage {
  const [first] = pieces;
  const last = pieces.at(-1);
  const content = pieces
    .map(({ text }) => text)
    .join('')
    .trim();
  // The nearest heading of the text itself: a passage may begin with several.
  const { headings } = pieces.find(({ isHeading }) => !isHeading) ?? { headings: first?.headings ?? [] };
  const place: PassagePlace = {
    ...(first?.page !== undefined && { page: first.page }),
    ...(headings.length > 0 && { headings: [...headings] }),
    ...(lines && first !== undefined && last !== undefined && { lines: [first.from, last.to] }),
  };
  // The parser of full text takes a path for one word.
  const name = title.replaceAll(/[/_.-]+/g, ' ');
  const context = [name, headings.join(' › '), tail].filter((part) => part !== '').join('\n');
  const hash = createHash('sha256').update(`${context}\n\n${content}`).digest('hex');
  return { hash, place, context, content };
}

const PAGE_MARK = /^\[page (\d+) of \d+\]$/;
const SHEET_MARK = /^\[sheet (.+)\]$/;
const HEADING = /^(#{1,6})[ \t]+(.*?)[ \t#]*$/;
const FENCE = /^[ \t]*(?:```|~~~)/;

/** Paragraphs with the blank lines behind them, headings, and parts of paragraphs that are longer than a passage. */
function* piecesOf(text: string, kind: DocumentKind): Generator<Piece> {
  let page: number | undefined;
  let path: { level: number; text: string }[] = [];
  let paragraph: string[] = [];
  let from = 1;
  let isCode = false;
  const headings = (): string[] => path.map((heading) => heading.text);
  const flush = function* (to: number): Generator<Piece> {
    const block = paragraph.join('\n');
    if (block.trim() !== '') yield* sized(block, { page, headings: headings(), from, to, isHeading: false });
    paragraph = [];
    from = to + 1;
  };
  const rows = text.replaceAll('\r\n', '\n').split('\n');
  for (const [index, row] of rows.entries()) {
    const number = index + 1;
    const mark = kind.marks ? row.trim() : '';
    const pageMark = PAGE_MARK.exec(mark);
    const sheetMark = SHEET_MARK.exec(mark);
    const heading = kind.headings && !isCode ? HEADING.exec(row) : null;
    if (pageMark !== null || sheetMark !== null) {
      yield* flush(number - 1);
      if (pageMark !== null) page = Number(pageMark[1]);
      else path = [{ level: 1, text: clipped(sheetMark?.[1] ?? '') }];
      from = number + 1;
    } else if (heading !== null) {
      yield* flush(number - 1);
      const level = heading[1]?.length ?? 1;
      path = [...path.filter((above) => above.level < level), { level, text: clipped(heading[2] ?? '') }];
      const at = { page, headings: headings(), from: number, to: number, isHeading: true };
      yield* sized(`${row}\n`, at);
      from = number + 1;
    } else {
      if (kind.headings && FENCE.test(row)) isCode = !isCode;
      if (paragraph.length === 0) from = number;
      paragraph.push(row);
      if (row.trim() === '' && !isCode) {
        paragraph.push('');
        yield* flush(number);
      }
    }
  }
  yield* flush(rows.length);
}

function clipped(heading: string): string {
  return heading.trim().slice(0, MAX_HEADING_CHARS).toWellFormed();
}

/** The text as one piece, or as several that fit into a passage: lines, then sentences, then characters. */
function* sized(text: string, at: Omit<Piece, 'text' | 'tokens'>): Generator<Piece> {
  const tokens = estimateTokens(text);
  if (tokens <= MAX_TOKENS) {
    yield { text, tokens, ...at };
    return;
  }
  let from = at.from;
  for (const line of text.split(/(?<=\n)/)) {
    const own = { ...at, from, to: Math.min(from, at.to) };
    for (const part of partsOf(line)) yield { text: part, tokens: estimateTokens(part), ...own };
    from += 1;
  }
}

function* partsOf(line: string): Generator<string> {
  if (estimateTokens(line) <= MAX_TOKENS) {
    yield line;
    return;
  }
  for (const sentence of sentencesOf(line)) {
    if (estimateTokens(sentence) <= MAX_TOKENS) yield sentence;
    // Three bytes are a token, and a UTF-16 unit has at most three bytes.
    else yield* slices(sentence, MAX_TOKENS);
  }
}

/** Slices of at most so many UTF-16 units, which cut no character in two. */
function* slices(text: string, units: number): Generator<string> {
  for (let at = 0; at < text.length;) {
    const lastUnit = text.charCodeAt(at + units - 1);
    const end = at + units - (lastUnit >= 0xd800 && lastUnit <= 0xdbff ? 1 : 0);
    yield text.slice(at, end);
    at = end;
  }
}

let segmenter: Intl.Segmenter | undefined;

/** Longest text that is searched for sentences at once, in UTF-16 units: the search takes longer for longer ones. */
const SEGMENTED_CHARS = 4_000;

function* sentencesOf(text: string): Generator<string> {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'sentence' });
  for (const slice of slices(text, SEGMENTED_CHARS))
    for (const { segment } of segmenter.segment(slice)) yield segment;
}

/** The last sentences of a passage within `OVERLAP_TOKENS`. */
function endOf(content: string): string {
  const sentences = [...sentencesOf(content.slice(-OVERLAP_TOKENS * 6).toWellFormed())];
  let end = '';
  for (const sentence of sentences.slice(1).toReversed()) {
    if (estimateTokens(sentence + end) > OVERLAP_TOKENS) break;
    end = sentence + end;
  }
  return end.trim();
}
