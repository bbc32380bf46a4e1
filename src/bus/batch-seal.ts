/** Encrypts batches between the nodes of one database: the server in between cannot read, change or replay them. */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/** A batch is accepted for this long after it was sealed; the clocks of nodes may differ as much. In milliseconds. */
export const MAX_BATCH_AGE_MS = 60_000;
/** Other processes whose last number is remembered. Each is forgotten once its batches would be too old anyway. */
export const MAX_SENDERS = 512;

/** Version, salt of the sender's key, epoch milliseconds, number: authenticated, not encrypted. */
const VERSION = 1;
const SALT_BYTES = 16;
const TIME_AT = 1 + SALT_BYTES;
const NUMBER_AT = TIME_AT + 6;
const HEADER_BYTES = NUMBER_AT + 6;
const TAG_BYTES = 16;
const CIPHER = 'aes-256-gcm';

/** Why a batch was refused: wrong key or changed, too old, a repeat, or one sender too many. */
export type Refusal = 'forged' | 'stale' | 'repeated' | 'too_many_senders';

export type Opened = { batch: string } | { refused: Refusal };

export interface BatchSeal {
  seal(batch: string): Buffer;
  /** Never throws. */
  open(sealed: Uint8Array): Opened;
}

interface Sender {
  key: Buffer;
  number: number;
  heardAt: number;
}

/**
 * AES-256-GCM. Every process derives its own key from the shared one and a random salt (HKDF-SHA256, RFC 5869) and
 * numbers its batches, so that no nonce is used twice and a batch counts once.
 */
export function createBatchSeal(shared: Buffer, epochNow: () => number): BatchSeal {
  const salt = randomBytes(SALT_BYTES);
  const keyOf = (of: Buffer): Buffer => Buffer.from(hkdfSync('sha256', shared, of, 'parley batch', 32));
  const ownKey = keyOf(salt);
  const senders = new Map<string, Sender>();
  let number = 0;

  const forget = (now: number): void => {
    for (const [name, { heardAt }] of senders) if (now - heardAt > 2 * MAX_BATCH_AGE_MS) senders.delete(name);
  };

  return {
    seal(batch) {
      number += 1;
      const header = Buffer.alloc(HEADER_BYTES);
      header.writeUInt8(VERSION, 0);
      salt.copy(header, 1);
      header.writeUIntBE(epochNow(), TIME_AT, 6);
      header.writeUIntBE(number, NUMBER_AT, 6);
      const cipher = createCipheriv(CIPHER, ownKey, nonceOf(number)).setAAD(header);
      return Buffer.concat([header, cipher.update(batch, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    },

    open(bytes) {
      const sealed = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      if (sealed.length < HEADER_BYTES + TAG_BYTES || sealed[0] !== VERSION) return { refused: 'forged' };
      const from = sealed.subarray(1, TIME_AT);
      const name = from.toString('hex');
      const sender = senders.get(name);
      const key = sender?.key ?? keyOf(from);
      const counter = sealed.readUIntBE(NUMBER_AT, 6);
      const batch = decrypt(key, counter, sealed);
      if (batch === undefined) return { refused: 'forged' };
      const now = epochNow();
      if (Math.abs(now - sealed.readUIntBE(TIME_AT, 6)) > MAX_BATCH_AGE_MS) return { refused: 'stale' };
      if (sender !== undefined && counter <= sender.number) return { refused: 'repeated' };
      if (sender === undefined && senders.size >= MAX_SENDERS) forget(now);
      if (sender === undefined && senders.size >= MAX_SENDERS) return { refused: 'too_many_senders' };
      senders.set(name, { key, number: counter, heardAt: now });
      return { batch };
    },
  };
}

function nonceOf(number: number): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUIntBE(number, 6, 6);
  return nonce;
}

/** Undefined when it was not sealed with this key, or was changed. */
function decrypt(key: Buffer, number: number, sealed: Buffer): string | undefined {
  const decipher = createDecipheriv(CIPHER, key, nonceOf(number), { authTagLength: TAG_BYTES });
  decipher.setAAD(sealed.subarray(0, HEADER_BYTES)).setAuthTag(sealed.subarray(-TAG_BYTES));
  try {
    const text = decipher.update(sealed.subarray(HEADER_BYTES, -TAG_BYTES));
    return Buffer.concat([text, decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}
