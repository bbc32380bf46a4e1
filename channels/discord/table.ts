/** A table as aligned text, for chats that know no tables. Pure. */
import type { AlignType } from 'mdast';

/** Columns padded to their widest cell (code points), a rule under the head. */
export function alignTable(rows: readonly (readonly string[])[], align: readonly AlignType[]): string {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(1, ...rows.map((row) => widthOf(row[column] ?? ''))),
  );
  const lines = rows.map((row) =>
    widths
      .map((width, column) => pad(row[column] ?? '', width, align[column]))
      .join(' | ')
      .trimEnd(),
  );
  const rule = widths.map((width) => '-'.repeat(width)).join('-+-');
  return [...lines.slice(0, 1), rule, ...lines.slice(1)].join('\n');
}

function widthOf(text: string): number {
  return Array.from(text).length;
}

function pad(text: string, width: number, align: AlignType | undefined): string {
  const missing = width - widthOf(text);
  if (align === 'right') return ' '.repeat(missing) + text;
  if (align !== 'center') return text + ' '.repeat(missing);
  const left = Math.floor(missing / 2);
  return ' '.repeat(left) + text + ' '.repeat(missing - left);
}
