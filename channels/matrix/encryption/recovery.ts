/** Cross-signing keys of an account that already has them: read from its secret storage with the recovery key ("Secret storage"). */
import { createDecipheriv, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { ConfigError } from '../../../src/protocol/errors.ts';
import { CLIENT, type MatrixClient, pathOf } from '../client.ts';

const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
/** A recovery key begins with these bytes, then come 32 bytes of key, and one that makes the parity of all bytes even. */
const PREFIX = [0x8b, 0x01];
const KEY_BYTES = 32;

const DefaultKey = z.object({ key: z.string() });
const Sealed = z.object({ iv: z.string(), ciphertext: z.string(), mac: z.string() });
const Secret = z.object({ encrypted: z.record(z.string(), Sealed) });

/** The private keys of an account, in base64. */
interface SigningKeys {
  master: string;
  selfSigning: string;
  userSigning: string;
}

/** Throws `ConfigError` if this is not the recovery key of the account, `ChannelError`. */
export async function readSigningKeys(
  client: MatrixClient,
  userId: string,
  recoveryKey: string,
): Promise<SigningKeys> {
  const key = decodeKey(recoveryKey);
  const read = async (type: string): Promise<unknown> =>
    await client.call('GET', pathOf(CLIENT, 'user', userId, 'account_data', type));
  const { key: id } = DefaultKey.parse(await read('m.secret_storage.default_key'));
  const secret = async (name: string): Promise<string> => {
    const sealed = Secret.parse(await read(name)).encrypted[id];
    if (sealed === undefined) throw wrongKey();
    return unseal(sealed, key, name);
  };
  return {
    master: await secret('m.cross_signing.master'),
    selfSigning: await secret('m.cross_signing.self_signing'),
    userSigning: await secret('m.cross_signing.user_signing'),
  };
}

/** Base58 in groups of four ("Recovery key"). */
function decodeKey(text: string): Buffer {
  let value = 0n;
  for (const sign of text.replaceAll(/\s/g, '')) value = value * 58n + BigInt(ALPHABET.indexOf(sign));
  const hex = value.toString(16);
  const bytes = Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex');
  const parity = bytes.reduce((sum, byte) => sum ^ byte, 0);
  const isWhole =
    bytes.length === PREFIX.length + KEY_BYTES + 1 && PREFIX.every((byte, at) => bytes[at] === byte);
  if (!isWhole || parity !== 0) throw wrongKey();
  return bytes.subarray(PREFIX.length, -1);
}

/** "m.secret_storage.v1.aes-hmac-sha2". */
function unseal({ iv, ciphertext, mac }: z.infer<typeof Sealed>, key: Buffer, name: string): string {
  const keys = Buffer.from(hkdfSync('sha256', key, Buffer.alloc(KEY_BYTES), name, 2 * KEY_BYTES));
  const sealed = Buffer.from(ciphertext, 'base64');
  const expected = createHmac('sha256', keys.subarray(KEY_BYTES)).update(sealed).digest();
  const given = Buffer.from(mac, 'base64');
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) throw wrongKey();
  const cipher = createDecipheriv('aes-256-ctr', keys.subarray(0, KEY_BYTES), Buffer.from(iv, 'base64'));
  return Buffer.concat([cipher.update(sealed), cipher.final()]).toString('utf8');
}

function wrongKey(): ConfigError {
  return new ConfigError(
    'bad_config',
    'MATRIX_RECOVERY_KEY is not the recovery key of the Matrix account: copy it again.',
  );
}
