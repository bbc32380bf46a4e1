/** File names chosen by others, made safe for disks, headers and screens. */
import { stripEnd } from './text.ts';

/** Longest name, in UTF-8 bytes: with a prefix it still fits every file system. */
export const MAX_FILE_NAME_BYTES = 120;
/** Longest extension that is kept when a name is shortened, with its dot, in UTF-16 units. */
const MAX_ENDING = 12;

/**
 * The last part of a path as a harmless name: without control characters, marks of writing direction, and leading dots.
 * If nothing is left, it is `fallback`.
 */
export function safeFileName(path: string, fallback = 'file'): string {
  const last = path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
  const plain = last
    .toWellFormed()
    .replaceAll(/[\p{Zl}\p{Zp}\s]/gu, ' ')
    .replaceAll(/[\p{C}\u{fffd}]/gu, '')
    .replaceAll(/[:*?"<>|]/g, '_')
    .replaceAll(/ {2,}/g, ' ')
    .normalize('NFC');
  const name = stripEnd(plain.replace(/^[. ]+/, ''), '. ');
  return name === '' ? fallback : shorten(name);
}

/** Cuts out the middle between whole characters, so that the extension stays. */
function shorten(name: string): string {
  if (Buffer.byteLength(name) <= MAX_FILE_NAME_BYTES) return name;
  const dot = name.lastIndexOf('.');
  const ending = dot > 0 && name.length - dot <= MAX_ENDING ? name.slice(dot) : '';
  let stem = '';
  for (const character of name) {
    if (Buffer.byteLength(stem + character + ending) > MAX_FILE_NAME_BYTES) break;
    stem += character;
  }
  return stripEnd(stem, '. ') + ending;
}
