/** Takes what Meta posts: only what it has signed, and acknowledged only once the gateway has it. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import * as z from 'zod';
import type {
  PluginChannelHost,
  PluginMessage,
  PluginWebhookAnswer,
  PluginWebhookRequest,
} from '../../src/protocol/plugin.ts';
import { GraphFailure, maskedId, WINDOW_CLOSED, WINDOW_HINT } from './failures.ts';
import type { Graph } from './graph.ts';
import type { Backlog } from './backlog.ts';
import { type Outcome, readPost, reasonOf } from './inbound.ts';
import { type Outcomes, put } from './outcomes.ts';

/** How long the size of a file may take to be told, in milliseconds. */
const SIZE_MS = 5_000;
const Media = z.object({ file_size: z.coerce.number().positive() });
const Body = z.looseObject({ type: z.string() });

interface WebhookParts {
  graph: Graph;
  phoneId: string;
  /** Secret. */
  appSecret: string;
  /** Secret. */
  verifyToken: string;
  readReceipts: boolean;
  host: PluginChannelHost;
  outcomes: Outcomes;
  backlog: Backlog;
  textOf: (id: string) => string | undefined;
  remember: (id: string, text: string) => void;
}

export class Webhook {
  readonly #parts: WebhookParts;
  /** The newest message of each person: what "typing…" refers to. */
  readonly #newest = new Map<string, string>();

  constructor(parts: WebhookParts) {
    this.#parts = parts;
  }

  async answer(request: PluginWebhookRequest): Promise<PluginWebhookAnswer> {
    if (request.method === 'GET') return this.#verify(request.query);
    if (request.method !== 'POST') return { status: 405 };
    if (!this.#isSigned(request)) return { status: 401 };
    return await this.#take(Buffer.from(request.body).toString('utf8'));
  }

  /** Shows "typing…" for 25 seconds, and marks the newest message as read: the API has no other way. */
  async typing(chatId: string): Promise<void> {
    const id = this.#newest.get(chatId);
    if (id !== undefined) await this.#markRead(id, { typing_indicator: { type: 'text' } });
  }

  /** Meta asks once, when the address of the webhook is entered ("Verification requests"). */
  #verify(query: string): PluginWebhookAnswer {
    const fields = new URLSearchParams(query);
    const token = fields.get('hub.verify_token') ?? '';
    const isGenuine = fields.get('hub.mode') === 'subscribe' && isSame(token, this.#parts.verifyToken);
    if (!isGenuine) return { status: 401 };
    const headers = { 'content-type': 'text/plain; charset=utf-8' };
    return { status: 200, headers, body: fields.get('hub.challenge') ?? '' };
  }

  #isSigned({ headers, body }: PluginWebhookRequest): boolean {
    const signature = headers['x-hub-signature-256'];
    if (typeof signature !== 'string') return false;
    const digest = createHmac('sha256', this.#parts.appSecret).update(body).digest('hex');
    return isSame(signature, `sha256=${digest}`);
  }

  /** 503 asks Meta to post the same again, for up to seven days: nothing of it is lost, and repeats are recognized. */
  async #take(body: string): Promise<PluginWebhookAnswer> {
    const { host, phoneId, textOf } = this.#parts;
    let post: ReturnType<typeof readPost>;
    try {
      post = readPost(body, phoneId, textOf);
    } catch (error) {
      // Signed, but of another kind: a repeat would not change it.
      host.log('warn', 'whatsapp_post_unreadable', { reason: error instanceof Error ? error.name : '' });
      return { status: 200 };
    }
    try {
      for (const message of post.messages)
        if ('unread' in message) host.log('info', 'whatsapp_message_left_out', { reason: message.reason });
        else await this.#receive(message);
      for (const outcome of post.outcomes) await this.#note(outcome);
    } catch {
      return { status: 503 };
    }
    return { status: 200 };
  }

  async #receive(message: PluginMessage): Promise<void> {
    const { host, backlog, remember, readReceipts } = this.#parts;
    const receipt = await host.receive(await this.#withSizes(message));
    if (receipt.kind === 'refused') return;
    const { id, chatId, content } = message;
    put(this.#newest, chatId, id);
    if (content !== '') remember(id, content);
    if (receipt.kind === 'duplicate') return;
    await this.#quietly('whatsapp_held_not_sent', backlog.release(chatId));
    if (readReceipts) await this.#quietly('whatsapp_not_marked_read', this.#markRead(id));
  }

  /** Meta posts no sizes; the gateway refuses what is too large before it is loaded. */
  async #withSizes(message: PluginMessage): Promise<PluginMessage> {
    const media = await Promise.all(
      (message.media ?? []).map(async (file) => {
        const path = `${file.url}?phone_number_id=${this.#parts.phoneId}`;
        const signal = AbortSignal.timeout(SIZE_MS);
        const answer = await this.#quietly(
          'whatsapp_size_unknown',
          this.#parts.graph.call({ method: 'GET', path, signal }),
        );
        return { ...file, bytes: Media.safeParse(answer).data?.file_size };
      }),
    );
    return media.length === 0 ? message : { ...message, media };
  }

  async #markRead(id: string, more: object = {}): Promise<void> {
    const body = { messaging_product: 'whatsapp', status: 'read', message_id: id, ...more };
    await this.#parts.graph.call({ method: 'POST', path: `${this.#parts.phoneId}/messages`, body });
  }

  async #note(outcome: Outcome): Promise<void> {
    const { outcomes, host } = this.#parts;
    const { id, state, nonce, chatId } = outcome;
    if (nonce !== undefined && state !== 'failed') await outcomes.note(nonce, id);
    if (nonce !== undefined && (state === 'delivered' || state === 'read')) outcomes.arrived(nonce);
    if (state !== 'failed') return;
    const isClosed = outcome.errors.some(({ code }) => code === WINDOW_CLOSED);
    const isHeld = isClosed && nonce !== undefined && (await this.#hold(chatId, nonce));
    const fields = { chat: maskedId(chatId), reason: reasonOf(outcome) };
    if (isHeld) host.log('info', 'whatsapp_held', fields);
    else host.log('warn', 'whatsapp_not_delivered', isClosed ? { ...fields, remedy: WINDOW_HINT } : fields);
  }

  async #hold(chatId: string, nonce: string): Promise<boolean> {
    const { outcomes, backlog } = this.#parts;
    const { data: body } = Body.safeParse(outcomes.bodyOf(nonce));
    if (body === undefined) return false;
    outcomes.arrived(nonce);
    const template = await this.#quietly('whatsapp_template_failed', backlog.hold(chatId, body));
    return template !== undefined;
  }

  /** For what must not keep a message from being acknowledged. */
  async #quietly<T>(event: string, work: Promise<T>): Promise<T | undefined> {
    try {
      return await work;
    } catch (error) {
      const code = error instanceof GraphFailure ? error.code : 'internal';
      this.#parts.host.log('warn', event, { code, detail: error instanceof Error ? error.message : '' });
      return undefined;
    }
  }
}

/** Compares in a time that tells nothing. */
function isSame(text: string, genuine: string): boolean {
  const [a, b] = [text, genuine].map((one) => createHmac('sha256', 'length').update(one).digest());
  return a !== undefined && b !== undefined && timingSafeEqual(a, b);
}
