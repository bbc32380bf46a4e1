/** Text that every platform and database accepts. */

/** Replaces lone surrogates with U+FFFD and NUL with U+2400: Postgres rejects the one, Telegram the other. */
export function cleanText(text: string): string {
  // Nearly every text is clean, and this runs for every token: the checks cost a quarter of the replacement.
  if (text.isWellFormed() && !text.includes('\0')) return text;
  return text.toWellFormed().replaceAll('\0', '\u2400');
}

/** The head and tail of a text longer than `max` UTF-16 units, with a marker that says how much is missing. */
export function clipMiddle(text: string, max: number): string {
  if (text.length <= max) return text;
  const head = Math.ceil(max * 0.7);
  const tail = max - head;
  const missing = text.length - max;
  return `${text.slice(0, head)}\n[… ${missing} characters left out …]\n${text.slice(text.length - tail)}`.toWellFormed();
}

/** The beginning of a text longer than `max` UTF-16 units, with an ellipsis for the rest. */
export function clipEnd(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1).toWellFormed()}…`;
}

/** A title, and its items below it, a line each. */
export function withItems(title: string, items: readonly string[]): string {
  return [title, ...items.map((item) => `  - ${item}`)].join('\n');
}

/** The text on one line: line breaks, control characters and marks of writing direction become single spaces. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu, ' ').trim();
}

/** The text without these characters at its end. A pattern such as `/[.]+$/` would take quadratic time. */
export function stripEnd(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

/** The text on one line of a terminal: control characters, line breaks and marks of writing direction as numbers. */
export function escapeControls(text: string): string {
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, codePoint);
}

/** The text with its invisible and direction-changing characters as code points; lines and tabs stay. */
export function visibleText(text: string): string {
  return text.replaceAll(/[^\P{C}\n\t]|[\p{Zl}\p{Zp}\u3164\u115f\u1160\u2800]/gu, codePoint);
}

/**
 * JSON without characters that a terminal obeys, that end a line for some readers, or that change the direction of writing: as
 * escapes, with the same meaning.
 */
export function escapeInJson(json: string): string {
  return json.replaceAll(
    /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function codePoint(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

/** A size in megabytes as platforms name their limits: `1.5 MB`, `50 MB`; below a tenth of one, in bytes. */
export function inMegabytes(bytes: number): string {
  if (bytes < 100_000) return `${bytes} bytes`;
  const megabytes = bytes / 1_000_000;
  return megabytes < 10 ? `${megabytes.toFixed(1)} MB` : `${Math.round(megabytes)} MB`;
}

/** Those that begin with what was typed, then those that contain it; case does not matter. */
export function namesLike(typed: string, names: readonly string[]): string[] {
  const prefix = typed.trim().toLowerCase();
  const places = names.map((name) => name.toLowerCase().indexOf(prefix));
  return [
    ...names.filter((_, index) => places[index] === 0),
    ...names.filter((_, index) => (places[index] ?? -1) > 0),
  ];
}

/** Most letters by which a typed name may differ from the one that was meant; a short name may differ by fewer. */
const MAX_SLIPS = 3;

/** The names that someone who typed this probably meant, the closest first; case does not matter. */
export function closestNames(typed: string, names: readonly string[]): string[] {
  const lowerCase = typed.toLowerCase();
  const most = Math.min(MAX_SLIPS, Math.ceil(lowerCase.length / 3));
  return names
    .map((name) => ({ name, slips: editDistance(lowerCase, name.toLowerCase()) }))
    .filter(({ slips }) => slips <= most)
    .toSorted((a, b) => a.slips - b.slips)
    .map(({ name }) => name);
}

/** How many letters must be added, removed or replaced to turn one word into the other. */
function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (let line = 0; line < one.length; line += 1) {
    const next = [line + 1];
    for (let column = 0; column < other.length; column += 1) {
      const replaced = (row[column] ?? 0) + (one[line] === other[column] ? 0 : 1);
      next.push(Math.min(replaced, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

let segmenter: Intl.Segmenter | undefined;

/** The characters of a text. The rules are loaded at the first call: that takes 30 ms, which no start has to wait for. */
export function graphemesOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  return segmenter.segment(text);
}

/** UTF-8 bytes / 3, rounded up: conservative for English, about 1 per CJK character and 0.67 per Cyrillic letter. */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text, 'utf8') / 3);
}
