/** What changes between two texts, line by line. Pure. */

/**
 * Lines of both texts together that are compared one by one; in longer texts only the common beginning and end are
 * found.
 */
export const MAX_COMPARED_LINES = 600;

export interface DiffLine {
  kind: 'same' | 'removed' | 'added';
  text: string;
}

/** The lines of both texts in order: removed ones before those that replace them. Never throws. */
export function lineDiff(before: string, after: string): DiffLine[] {
  const old = linesOf(before);
  const fresh = linesOf(after);
  let head = 0;
  while (head < old.length && head < fresh.length && old[head] === fresh[head]) head += 1;
  let tail = 0;
  const rest = Math.min(old.length, fresh.length) - head;
  while (tail < rest && old.at(-1 - tail) === fresh.at(-1 - tail)) tail += 1;
  const oldPart = old.slice(head, old.length - tail);
  const freshPart = fresh.slice(head, fresh.length - tail);
  return [
    ...linesAs('same', old.slice(0, head)),
    ...(oldPart.length + freshPart.length > MAX_COMPARED_LINES
      ? [...linesAs('removed', oldPart), ...linesAs('added', freshPart)]
      : compared(oldPart, freshPart)),
    ...linesAs('same', old.slice(old.length - tail)),
  ];
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.split('\n');
}

function linesAs(kind: DiffLine['kind'], texts: readonly string[]): DiffLine[] {
  return texts.map((text) => ({ kind, text }));
}

/** The longest sequence of common lines stays; the rest is removed or added. */
function compared(oldLines: readonly string[], freshLines: readonly string[]): DiffLine[] {
  const width = freshLines.length + 1;
  /** For each pair of lines, how many lines the texts from there on have in common. */
  const common = new Uint16Array((oldLines.length + 1) * width);
  const at = (a: number, b: number): number => common[a * width + b] ?? 0;
  for (let a = oldLines.length - 1; a >= 0; a -= 1)
    for (let b = freshLines.length - 1; b >= 0; b -= 1)
      common[a * width + b] =
        oldLines[a] === freshLines[b] ? at(a + 1, b + 1) + 1 : Math.max(at(a + 1, b), at(a, b + 1));
  const lines: DiffLine[] = [];
  let [a, b] = [0, 0];
  while (a < oldLines.length && b < freshLines.length) {
    if (oldLines[a] === freshLines[b]) {
      lines.push({ kind: 'same', text: oldLines[a] ?? '' });
      a += 1;
      b += 1;
    } else if (at(a + 1, b) >= at(a, b + 1)) {
      lines.push({ kind: 'removed', text: oldLines[a] ?? '' });
      a += 1;
    } else {
      lines.push({ kind: 'added', text: freshLines[b] ?? '' });
      b += 1;
    }
  }
  return [...lines, ...linesAs('removed', oldLines.slice(a)), ...linesAs('added', freshLines.slice(b))];
}
