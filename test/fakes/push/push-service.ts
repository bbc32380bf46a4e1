/**
 * A push service and the browsers behind it, over real sockets. Strict: it answers 400 to what RFC 8030 (TTL, urgency,
 * topic) and RFC 8188 do not allow, 401 to a token that RFC 8292 does not, and reads each body as RFC 8291 says, by Web
 * Crypto: nothing of it is shared with the sender.
 */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

const { subtle } = globalThis.crypto;
const EC = { namedCurve: 'P-256' };
const MAX_BODY = 4_096;
const DAY_SECONDS = 86_400;

/** What a browser read. */
export interface ReceivedPush {
  text: string;
  ttl: number;
  urgency: string | undefined;
  topic: string | undefined;
  contact: unknown;
}

interface BrowserKeys {
  pair: CryptoKeyPair;
  point: Uint8Array<ArrayBuffer>;
  secret: Uint8Array<ArrayBuffer>;
}

/** What its endpoints begin with: those of real services are https. */
export const PUSH_ORIGIN = 'https://push.test';

export interface PushService {
  /** Where it listens. */
  address: string;
  /** A browser subscribes with the gateway's key; its name is its endpoint's path. */
  subscribe(
    name: string,
    publicKey: string,
  ): Promise<{ endpoint: string; keys: { p256dh: string; auth: string } }>;
  /** What a browser has received, in order. */
  received(name: string): ReceivedPush[];
  /** Its subscription ends. */
  unsubscribe(name: string): void;
  /** Answers this status to the next pushes, whatever they are. */
  refuse(status: number, times: number): void;
  /** Everything that was not allowed; empty after a test. */
  readonly faults: string[];
  close(): Promise<void>;
}

