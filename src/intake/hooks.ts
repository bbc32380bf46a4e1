/** Webhooks that call the gateway: a signed request becomes one message or notice, however often it arrives. */
import type { HookApi, HookCallStore, HookReceipt, HookRequest } from '../protocol/operator/webhooks.ts';
import type { CreatorAccess } from '../protocol/access.ts';
import type { Log } from '../protocol/log.ts';
import { type Address, parseAddress } from '../protocol/message.ts';
import type { SendSystemMessage } from '../protocol/receive.ts';
import type { EventBus } from '../protocol/bus.ts';
import type { PostStore } from '../protocol/delivery.ts';
import type { Ledger } from '../protocol/store/ledger.ts';
import { isTooDeep } from '../lib/json/json.ts';
import { clipMiddle, oneLine } from '../lib/text.ts';
import type { Hook } from './hook-settings.ts';
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** How far the sender's clock may be from this one: an intercepted request cannot be replayed later. */
export const MAX_AGE_MS = 5 * 60_000;

/** Most signatures compared per header. */
const MAX_SIGNATURES = 8;

/** A signed request: `digest` identifies it, no matter how often it arrives; it has an age if a time was signed. */
type Verified = { digest: string; hasAge: boolean } | Extract<HookReceipt, { kind: 'unsigned' }>;

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

/** Longest text, in UTF-16 units. */
export const MAX_HOOK_TEXT = 8_000;

/** Room for the marker in place of the missing middle. */
const MARK_CHARS = 100;

/** Longest value of one field, in UTF-16 units. */
const MAX_FIELD = 2_000;

const MAX_LEVELS = 10;

export interface HookDeps {
  hooks: () => ReadonlyMap<string, Hook>;
  sendSystemMessage: SendSystemMessage;
  creatorAccess: CreatorAccess;
  ledger: Ledger;
  store: { posts: PostStore; hookCalls: HookCallStore };
  events: EventBus;
  log: Log;
  epochNow: () => number;
}

/** Makes the API. Its errors are `StoreError`s. */
export function createHooks(deps: HookDeps): HookApi {
  return {
    has: (name) => deps.hooks().has(name),
    async accept(name, request) {
      const hook = deps.hooks().get(name);
      if (hook === undefined) return { kind: 'unsigned', reason: 'missing' };
      const verified = verifySignature(hook, request, deps.epochNow());
      if ('kind' in verified) {
        deps.log.warn({ hook: name, why: verified.reason }, 'hook_refused');
        return verified;
      }
      const payload = payloadOf(request.body);
      if (payload === undefined) return { kind: 'invalid' };
      const id = `hook:${name}:${verified.digest}`;
      const receipt = verified.hasAge
        ? await runHook(deps, name, hook, id, payload.value)
        : await acceptOnce(deps.store.hookCalls, id, () => runHook(deps, name, hook, id, payload.value));
      if (receipt.kind === 'taken') deps.log.warn({ hook: name, why: 'taken' }, 'hook_refused');
      else deps.log.info({ hook: name, outcome: receipt.kind }, 'hook_called');
      return receipt;
    },
  };
}

/** Accepts a call that nothing but its digest tells from a recorded one. Throws `StoreError`; it may then be repeated. */
async function acceptOnce(
  calls: HookCallStore,
  id: string,
  accept: () => Promise<HookReceipt>,
): Promise<HookReceipt> {
  if (await calls.hasCall(id)) return { kind: 'duplicate' };
  const receipt = await accept();
  if (receipt.kind === 'accepted' || receipt.kind === 'duplicate') await calls.noteCall(id);
  return receipt;
}

function payloadOf(body: Uint8Array): { value: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf8', { fatal: true }).decode(body));
    return isTooDeep(value) ? undefined : { value };
  } catch {
    // The sender gets the error that the body is not JSON.
    return undefined;
  }
}

async function runHook(
  deps: HookDeps,
  name: string,
  hook: Hook,
  id: string,
  payload: unknown,
): Promise<HookReceipt> {
  const { address, task } = hook;
  if (await deps.creatorAccess.isTaken(address)) return { kind: 'taken' };
  const text = hookText(hook.text, payload);
  if (task === undefined) return await postNotice(deps, address, id, text);
  const accepted = await deps.sendSystemMessage({
    id,
    session: await deps.ledger.sessionOf(address),
    address,
    senderId: `hook:${name}`,
    senderName: `Webhook ${name}`,
    content: `[The webhook "${name}" has called. Do this with what it says below, and answer with the result: ${oneLine(task)}]\n${text}`,
    place: await deps.creatorAccess.placeOf(address),
    sources: ['hook'],
    timestamp: deps.epochNow(),
  });
  if (accepted.kind === 'accepted') return { kind: 'accepted', turnId: accepted.turnId };
  return { kind: accepted.kind === 'full' ? 'full' : 'duplicate' };
}

/** Writes the text into the chat, without a turn. Over HTTP the stored message is the delivery, and its event shows it. */
async function postNotice(
  { ledger, store, events }: HookDeps,
  address: Address,
  id: string,
  text: string,
): Promise<HookReceipt> {
  const place = parseAddress(address);
  if (place.channel !== 'http') {
    await ledger.enqueue(address, { ref: id, message: { ...place, content: text, media: [], buttons: [] } });
    return { kind: 'accepted', turnId: null };
  }
  const posted = await store.posts.notice({ ref: id, address, content: text });
  if (posted.kind === 'known') return { kind: 'duplicate' };
  events.emit(posted.session, { type: 'message_sent', seq: posted.seq, content: text });
  return { kind: 'accepted', turnId: null };
}

/** Fills `{{a.b.0.c}}` of the template with the payload's values; a missing field is empty. Never throws. */
export function hookText(template: string | undefined, payload: unknown): string {
  if (template === undefined)
    return clipMiddle(JSON.stringify(payload, undefined, 2) ?? '', MAX_HOOK_TEXT - MARK_CHARS);
  const filled = template.replaceAll(/\{\{\s*([\w.-]{1,200})\s*\}\}/g, (_, path: string) =>
    fieldOf(payload, path),
  );
  return clipMiddle(filled, MAX_HOOK_TEXT - MARK_CHARS);
}

function fieldOf(payload: unknown, path: string): string {
  let value = payload;
  for (const name of path.split('.').slice(0, MAX_LEVELS)) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return '';
    value = Reflect.get(value, name);
  }
  if (value === null || value === undefined) return '';
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return clipMiddle(text, MAX_FIELD);
}

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
  if (signed === undefined) return { kind: 'unsigned', reason: 'missing' };
  const { prefix, signatures, at } = signed;
  const digest = createHmac('sha256', secret).update(prefix).update(body).digest();
  const right = signatures.slice(0, MAX_SIGNATURES).find((signature) => isSame(digest, signature));
  if (right === undefined) return { kind: 'unsigned', reason: 'wrong' };
  if (at !== undefined && !(Math.abs(now - at * 1_000) <= MAX_AGE_MS))
    return { kind: 'unsigned', reason: 'stale' };
  return { digest: createHash('sha256').update(digest).digest('hex'), hasAge: at !== undefined };
}

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

function isSame(digest: Buffer, hexadecimal: string): boolean {
  return /^[0-9a-f]{64}$/i.test(hexadecimal) && timingSafeEqual(digest, Buffer.from(hexadecimal, 'hex'));
}
