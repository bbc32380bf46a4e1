/** Finds among names those that somebody may be typing. Pure. */

/** Those that begin with what was typed, then those that hold it; letters of either case count as the same. */
export function namesLike(typed: string, names: readonly string[]): string[] {
  const wanted = typed.trim().toLowerCase();
  const places = names.map((name) => name.toLowerCase().indexOf(wanted));
  return [
    ...names.filter((_, index) => places[index] === 0),
    ...names.filter((_, index) => (places[index] ?? -1) > 0),
  ];
}
