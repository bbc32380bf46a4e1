/** Pairing codes and bearer tokens: how they are made and hashed. */
import { createHash, randomBytes, randomInt } from 'node:crypto';
import { z } from 'zod';

/** Letters and digits that are not easily confused. */
const CODE_ALPHABET = 'ABCDEFGHJKMNPQRSTUVWXYZ23456789';

/** A pairing code of 8 characters, about 39 bits, from the system's random source. */
export function newPairingCode(): string {
  return Array.from({ length: 8 }, () => CODE_ALPHABET[randomInt(CODE_ALPHABET.length)]).join('');
}

/** A bearer token of 256 random bits, marked so that people and scanners recognize it. */
export function newToken(): string {
  return `parley_${randomBytes(32).toString('base64url')}`;
}

/** Minimum length of a self-chosen token, and how many of its characters must differ: 128 bits if they are random. */
const MIN_TOKEN_CHARS = 32;
const MIN_TOKEN_VARIETY = 10;
const WEAK_TOKEN = `must be random: at least ${MIN_TOKEN_CHARS} characters, ${MIN_TOKEN_VARIETY} of them different; openssl rand -hex 32 makes one`;

/** A self-chosen token (`GATEWAY_TOKEN`): hard to guess, because wrong tokens lock no one out. */
export const ownToken = z
  .string()
  .max(400)
  .refine((token) => token.length >= MIN_TOKEN_CHARS && new Set(token).size >= MIN_TOKEN_VARIETY, WEAK_TOKEN)
  .regex(/^[A-Za-z0-9._~+/=-]+$/, 'may hold only letters, digits and . _ ~ + / = -');

/**
 * SHA-256 in hex: high-entropy secrets need no slow hash at rest. Looking one up by its digest leaks nothing by timing:
 * an attacker cannot steer the digest of a guess toward the digest of a real one.
 */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret, 'utf8').digest('hex');
}

/** Random bytes of a stored secret: of a cookie, a ticket or a stream. */
export const SECRET_BYTES = 32;

/** The digest of a session's secret. The prefix distinguishes it from tokens: no token may contain a colon. */
export function hashSession(secret: string): string {
  return hashSecret(`session:${secret}`);
}
