/** Lists of search results, joined; and the nearness of vectors. */

/** Softens the difference between adjacent ranks in a list, as is usual in reciprocal rank fusion. */
const RANK_OFFSET = 60;

/**
 * The items of several lists, each best first, as one, by reciprocal rank fusion. Of equal ones, the first list's come
 * first. With a smaller `offset` the first places of a list count more.
 */
export function fuseRanks<Item extends { id: number }>(
  lists: readonly { items: readonly Item[]; weight: number }[],
  offset = RANK_OFFSET,
): Item[] {
  const scores = new Map<number, { item: Item; score: number }>();
  for (const { items, weight } of lists) {
    for (const [rank, item] of items.entries()) {
      const score = (scores.get(item.id)?.score ?? 0) + weight / (offset + rank);
      scores.set(item.id, { item, score });
    }
  }
  return [...scores.values()].toSorted((a, b) => b.score - a.score).map(({ item }) => item);
}

/** The cosine of the angle between two vectors of the same length; 0 if one of them has no direction. */
export function similarity(a: Int8Array, b: Int8Array): number {
  let dot = 0;
  let ofA = 0;
  let ofB = 0;
  for (let at = 0; at < a.length; at += 1) {
    const x = a[at]!;
    const y = b[at]!;
    dot += x * y;
    ofA += x * x;
    ofB += y * y;
  }
  return ofA === 0 || ofB === 0 ? 0 : dot / Math.sqrt(ofA * ofB);
}
