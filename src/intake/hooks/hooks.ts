/**
 * Webhooks that call the gateway: a signed request becomes one message to the agent, or one notice, no matter how often
 * it arrives.
 */
import type { HookApi, HookReceipt } from '../../protocol/operator/webhooks.ts';
import type { CreatorAccess } from '../../protocol/access.ts';
import type { Log } from '../../protocol/log.ts';
import { type Address, parseAddress } from '../../protocol/message.ts';
import type { SendSystemMessage } from '../../protocol/receive.ts';
import type { EventBus } from '../../protocol/bus.ts';
import type { PostStore } from '../../protocol/delivery.ts';
import type { Ledger } from '../../protocol/store/ledger.ts';
import { clipMiddle, oneLine } from '../../lib/text.ts';
import type { Hook } from './settings.ts';
import { verifySignature } from './signatures.ts';

/** Longest text, in UTF-16 units. */
export const MAX_HOOK_TEXT = 8_000;

/** Room for the marker in place of the missing middle. */
const MARK_CHARS = 100;

/** Longest value of one field, in UTF-16 units. */
const MAX_FIELD = 2_000;

/** Most levels of a path. */
const MAX_LEVELS = 10;

export interface HookDeps {
  hooks: () => ReadonlyMap<string, Hook>;
  sendSystemMessage: SendSystemMessage;
  creatorAccess: Pick<CreatorAccess, 'placeOf'>;
  ledger: Pick<Ledger, 'sessionOf' | 'enqueue'>;
  posts: Pick<PostStore, 'notice'>;
  events: Pick<EventBus, 'emit'>;
  log: Log;
  /** Epoch milliseconds. */
  epochNow: () => number;
}

/** Makes the API. Its errors are `StoreError`s. */
export function createHooks(deps: HookDeps): HookApi {
  return {
    async accept(name, request) {
      const hook = deps.hooks().get(name);
      if (hook === undefined) return { kind: 'unsigned', why: 'missing' };
      const verified = verifySignature(hook, request, deps.epochNow());
      if ('kind' in verified) {
        deps.log.warn({ hook: name, why: verified.why }, 'hook_refused');
        return verified;
      }
      const payload = payloadOf(request.body);
      if (payload === undefined) return { kind: 'invalid' };
      const receipt = await runHook(
        deps,
        { name, hook, id: `hook:${name}:${verified.digest}` },
        payload.value,
      );
      deps.log.info({ hook: name, outcome: receipt.kind }, 'hook_called');
      return receipt;
    },
  };
}

function payloadOf(body: Uint8Array): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(new TextDecoder('utf8', { fatal: true }).decode(body)) };
  } catch {
    // The sender gets the error that the body is not JSON.
    return undefined;
  }
}

async function runHook(
  deps: HookDeps,
  { name, hook, id }: { name: string; hook: Hook; id: string },
  payload: unknown,
): Promise<HookReceipt> {
  const { address, task } = hook;
  const text = hookText(hook.text, payload);
  if (task === undefined) return await tell(deps, { address, id, text });
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
async function tell(
  { ledger, posts, events }: HookDeps,
  { address, id, text }: { address: Address; id: string; text: string },
): Promise<HookReceipt> {
  const place = parseAddress(address);
  if (place.channel !== 'http') {
    await ledger.enqueue(address, { ref: id, message: { ...place, content: text, media: [], buttons: [] } });
    return { kind: 'accepted', turnId: null };
  }
  const left = await posts.notice({ ref: id, address, content: text });
  if (left.kind === 'known') return { kind: 'duplicate' };
  events.emit(left.session, { type: 'message_sent', seq: left.seq, content: text });
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
