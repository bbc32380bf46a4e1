/** Rows of Markdown tables. */

/** Most cells of a row. */
const MAX_CELLS = 64;
const DELIMITER_CELL = /^:?-+:?$/;

/** The cells of a row; beyond `MAX_CELLS` what is left goes into the last one. */
export function cellsOf(line: string): string[] {
  const pieces = line.trim().match(/\\[\\|]|[^\\|]+|[\\|]/g) ?? [];
  if (pieces[0] === '|') pieces.shift();
  if (pieces.at(-1) === '|') pieces.pop();
  const cells = [''];
  for (const piece of pieces) {
    if (piece === '|' && cells.length < MAX_CELLS) cells.push('');
    else cells[cells.length - 1] += piece === '\\|' ? '|' : piece;
  }
  return cells.map((cell) => cell.trim());
}

/** How the columns are aligned, by the row of dashes below a head; undefined if they are not such a row. */
export function columnsOf(head: string, dashes: string): string[] | undefined {
  if (!dashes.includes('-') || !(head.includes('|') || dashes.includes('|') || dashes.includes(':')))
    return undefined;
  const marks = cellsOf(dashes);
  if (marks.length !== cellsOf(head).length || !marks.every((cell) => DELIMITER_CELL.test(cell)))
    return undefined;
  return marks.map((cell) => {
    if (cell.endsWith(':')) return cell.startsWith(':') ? 'center' : 'right';
    return 'left';
  });
}
