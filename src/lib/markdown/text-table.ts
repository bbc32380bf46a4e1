/** A table drawn with characters, for a monospaced font. */
import type { AlignType } from 'mdast';
import { graphemesOf } from '../text.ts';

/** Characters that take one column each: no need to look for clusters. */
const NARROW = /^[ -\u02FF]*$/;

const WIDE =
  /\p{Emoji_Presentation}|[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60]/u;

/** A text and the columns it takes. */
interface Cell {
  text: string;
  width: number;
}

const EMPTY: Cell = { text: '', width: 0 };

/**
 * Rows as lines of aligned columns, the first row underlined; '' for no rows. Rows may be ragged; columns are aligned
 * left by default.
 */
export function drawTable(
  rows: readonly (readonly string[])[],
  align: readonly (AlignType | undefined)[] = [],
): string {
  const cells = rows.map((row) => row.map((cell) => measured(cell.replace(/\s+/g, ' ').trim())));
  const columns = cells.reduce((most, row) => Math.max(most, row.length), 0);
  const widths = Array.from({ length: columns }, (_, column) =>
    cells.reduce((widest, row) => Math.max(widest, row[column]?.width ?? 0), 1),
  );
  const lines = cells.map((row) =>
    widths
      .map((width, column) => pad(row[column] ?? EMPTY, width, align[column]))
      .join(' | ')
      .trimEnd(),
  );
  const [head, ...body] = lines;
  if (head === undefined) return '';
  return [head, widths.map((width) => '-'.repeat(width)).join('-+-'), ...body].join('\n');
}

/** Columns that the widest line of a text takes. */
export function columnsOf(text: string): number {
  return text.split('\n').reduce((most, line) => Math.max(most, measured(line).width), 0);
}

function pad({ text, width }: Cell, columns: number, align: AlignType | undefined): string {
  const missing = columns - width;
  const leftPadding = align === 'right' ? missing : align === 'center' ? Math.floor(missing / 2) : 0;
  return ' '.repeat(leftPadding) + text + ' '.repeat(missing - leftPadding);
}

/** CJK and emoji take two columns, joiners and marks none. */
function measured(text: string): Cell {
  if (NARROW.test(text)) return { text, width: text.length };
  let width = 0;
  for (const { segment } of graphemesOf(text)) width += WIDE.test(segment) ? 2 : 1;
  return { text, width };
}
