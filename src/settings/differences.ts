/** What differs between two values of settings. */
import { isDeepStrictEqual } from 'node:util';

type Fields = Readonly<Record<string, unknown>>;

/** The fields in which two objects differ, by dotted name; a list counts as one field. */
export function differences(before: Fields, after: Fields): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) => {
    const [was, is] = [before[name], after[name]];
    if (isDeepStrictEqual(was, is)) return [];
    return isFields(was) && isFields(is) ? differences(was, is).map((inner) => `${name}.${inner}`) : [name];
  });
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
