/** What differs between two values of settings. */
import { isDeepStrictEqual } from 'node:util';
import { isJsonObject } from '../lib/json/json.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The fields in which two objects differ, by dotted name; a list counts as one field. */
export function differences(before: Fields, after: Fields): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) => {
    const [was, is] = [before[name], after[name]];
    if (isDeepStrictEqual(was, is)) return [];
    return isJsonObject(was) && isJsonObject(is)
      ? differences(was, is).map((inner) => `${name}.${inner}`)
      : [name];
  });
}
