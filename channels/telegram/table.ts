/** A table drawn with characters, for a font of one width. */

const graphemes = new Intl.Segmenter();

/** Letters that take one column each: no need to look for clusters. */
const NARROW = /^[ -\u02FF]*$/;

const WIDE =
  /\p{Emoji_Presentation}|[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60]/u;

/** Rows of cells as aligned lines, the first row underlined. Line breaks in cells become spaces; rows may be ragged. */
export function drawTable(rows: string[][]): string {
  const cells = rows.map((row) => row.map((cell) => measured(cell.replace(/\s+/g, ' ').trim())));
  const columns = cells.reduce((most, row) => Math.max(most, row.length), 0);
  const widths = Array.from({ length: columns }, (_, i) =>
    cells.reduce((widest, row) => Math.max(widest, row[i]?.width ?? 0), 1),
  );
  const lines = cells.map((row) =>
    widths
      .map((width, i) => (row[i]?.text ?? '') + ' '.repeat(width - (row[i]?.width ?? 0)))
      .join(' | ')
      .trimEnd(),
  );
  const [head, ...body] = lines;
  if (head === undefined) return '';
  return [head, widths.map((width) => '-'.repeat(width)).join('-+-'), ...body].join('\n');
}

/** A text and the columns it takes: CJK and emoji two, joiners and marks none. */
function measured(text: string): { text: string; width: number } {
  if (NARROW.test(text)) return { text, width: text.length };
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += WIDE.test(segment) ? 2 : 1;
  return { text, width };
}