/** Opens one on loopback. */
export async function openPushService(now: () => number): Promise<PushService> {
  const browsers = new Map<string, BrowserKeys & { sender: string; pushes: ReceivedPush[] }>();
  const faults: string[] = [];
  const refusals: number[] = [];
  const accept = async (request: IncomingMessage): Promise<number> => {
    const refusal = refusals.shift();
    const body = await buffer(request);
    if (refusal !== undefined) return refusal;
    const browser = browsers.get(request.url?.slice(1) ?? '');
    if (browser === undefined) return 410;
    const problem = headerProblem(request, body.length);
    if (problem !== undefined) return (faults.push(problem), 400);
    const token = await readToken(request.headers.authorization ?? '', browser.sender, now());
    if (typeof token === 'string') return (faults.push(token), 401);
    const { ttl, urgency, topic } = request.headers;
    const text = await decrypt(body, browser);
    browser.pushes.push({
      text,
      ttl: Number(ttl),
      urgency: urgency?.toString(),
      topic: topic?.toString(),
      ...token,
    });
    return 201;
  };
  const server = createServer((request, response) => {
    accept(request).then(
      (status) => response.writeHead(status, { location: '/message/1' }).end(),
      (error: unknown) => {
        faults.push(String(error));
        response.writeHead(400).end();
      },
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    faults,
    async subscribe(name, publicKey) {
      const pair = await subtle.generateKey({ name: 'ECDH', ...EC }, true, ['deriveBits']);
      const point = new Uint8Array(await subtle.exportKey('raw', pair.publicKey));
      const secret = globalThis.crypto.getRandomValues(new Uint8Array(16));
      browsers.set(name, { pair, point, secret, sender: publicKey, pushes: [] });
      return { endpoint: `${PUSH_ORIGIN}/${name}`, keys: { p256dh: toText(point), auth: toText(secret) } };
    },
    received: (name) => browsers.get(name)?.pushes ?? [],
    unsubscribe: (name) => void browsers.delete(name),
    refuse: (status, times) => void refusals.push(...Array<number>(times).fill(status)),
    close: () => new Promise((resolve) => (server.closeAllConnections(), server.close(() => resolve()))),
  };
}

/** RFC 8030, 5.2 to 5.4, and RFC 8291, 4. */
function headerProblem({ method, headers }: IncomingMessage, bytes: number): string | undefined {
  if (method !== 'POST') return `method ${method}`;
  if (!/^\d+$/.test(headers['ttl']?.toString() ?? '')) return 'no TTL';
  if (!/^(?:very-low|low|normal|high)$/.test(headers['urgency']?.toString() ?? 'normal')) return 'urgency';
  if (!/^[\w-]{1,32}$/.test(headers['topic']?.toString() ?? 'none')) return 'topic';
  if (headers['content-encoding'] !== 'aes128gcm') return `coding ${headers['content-encoding']}`;
  return bytes > MAX_BODY ? `${bytes} bytes` : undefined;
}

/** RFC 8292: the claims, or what is wrong with the token. */
async function readToken(
  header: string,
  sender: string,
  now: number,
): Promise<{ contact: unknown } | string> {
  const [, head = '', claims = '', signature = '', key = ''] =
    /^vapid t=([\w-]+)\.([\w-]+)\.([\w-]+), k=([\w-]+)$/.exec(header) ?? [];
  if (key !== sender) return 'another key than the one of the subscription';
  const ecdsa = { name: 'ECDSA', ...EC };
  const publicKey = await subtle.importKey('raw', toBytes(key), ecdsa, false, ['verify']);
  const signed = new TextEncoder().encode(`${head}.${claims}`);
  if (!(await subtle.verify({ name: 'ECDSA', hash: 'SHA-256' }, publicKey, toBytes(signature), signed)))
    return 'signature';
  const { alg } = JSON.parse(Buffer.from(head, 'base64url').toString());
  const { aud, exp, sub } = JSON.parse(Buffer.from(claims, 'base64url').toString());
  if (alg !== 'ES256' || aud !== PUSH_ORIGIN) return `token of ${alg} for ${aud}`;
  const seconds = exp - now / 1_000;
  return seconds > 0 && seconds <= DAY_SECONDS ? { contact: sub } : `expiry in ${seconds} s`;
}

/** RFC 8291, 3.4, of one record (RFC 8188). */
async function decrypt(body: Buffer, { pair, point, secret }: BrowserKeys): Promise<string> {
  const salt = body.subarray(0, 16);
  const sender = body.subarray(21, 21 + body.readUInt8(20));
  const sealed = body.subarray(21 + sender.length);
  if (sealed.length > body.readUInt32BE(16)) throw new Error('more than one record');
  const ecdh = { name: 'ECDH', ...EC };
  const senderKey = await subtle.importKey('raw', new Uint8Array(sender), ecdh, false, []);
  const shared = await subtle.deriveBits({ name: 'ECDH', public: senderKey }, pair.privateKey, 256);
  const material = await hkdf(
    shared,
    secret,
    Buffer.concat([Buffer.from('WebPush: info\0'), point, sender]),
    32,
  );
  const contentKey = await hkdf(material, salt, Buffer.from('Content-Encoding: aes128gcm\0'), 16);
  const iv = await hkdf(material, salt, Buffer.from('Content-Encoding: nonce\0'), 12);
  const key = await subtle.importKey('raw', contentKey, 'AES-GCM', false, ['decrypt']);
  const plain = Buffer.from(await subtle.decrypt({ name: 'AES-GCM', iv }, key, new Uint8Array(sealed)));
  const end = plain.findLastIndex((byte) => byte !== 0);
  if (plain[end] !== 2) throw new Error('the last record has no delimiter');
  return plain.subarray(0, end).toString();
}

async function hkdf(
  material: ArrayBuffer,
  salt: Uint8Array,
  info: Buffer,
  bytes: number,
): Promise<ArrayBuffer> {
  const key = await subtle.importKey('raw', material, 'HKDF', false, ['deriveBits']);
  const options = { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(salt), info: new Uint8Array(info) };
  return await subtle.deriveBits(options, key, bytes * 8);
}

function toText(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url');
}

function toBytes(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(text, 'base64url'));
}
