/**
 * Encryption of a stream with a passphrase: scrypt derives the key, and pieces of `PIECE_BYTES` are sealed with
 * AES-256-GCM. The number of a piece is its nonce, and whether it is the last one is authenticated: pieces cannot be
 * changed, moved, repeated or left out.
 */
import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto';
import { GatewayError } from '../../protocol/errors.ts';

/** Bytes of one piece before it is sealed, which are held in memory. */
const PIECE_BYTES = 64 * 1024;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
const COST = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1024 * 1024 };
/** Shortest passphrase. */
export const MIN_PASSPHRASE_CHARS = 12;

/** Base64 of a new salt. A key is used for one stream only, so that nonces may count from zero. */
export function newSalt(): string {
  return randomBytes(16).toString('base64');
}

/** The key of a passphrase. */
export async function keyOf(passphrase: string, salt: string): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  scrypt(passphrase, Buffer.from(salt, 'base64'), KEY_BYTES, COST, (error, key) => {
    if (error === null) resolve(key);
    else reject(error);
  });
  return await promise;
}

/** Seals a stream. */
export async function* seal(bytes: AsyncIterable<Buffer>, key: Buffer): AsyncGenerator<Buffer> {
  let turn = 0;
  for await (const { piece, last } of pieces(bytes, PIECE_BYTES)) {
    const cipher = createCipheriv('aes-256-gcm', key, nonce(turn, last));
    yield Buffer.concat([cipher.update(piece), cipher.final(), cipher.getAuthTag()]);
    turn += 1;
  }
}

/** Opens a sealed stream. Throws `GatewayError('bad_backup')` for a wrong passphrase, and a stream that was changed or cut. */
export async function* unseal(bytes: AsyncIterable<Buffer>, key: Buffer): AsyncGenerator<Buffer> {
  let turn = 0;
  for await (const { piece, last } of pieces(bytes, PIECE_BYTES + TAG_BYTES)) {
    const decipher = createDecipheriv('aes-256-gcm', key, nonce(turn, last));
    try {
      decipher.setAuthTag(piece.subarray(-TAG_BYTES));
      yield Buffer.concat([decipher.update(piece.subarray(0, -TAG_BYTES)), decipher.final()]);
    } catch (error) {
      const text = 'The backup cannot be decrypted: the passphrase is wrong, or the file was changed or cut.';
      throw new GatewayError('bad_backup', text, { cause: error });
    }
    turn += 1;
  }
}

function nonce(turn: number, last: boolean): Buffer {
  const bytes = Buffer.alloc(12);
  bytes.writeUInt8(last ? 1 : 0, 0);
  bytes.writeUInt32BE(turn, 8);
  return bytes;
}

/** The stream in pieces of one size; the last one may be shorter, or empty. */
async function* pieces(
  bytes: AsyncIterable<Buffer>,
  size: number,
): AsyncGenerator<{ piece: Buffer; last: boolean }> {
  let held = Buffer.alloc(0);
  for await (const chunk of bytes) {
    held = Buffer.concat([held, chunk]);
    // One piece is held back: it may be the last.
    while (held.length > size) {
      yield { piece: held.subarray(0, size), last: false };
      held = held.subarray(size);
    }
  }
  yield { piece: held, last: true };
}
