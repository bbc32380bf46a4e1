/** Parts of a chat's history that may have been missed. Pure. */

/** A part of the history that may have been missed: everything after an id. */
export interface Gap {
  after: string;
  /** An earlier process may have received some of it: an old `/stop` or `/new` must not act twice. */
  mayRepeat: boolean;
  /** Called once all of it is stored. */
  stored: (() => void)[];
}

/** Both gaps in one. */
export function widen(one: Gap, other: Gap): Pick<Gap, 'after' | 'mayRepeat'> {
  const after = isLater(one.after, other.after) ? other.after : one.after;
  return { after, mayRepeat: one.mayRepeat || other.mayRepeat };
}

/** Whether a message is newer than another: its id is larger. */
export function isLater(id: string, than: string | undefined): boolean {
  return than === undefined || BigInt(id) > BigInt(than);
}
