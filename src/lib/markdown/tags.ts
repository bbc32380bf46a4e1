/**
 * The HTML and footnotes that models write in Markdown: line breaks, keys, raised and lowered text, emphasis. All other
 * HTML stays text. Pure.
 */

/** Tags that are read; `u`, `ins` and `mark` become the nearest mark that every network has. */
const KINDS = {
  kbd: 'code',
  sub: 'lowered',
  sup: 'raised',
  b: 'strong',
  strong: 'strong',
  mark: 'strong',
  i: 'emphasis',
  em: 'emphasis',
  u: 'emphasis',
  ins: 'emphasis',
  s: 'delete',
  del: 'delete',
  strike: 'delete',
} as const;

export type TagKind = (typeof KINDS)[keyof typeof KINDS];

/** Longest tag, `</strike>`. */
export const MAX_TAG = 9;
const TAG = new RegExp(`^<(?:br ?/?|/?(?:${Object.keys(KINDS).join('|')}))>$`, 'i');
const LINE_BREAK = /^<br/i;

/** Whether a text is one of these tags: `<br>`, `<kbd>`, `</sub>`. */
export function isTag(text: string): boolean {
  return TAG.test(text);
}

/** Whether a tag is a line break. */
export function isLineBreak(tag: string): boolean {
  return LINE_BREAK.test(tag);
}

/** What pairs of tags become in a tree of nodes of any kind. */
export interface TagReader<Node> {
  /** The tag that a node is; undefined for any other node. */
  tagOf(node: Node): string | undefined;
  /** A tag without a partner, as text. */
  text(tag: string): Node;
  wrap(kind: TagKind, inside: Node[]): Node[];
}

/** The nodes with what is between pairs of tags wrapped; pairs that cross each other stay text. */
export function pairTags<Node>(nodes: readonly Node[], reader: TagReader<Node>): Node[] {
  const open: { name: string; at: number }[] = [];
  const counts = new Map<string, number>();
  const count = (name: string, by: number): void => void counts.set(name, (counts.get(name) ?? 0) + by);
  const read: Node[] = [];
  for (const node of nodes) {
    const tag = reader.tagOf(node);
    const name = tag?.replaceAll(/[</>]/g, '').toLowerCase() ?? '';
    if (tag === undefined || !(name in KINDS)) read.push(node);
    else if (!tag.startsWith('</')) {
      open.push({ name, at: read.length });
      count(name, 1);
      read.push(reader.text(tag));
    } else if ((counts.get(name) ?? 0) === 0) read.push(reader.text(tag));
    else {
      let partner = open.pop();
      for (; partner !== undefined && partner.name !== name; partner = open.pop()) count(partner.name, -1);
      count(name, -1);
      const [, ...inside] = read.splice(partner?.at ?? read.length);
      for (const one of reader.wrap(kindOf(name), inside)) read.push(one);
    }
  }
  return read;
}

function kindOf(name: string): TagKind {
  return Object.entries(KINDS).find(([one]) => one === name)?.[1] ?? 'emphasis';
}

/** The number of a footnote, `[^1]`, and where its text begins, `[^1]:`. Longer numbers are none. */
const NOTE = /\[\^(\d{1,3})\](:?)/y;
/** What may be before a footnote's text on its line, and before a call: a word, its punctuation, or another call. */
const LINE_START = /(?:^|\n)[ \t>]*$/;
const CALLER = /[\p{L}\p{N}\p{M}.,:;!?)"'”’»」』】）。，、！？；：…*_~`%]$|\[\^\d{1,3}\]$/u;
const MARGIN = 12;
/** What follows a set of characters in a pattern: `[^1]+` is no footnote. */
const AFTER_SET = /^(?:[A-Za-z0-9(+?{\\/$]|\*(?!\*))/;

/** The footnote whose opening bracket is there; undefined for anything else. `length` is that of its source. */
export function noteAt(text: string, at: number): { number: string; length: number } | undefined {
  NOTE.lastIndex = at;
  const [whole, number, colon = ''] = NOTE.exec(text) ?? [];
  if (whole === undefined || number === undefined) return undefined;
  const preceding = text.slice(Math.max(0, at - MARGIN), at);
  if (LINE_START.test(preceding)) return colon === '' ? undefined : { number, length: whole.length };
  const length = whole.length - colon.length;
  return CALLER.test(preceding) && !AFTER_SET.test(text.slice(at + length, at + length + 2))
    ? { number, length }
    : undefined;
}

/** The first line of a callout, `[!NOTE]` in a quote, by what is between its brackets. */
const CALLOUT =
  /^\[!(note|tip|important|warning|caution|info|success|danger|example)\][+-]?[ \t]*(?=\n|\S|$)/i;

/** The heading of the callout that a quote's text begins, and the length of its source; undefined for any other text. */
export function calloutOf(text: string): { heading: string; length: number } | undefined {
  const [whole, word] = CALLOUT.exec(text) ?? [];
  if (whole === undefined || word === undefined) return undefined;
  return { heading: word.charAt(0).toUpperCase() + word.slice(1).toLowerCase(), length: whole.length };
}

const RAISED = characterMap(
  '0123456789+-=()abcdefghijklmnoprstuvwxyz',
  '⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ',
);

const LOWERED = characterMap('0123456789+-=()aeoxhklmnpstijruv', '₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₒₓₕₖₗₘₙₚₛₜᵢⱼᵣᵤᵥ');

function characterMap(from: string, to: string): ReadonlyMap<string, string> {
  const targets = Array.from(to);
  return new Map(Array.from(from, (char, at) => [char, targets[at] ?? char]));
}

/** The text as raised characters; undefined if Unicode lacks one of them. */
export function raised(text: string): string | undefined {
  return mapped(text, RAISED);
}

/** The text as lowered characters; undefined if Unicode lacks one of them. */
export function lowered(text: string): string | undefined {
  return mapped(text, LOWERED);
}

/** `²`, `^Q`, `^(TM)`: a raised text, as characters or with a sign before it. */
export function raisedOrMarked(text: string): string {
  return raised(text) ?? `^${grouped(text)}`;
}

/** `₂`, `_Q`, `_(eff)`: a lowered text, as characters or with a sign before it. */
export function loweredOrMarked(text: string): string {
  return lowered(text) ?? `_${grouped(text)}`;
}

function mapped(text: string, characters: ReadonlyMap<string, string>): string | undefined {
  const small = Array.from(text.replace(/\s/g, ''), (char) => characters.get(char));
  return small.length === 0 || small.includes(undefined) ? undefined : small.join('');
}

function grouped(text: string): string {
  return Array.from(text).length === 1 ? text : `(${text})`;
}
