/** JSON of any depth, as a model or a client may write it. */
import { MAX_JSON_DEPTH } from '../../../src/lib/json/json.ts';

/** The text of an object with that many levels. */
export function nestedJson(levels: number): string {
  return `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`;
}

/** An object nested as deeply as is accepted, and one that is a level deeper. */
export const DEEPEST: unknown = JSON.parse(nestedJson(MAX_JSON_DEPTH));
export const TOO_DEEP: unknown = JSON.parse(nestedJson(MAX_JSON_DEPTH + 1));
