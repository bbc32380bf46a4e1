/** Pairing codes and bearer tokens: how they are made and hashed. */
import { createHash, randomBytes, randomInt } from 'node:crypto';

/** Letters and digits that are not mistaken for one another. */
const CODE_ALPHABET = 'ABCDEFGHJKMNPQRSTUVWXYZ23456789';

/** A pairing code of 8 characters, about 39 bits, from the system's random source. */
export function newPairingCode(): string {
  return Array.from({ length: 8 }, () => CODE_ALPHABET[randomInt(CODE_ALPHABET.length)]).join('');
}

/** A bearer token of 256 random bits, marked so that people and scanners recognise it. */
export function newToken(): string {
  return `parley_${randomBytes(32).toString('base64url')}`;
}

/**
 * SHA-256 in hex: high-entropy secrets need no slow hash at rest. Looking one up by its digest leaks nothing by timing:
 * an attacker cannot steer the digest of a guess towards the digest of a real one.
 */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret, 'utf8').digest('hex');
}
