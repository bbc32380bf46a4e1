/** Nonces, with which a platform recognizes a repeated send. */
import { createHash } from 'node:crypto';

/** 24 characters for part `index` of the delivery `ref`: the same for every attempt (Discord allows 25). */
export function nonceOf(ref: string, index: number): string {
  return createHash('sha256').update(`${ref}${index}`).digest('base64url').slice(0, 24);
}
