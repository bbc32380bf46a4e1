/**
 * How the fake Bot API posts updates: one at a time per chat, again after any answer but 2xx, with what `getWebhookInfo`
 * reports.
 */
import { once } from 'node:events';
import { type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { badRequest, type Params, textOf } from './refusal.ts';
import type { FakeUpdate, UpdateQueue } from './updates.ts';

/** The server waits at least a second; a test has less time. */
const AGAIN_MS = 50;

export class FakeWebhook {
  /** The gateway, by its local address, behind a proxy that forwards what docs/service/nginx.conf specifies. */
  gateway: (() => string) | undefined;
  /** The address must be HTTPS, as on Telegram's own server. */
  mustBeSecure = false;
  secret = '';
  /** Posts that were answered with 2xx, by the id of their update. */
  readonly taken: number[] = [];
  #lastError: { date: number; message: string } | undefined;
  readonly #queue: UpdateQueue;
  readonly #busy = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(queue: UpdateQueue) {
    this.#queue = queue;
    queue.onUpdate = () => this.#post();
  }

  set(params: Params): true {
    const url = textOf(params['url']);
    const secret = textOf(params['secret_token']);
    if (url === '') return this.remove(params);
    if (!URL.canParse(url)) throw badRequest('bad webhook: invalid webhook URL specified');
    const { protocol, port } = new URL(url);
    if (this.mustBeSecure && protocol !== 'https:')
      throw badRequest('bad webhook: An HTTPS URL must be provided for webhook');
    if (this.mustBeSecure && !['', '443', '80', '88', '8443'].includes(port))
      throw badRequest('bad webhook: Webhook can be set up only on ports 80, 88, 443 or 8443');
    if (secret.length > 256 || !/^[\w-]*$/.test(secret))
      throw badRequest('secret token contains unallowed characters');
    if (params['drop_pending_updates'] === true) this.#queue.dropAll();
    this.#queue.allow(params['allowed_updates']);
    this.#queue.evict();
    this.#queue.webhook = url;
    this.secret = secret;
    this.#lastError = undefined;
    this.#post();
    return true;
  }

  remove(params: Params): true {
    if (params['drop_pending_updates'] === true) this.#queue.dropAll();
    this.#queue.webhook = '';
    return true;
  }

  info(): Params {
    return {
      url: this.#queue.webhook,
      has_custom_certificate: false,
      pending_update_count: this.#queue.unconfirmed,
      ...(this.#queue.webhook !== '' && { max_connections: 40 }),
      ...(this.#lastError && {
        last_error_date: this.#lastError.date,
        last_error_message: this.#lastError.message,
      }),
    };
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#queue.webhook = '';
  }

  /** Posts what may be posted now. */
  #post(): void {
    if (this.#queue.webhook === '') return;
    for (const update of this.#queue.pending()) {
      const chat = chatOf(update);
      if (this.#busy.has(chat)) continue;
      this.#busy.add(chat);
      void this.#deliver(update).then((taken) => {
        this.#busy.delete(chat);
        if (taken) {
          this.#queue.take(update.update_id);
          this.#post();
        } else {
          clearTimeout(this.#timer);
          this.#timer = setTimeout(() => this.#post(), AGAIN_MS);
        }
      });
    }
  }

  async #deliver(update: FakeUpdate): Promise<boolean> {
    const there = new URL(this.#queue.webhook);
    const to = this.gateway === undefined ? there : new URL(there.pathname, this.gateway());
    const headers = {
      'content-type': 'application/json',
      host: there.host,
      'x-forwarded-for': '149.154.167.220',
      ...(this.secret !== '' && { 'x-telegram-bot-api-secret-token': this.secret }),
    };
    try {
      const { status, reason, said } = await post(to, headers, JSON.stringify(update));
      if (status >= 200 && status < 300 && !said.includes('"method"')) {
        this.taken.push(update.update_id);
        return true;
      }
      this.#fail(`Wrong response from the webhook: ${status} ${reason}`);
    } catch {
      this.#fail('Connection refused');
    }
    return false;
  }

  #fail(message: string): void {
    this.#lastError = { date: Math.floor(Date.now() / 1_000), message };
  }
}

/** A POST with a custom Host. Rejects with the connection's error. */
async function post(
  to: URL,
  headers: OutgoingHttpHeaders,
  body: string,
): Promise<{ status: number; reason: string; said: string }> {
  const call = request(to, { method: 'POST', headers, agent: false });
  call.end(body);
  const [response]: IncomingMessage[] = await once(call, 'response');
  if (response === undefined) throw new Error('no response');
  const { statusCode: status = 0, statusMessage: reason = '' } = response;
  return { status, reason, said: await text(response) };
}

/** Updates of one chat are posted one after the other (tdlib/telegram-bot-api, WebhookActor). */
function chatOf(update: FakeUpdate): string {
  return /"chat":\{"id":(-?\d+)/.exec(JSON.stringify(update))?.[1] ?? String(update.update_id);
}
