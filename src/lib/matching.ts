/** Finds the names that someone may be typing. Pure. */

/** Those that begin with what was typed, then those that contain it; case does not matter. */
export function namesLike(typed: string, names: readonly string[]): string[] {
  const wanted = typed.trim().toLowerCase();
  const places = names.map((name) => name.toLowerCase().indexOf(wanted));
  return [
    ...names.filter((_, index) => places[index] === 0),
    ...names.filter((_, index) => (places[index] ?? -1) > 0),
  ];
}

/** How many letters must be added, removed or replaced to turn one word into the other. */
export function editDistance(one: string, other: string): number {
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
