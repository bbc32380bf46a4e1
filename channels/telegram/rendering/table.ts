/** Tables on a phone: drawn with characters if they fit, otherwise one record below the other. Pure. */
import type { Table, TableCell } from 'mdast';
import { columnsOf, drawTable } from '../../../src/lib/markdown/text-table.ts';
import { joined, NOTHING, type Piece, textPiece, wrapped } from './piece.ts';

/** Characters that a phone shows in a line of a drawn table; a wider one would wrap and be unreadable. */
export const MAX_TABLE_COLUMNS = 40;

/**
 * A table; `cellOf` renders the content of a cell. A table with links is not drawn, because the links would be lost.
 */
export function renderTable(table: Table, cellOf: (cell: TableCell) => Piece): Piece {
  const rows = table.children.map((row) => row.children.map((cell) => tidy(cellOf(cell))));
  if (!rows.flat().some(({ html }) => html.includes('<a '))) {
    const drawn = drawTable(
      rows.map((row) => row.map(({ visible }) => visible)),
      table.align ?? [],
    );
    if (columnsOf(drawn) <= MAX_TABLE_COLUMNS) return wrapped('pre', textPiece(drawn));
  }
  const [head = [], ...body] = rows;
  if (body.length === 0)
    return joined(
      head.map((cell) => wrapped('b', cell)),
      '\n',
    );
  return joined(
    body.map((row) => recordOf(head, row)).filter(({ visible }) => visible !== ''),
    '\n\n',
  );
}

/** `Name: value`, a line for each column; the first value is bold, as the title of its record. */
function recordOf(head: readonly Piece[], row: readonly Piece[]): Piece {
  const columns = Math.max(head.length, row.length);
  const lines = Array.from({ length: columns }, (_, column) => {
    const name = head[column] ?? NOTHING;
    const value = row[column] ?? NOTHING;
    const shown = column === 0 ? wrapped('b', value) : value;
    if (name.visible === '') return shown;
    return joined([name, textPiece(value.visible === '' ? ':' : ': '), shown]);
  });
  return joined(
    lines.filter(({ visible }) => visible !== ''),
    '\n',
  );
}

/** Models break the lines of a cell with `<br>`; a line of a record has no room for that. */
function tidy({ html, visible }: Piece): Piece {
  return { html: html.replaceAll('\n', ' '), visible: visible.replaceAll('\n', ' ') };
}
