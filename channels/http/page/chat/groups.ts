/**
 * The turns of a conversation and the lines between them, in groups that the browser lays out only near the view: a growing
 * answer costs the same below ten turns and below thousands. All of them stay in the document, so that search, selection and
 * screen readers find them. Pure.
 */

/** Turns in one group. */
export const GROUP_TURNS = 25;

/** What has a place in the conversation. */
export interface Placed {
  /** Unique. */
  key: string;
  /** Its position: by number; what has none yet comes last. */
  seq: number;
}

export interface Group<Item extends Placed> {
  key: string;
  items: readonly Item[];
}

/** The groups with an item in its place: after those of the same number. Groups that do not change stay the same objects. */
export function place<Item extends Placed>(
  groups: readonly Group<Item>[],
  item: Item,
): readonly Group<Item>[] {
  // Nearly always that is the end, or the beginning while earlier ones are loaded.
  const index = groups.findLastIndex(({ items: [first] }) => first !== undefined && first.seq <= item.seq);
  const group = groups[index];
  const at = (group?.items.findLastIndex(({ seq }) => seq <= item.seq) ?? -1) + 1;
  if (group !== undefined && (at < group.items.length || hasRoom(group)))
    return groups.with(index, { ...group, items: group.items.toSpliced(at, 0, item) });
  const next = groups[index + 1];
  if (next !== undefined && hasRoom(next))
    return groups.with(index + 1, { ...next, items: [item, ...next.items] });
  return groups.toSpliced(index + 1, 0, { key: `${item.key} at ${item.seq}`, items: [item] });
}

/** The groups without an item; a group without items goes. */
export function remove<Item extends Placed>(
  groups: readonly Group<Item>[],
  key: string,
): readonly Group<Item>[] {
  const index = groups.findIndex(({ items }) => items.some((item) => item.key === key));
  const group = groups[index];
  if (group === undefined) return groups;
  const items = group.items.filter((item) => item.key !== key);
  return items.length === 0 ? groups.toSpliced(index, 1) : groups.with(index, { ...group, items });
}

/** The groups with an item that has another number now; it stays where it is if that is its place. */
export function move<Item extends Placed>(
  groups: readonly Group<Item>[],
  item: Item,
): readonly Group<Item>[] {
  const all = groups.flatMap(({ items }) => items);
  const index = all.findIndex(({ key }) => key === item.key);
  const [previous, next] = [all[index - 1]?.seq ?? -Infinity, all[index + 1]?.seq ?? Infinity];
  if (index < 0 || previous > item.seq || next <= item.seq) return place(remove(groups, item.key), item);
  return groups.map((group) =>
    group.items.some(({ key }) => key === item.key)
      ? { ...group, items: group.items.map((other) => (other.key === item.key ? item : other)) }
      : group,
  );
}

function hasRoom({ items }: Group<Placed>): boolean {
  return items.length < GROUP_TURNS;
}
