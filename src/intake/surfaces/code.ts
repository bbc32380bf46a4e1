/** Codes with which a chat joins the session of another. */
import { createHash, randomInt } from 'node:crypto';

/** Crockford's base 32: digits and letters that are not easily confused. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
/** Ten characters have 50 bits. */
const LENGTH = 10;

/** A new code as people read it: `4T7QX-0M9KD`. */
export function newLinkCode(): string {
  const characters = Array.from({ length: LENGTH }, () => ALPHABET.charAt(randomInt(ALPHABET.length)));
  return `${characters.slice(0, LENGTH / 2).join('')}-${characters.slice(LENGTH / 2).join('')}`;
}

/**
 * The SHA-256 of a code as typed, in hexadecimal: ignoring case, spaces and dashes, and reading letters that look like
 * digits as those digits. Undefined for a text that cannot be a code.
 */
export function hashLinkCode(typed: string): string | undefined {
  const code = typed.toUpperCase().replaceAll(/[\s-]/g, '').replaceAll(/[IL]/g, '1').replaceAll('O', '0');
  if (code.length !== LENGTH || !/^[0-9A-HJKMNP-TV-Z]+$/.test(code)) return undefined;
  return createHash('sha256').update(code).digest('hex');
}
