/** The measurements: the table of the bench, and whether each bar was met. */

/** One row of the table. */
export interface Figure {
  /** Its number in the list of budgets; undefined = for information, without a bar. */
  row?: number;
  what: string;
  /** Where it was measured. */
  on: string;
  value: number;
  unit: string;
  bar?: { atMost: number } | { atLeast: number };
  /** How the figure was obtained. */
  note?: string;
}

/** True when the figure has a bar and does not meet it; a figure that is not a number does not. */
export function isMissed({ value, bar }: Figure): boolean {
  if (bar === undefined) return false;
  return !('atMost' in bar ? value <= bar.atMost : value >= bar.atLeast);
}

/** The table as text, one line per figure. */
export function table(figures: readonly Figure[]): string {
  const rows = figures.map((figure) => [
    figure.row === undefined ? '-' : String(figure.row),
    figure.what,
    figure.on,
    `${round(figure.value)} ${figure.unit}`,
    barOf(figure),
    verdictOf(figure),
    figure.note ?? '',
  ]);
  const all = [['row', 'what', 'on', 'seen', 'bar', '', 'note'], ...rows];
  const widths = all[0]!.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function barOf({ bar, unit }: Figure): string {
  if (bar === undefined) return '';
  return 'atMost' in bar ? `≤ ${bar.atMost} ${unit}` : `≥ ${bar.atLeast} ${unit}`;
}

function verdictOf(figure: Figure): string {
  if (figure.bar === undefined) return '';
  return isMissed(figure) ? 'MISSED' : 'ok';
}

function round(value: number): string {
  return value.toFixed(Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0);
}

/** The value below which the given share (0 to 1) of the samples lies; NaN without samples. */
export function quantile(samples: readonly number[], share: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function median(samples: readonly number[]): number {
  return quantile(samples, 0.5);
}
