/** Signatures of webhooks: HMAC-SHA256 over the bytes of the body, compared in constant time. */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { HookReceipt, HookRequest } from '../../protocol/operator/webhooks.ts';
import type { Hook } from './settings.ts';

/** How far the sender's clock may be from this one: an intercepted request cannot be replayed later. */
export const MAX_AGE_MS = 5 * 60_000;
/** Most signatures compared per header. */
const MAX_SIGNATURES = 8;

/** A signed request: `digest` identifies it, no matter how often it arrives. */
export type Verified = { digest: string } | Extract<HookReceipt, { kind: 'unsigned' }>;

/** Checks the signature of a request; `now` is epoch milliseconds. Never throws. */
export function verifySignature(
  { kind, secret, timestampHeader }: Pick<Hook, 'kind' | 'secret' | 'timestampHeader'>,
  { headers, body }: HookRequest,
  now: number,
): Verified {
  const read = (name: string): string | undefined => {
    const value = headers[name.toLowerCase()];
    return typeof value === 'string' && value !== '' ? value.trim() : undefined;
  };
  const signed = FORMS[kind](read, timestampHeader);
  if (signed === undefined) return { kind: 'unsigned', why: 'missing' };
  const { prefix, signatures, at } = signed;
  const expected = createHmac('sha256', secret).update(prefix).update(body).digest();
  const right = signatures.slice(0, MAX_SIGNATURES).find((signature) => isSame(expected, signature));
  if (right === undefined) return { kind: 'unsigned', why: 'wrong' };
  if (at !== undefined && !(Math.abs(now - at * 1_000) <= MAX_AGE_MS))
    return { kind: 'unsigned', why: 'stale' };
  return { digest: createHash('sha256').update(expected).digest('hex') };
}

interface Signed {
  /** What was signed before the body. */
  prefix: string;
  /** In hexadecimal digits. */
  signatures: string[];
  /** Seconds since 1970, if the sender includes it. */
  at?: number;
}

type Form = (read: (name: string) => string | undefined, timestampHeader?: string) => Signed | undefined;

const FORMS: Record<Hook['kind'], Form> = {
  signed: (read) => timed(read('x-parley-signature')),
  // "Verifying webhook signatures" of Stripe: `t=1700000000,v1=…`, the signed text is `<t>.<body>`.
  stripe: (read) => timed(read('stripe-signature')),
  // "Validating webhook deliveries" of GitHub: `sha256=…` over the body alone.
  github(read) {
    const [, digits] = /^sha256=([0-9a-f]{64})$/i.exec(read('x-hub-signature-256') ?? '') ?? [];
    return digits === undefined ? undefined : { prefix: '', signatures: [digits] };
  },
  // "HMAC signature" of Grafana's webhook notifier: digits alone, over `<time>:<body>` if it sends its time.
  grafana(read, timestampHeader) {
    const signature = read('x-grafana-alerting-signature');
    if (signature === undefined) return undefined;
    if (timestampHeader === undefined) return { prefix: '', signatures: [signature] };
    const time = read(timestampHeader);
    return time === undefined
      ? undefined
      : { prefix: `${time}:`, signatures: [signature], at: secondsOf(time) };
  },
};

function timed(header: string | undefined): Signed | undefined {
  const parts = (header ?? '').split(',').map((part) => part.trim().split('=', 2));
  const time = parts.find(([name]) => name === 't')?.[1];
  const signatures = parts.flatMap(([name, value]) => (name === 'v1' && value !== undefined ? [value] : []));
  return time === undefined || signatures.length === 0
    ? undefined
    : { prefix: `${time}.`, signatures, at: secondsOf(time) };
}

/** NaN, which is never recent, for anything but whole seconds. */
function secondsOf(text: string): number {
  return /^\d{1,12}$/.test(text) ? Number(text) : Number.NaN;
}

function isSame(expected: Buffer, hexadecimal: string): boolean {
  return /^[0-9a-f]{64}$/i.test(hexadecimal) && timingSafeEqual(expected, Buffer.from(hexadecimal, 'hex'));
}
