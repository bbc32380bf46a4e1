/**
 * What a push service is sent: a body that only the browser can read (RFC 8291 over RFC 8188), and a token that says who
 * sends it (RFC 8292). Our own lines over `node:crypto`: `web-push` 3.6 sends its own requests, past the guard of addresses,
 * and depends on five packages; `@pushforge/builder` 2.0 writes the coding of the draft before RFC 8291, `aesgcm`.
 */
import {
  createCipheriv,
  createECDH,
  createPrivateKey,
  type ECDH,
  ECDH as Curve,
  generateKeyPairSync,
  hkdfSync,
  randomBytes,
  sign,
} from 'node:crypto';
import { GatewayError } from '../../protocol/errors.ts';
import type { PushKeys } from '../../protocol/operator/push.ts';

const CURVE = 'prime256v1';
const POINT_BYTES = 65;
const AUTH_BYTES = 16;
const SALT_BYTES = 16;
const RECORD_BYTES = 4_096;
/** Every text is filled up to this, so that its length says nothing; it must fit into one record. */
const FILLED_BYTES = 1_024;
/** Push services accept tokens for at most a day. */
const TOKEN_SECONDS = 12 * 60 * 60;

/** The key of the gateway, as a JSON Web Key with its private part. */
export interface PushKey {
  kty: 'EC';
  crv: 'P-256';
  x: string;
  y: string;
  d: string;
}

/** A new key, as text. */
export function newPushKey(): string {
  return JSON.stringify(
    generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' }),
  );
}

/** The public part in the form that browsers and push services read: base64url, uncompressed. */
export function publicPart({ x, y }: PushKey): string {
  const bytes = [Buffer.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')];
  return Buffer.concat(bytes).toString('base64url');
}

/** The keys of a browser as bytes. Throws `GatewayError` `bad_subscription` unless they are a point of the curve and 16 bytes. */
export function readKeys({ p256dh, auth }: PushKeys): { point: Buffer; secret: Buffer } {
  const [point, secret] = [Buffer.from(p256dh, 'base64url'), Buffer.from(auth, 'base64url')];
  if (point.length !== POINT_BYTES || secret.length !== AUTH_BYTES) throw badKeys();
  try {
    Curve.convertKey(point, CURVE);
  } catch (error) {
    throw badKeys(error);
  }
  return { point, secret };
}

function badKeys(cause?: unknown): GatewayError {
  return new GatewayError('bad_subscription', 'The keys of the subscription are not those of a browser.', {
    cause,
  });
}

/**
 * A text as the body of a push, with content coding `aes128gcm`. `sender` and `salt` are new for each body; tests take
 * those of RFC 8291, appendix A. Throws `bad_subscription`, and `RangeError` for a text of more than 1,023 bytes.
 */
export function encryptPush(
  text: string,
  keys: PushKeys,
  { sender = newSender(), salt = randomBytes(SALT_BYTES), filled = FILLED_BYTES } = {},
): Buffer {
  const { point, secret } = readKeys(keys);
  const plain = Buffer.from(text);
  if (plain.length >= filled) throw new RangeError(`A push holds at most ${filled - 1} bytes.`);
  const own = sender.getPublicKey();
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), point, own]);
  const material = Buffer.from(hkdfSync('sha256', sender.computeSecret(point), secret, info, 32));
  const derive = (label: string, bytes: number): Buffer =>
    Buffer.from(hkdfSync('sha256', material, salt, `Content-Encoding: ${label}\0`, bytes));
  const cipher = createCipheriv('aes-128-gcm', derive('aes128gcm', 16), derive('nonce', 12));
  // 2 ends the text of the last record; zeros fill it up.
  const padding = Buffer.concat([Buffer.of(2), Buffer.alloc(filled - plain.length - 1)]);
  const sealed = [cipher.update(plain), cipher.update(padding), cipher.final(), cipher.getAuthTag()];
  const record = Buffer.alloc(4);
  record.writeUInt32BE(RECORD_BYTES);
  return Buffer.concat([salt, record, Buffer.of(own.length), own, ...sealed]);
}

function newSender(): ECDH {
  const sender = createECDH(CURVE);
  sender.generateKeys();
  return sender;
}

/** The header `authorization` for a push service; `contact` is who answers for the sender. */
export function vapidHeader(
  key: PushKey,
  { origin, contact, now }: { origin: string; contact: string | undefined; now: number },
): string {
  const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
  const expiry = Math.floor(now / 1_000) + TOKEN_SECONDS;
  const claims = { aud: origin, exp: expiry, ...(contact !== undefined && { sub: contact }) };
  const unsigned = `${encode({ typ: 'JWT', alg: 'ES256' })}.${encode(claims)}`;
  const privateKey = createPrivateKey({ format: 'jwk', key: { ...key } });
  const signature = sign('sha256', Buffer.from(unsigned), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  return `vapid t=${unsigned}.${signature.toString('base64url')}, k=${publicPart(key)}`;
}
