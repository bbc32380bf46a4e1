/** One post of an outbound webhook: its body, its signature, and the call. */
import { createHmac } from 'node:crypto';
import { GatewayError } from '../../contracts/errors.ts';
import type { WebhookNote, WebhookStore } from '../../contracts/operator/webhooks.ts';
import type { Egress } from '../../contracts/tools/tool.ts';
import type { Webhook } from './settings.ts';

export interface PostNoteDeps {
  store: Pick<WebhookStore, 'turnTexts'>;
  /** The egress policy for the addresses that this webhook may post to. */
  egressOf: (target: Pick<Webhook, 'url' | 'private'>) => Egress;
  /** Epoch milliseconds. */
  epochNow: () => number;
}

/**
 * Posts a note. Throws `GatewayError`: `webhook_refused` for any answer but 2xx, otherwise the errors of the egress.
 */
export async function postNote(
  { store, egressOf, epochNow }: PostNoteDeps,
  webhook: Webhook,
  note: WebhookNote,
  signal: AbortSignal,
): Promise<void> {
  const { at, ...facts } = note;
  const body = { ...facts, at: new Date(at).toISOString(), ...(await textOf(store, webhook, note)) };
  const seconds = Math.floor(epochNow() / 1_000);
  const { status } = await egressOf(webhook)({
    url: webhook.url,
    signal,
    json: body,
    headers: {
      'x-parley-id': note.id,
      'x-parley-event': note.type,
      'x-parley-signature': sign(webhook.secret, seconds, JSON.stringify(body)),
    },
  });
  if (status >= 200 && status < 300) return;
  throw new GatewayError('webhook_refused', `The receiver answered ${status}.`, { retryable: true });
}

/** The form of `signed` webhooks that call the gateway: `t=<seconds>,v1=<HMAC-SHA256 of "<t>.<body>">`. */
export function sign(secret: string, seconds: number, body: string): string {
  return `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`;
}

/** Texts only if the operator wants them. */
async function textOf(
  store: PostNoteDeps['store'],
  { content }: Webhook,
  { type, turnId }: WebhookNote,
): Promise<{ content?: string }> {
  if (!content || turnId === undefined) return {};
  const turn = await store.turnTexts(turnId);
  const text =
    type === 'message_received' ? turn?.question : type === 'turn_ended' ? turn?.answer : undefined;
  return text === undefined ? {} : { content: text };
}
