/** The update queue of the fake Bot API: offsets confirm, long polls wait, a second poll ends the first. */
import { Refusal, badRequest } from './refusal.ts';

export type FakeUpdate = Record<string, unknown> & { update_id: number };

interface Waiter {
  resolve(updates: FakeUpdate[]): void;
  reject(error: Refusal): void;
  timer: NodeJS.Timeout;
  limit: number;
}

/** What a bot gets that names no kinds, and what it gets only when it names it (Bot API `getUpdates`). */
const DEFAULT_KINDS = [
  'message',
  'edited_message',
  'channel_post',
  'edited_channel_post',
  'callback_query',
  'my_chat_member',
  'stopped_message_generation',
  'business_connection',
  'business_message',
  'edited_business_message',
  'deleted_business_messages',
];
const ON_REQUEST = ['chat_member', 'message_reaction', 'message_reaction_count'];

/** The same offset requested again within this time, with a short timeout, is stretched to it (Client.cpp). */
const REPEAT_STRETCH_MS = 3_000;

/** Everything about `getUpdates`. */
export class UpdateQueue {
  /** Completed and waiting calls so far. */
  polls = 0;
  webhook = '';
  /** Called for each update that is queued. */
  onUpdate: () => void = () => undefined;
  #pending: FakeUpdate[] = [];
  #confirmed: FakeUpdate[] = [];
  #nextId = 700_000_001;
  #waiter: Waiter | undefined;
  #kinds = DEFAULT_KINDS;
  #last = { offset: Number.NaN, at: 0 };

  /** Queues an update unless the bot has excluded its kind; returns its id. */
  add(body: Record<string, unknown>): number {
    const update = { ...body, update_id: this.#nextId };
    this.#nextId += 1;
    const kind = Object.keys(body)[0] ?? '';
    const isKnown = DEFAULT_KINDS.includes(kind) || ON_REQUEST.includes(kind);
    if (this.#kinds.includes(kind) || !isKnown) {
      this.#pending.push(update);
      this.#feed();
      this.onUpdate();
    }
    return update.update_id;
  }

  /** All that the bot has not confirmed, oldest first. */
  pending(): readonly FakeUpdate[] {
    return this.#pending;
  }

  /** A webhook has received the update. */
  take(id: number): void {
    this.#confirmed.push(...this.#pending.filter((update) => update.update_id === id));
    this.#pending = this.#pending.filter((update) => update.update_id !== id);
  }

  dropAll(): void {
    this.#pending = [];
  }

  /** The kinds that the bot requests; undefined leaves them unchanged. */
  allow(kinds: unknown): void {
    if (Array.isArray(kinds)) this.#kinds = kinds.length === 0 ? DEFAULT_KINDS : kinds.map(String);
  }

  /** Updates the bot has not confirmed. */
  get unconfirmed(): number {
    return this.#pending.length;
  }

  /** Long polls held open now. */
  get waiting(): number {
    return this.#waiter ? 1 : 0;
  }

  /** Puts the newest confirmed update back, as if its confirmation had been lost. */
  unconfirm(): void {
    const last = this.#confirmed.pop();
    if (last) this.#pending.unshift(last);
    this.onUpdate();
  }

  /** One `getUpdates` call; `gone` fires when the caller has disconnected. */
  async poll(params: Record<string, unknown>, gone: AbortSignal): Promise<FakeUpdate[]> {
    this.polls += 1;
    if (this.webhook !== '') {
      throw conflict(
        "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
      );
    }
    this.evict();
    const offset = Number(params['offset'] ?? 0);
    if (!Number.isSafeInteger(offset)) throw badRequest('wrong parameter offset in request');
    this.#confirm(offset);
    this.allow(params['allowed_updates']);
    let limit = Math.min(100, Math.max(1, Number(params['limit'] ?? 100)));
    let timeoutMs = Math.min(50, Math.max(0, Number(params['timeout'] ?? 0))) * 1_000;
    const since = performance.now() - this.#last.at;
    const repeated = offset === this.#last.offset;
    if (repeated && timeoutMs < REPEAT_STRETCH_MS && since < REPEAT_STRETCH_MS) timeoutMs = REPEAT_STRETCH_MS;
    if (repeated && since < 500) limit = 1;
    this.#last = { offset, at: performance.now() };
    if (this.#pending.length > 0 || timeoutMs === 0) return this.#pending.slice(0, limit);
    return await this.#wait(limit, timeoutMs, gone);
  }

  /** Ends the waiting poll as another poller's call does. */
  evict(): void {
    this.#release()?.reject(
      conflict('terminated by other getUpdates request; make sure that only one bot instance is running'),
    );
  }

  /** Answers the waiting poll, so that the server can close. */
  end(): void {
    this.#release()?.resolve([]);
  }

  #confirm(offset: number): void {
    const keep =
      offset < 0 ? this.#pending.slice(offset) : this.#pending.filter((u) => u.update_id >= offset);
    const kept = new Set(keep);
    this.#confirmed.push(...this.#pending.filter((update) => !kept.has(update)));
    this.#confirmed.splice(0, this.#confirmed.length - 100);
    this.#pending = keep;
  }

  #wait(limit: number, timeoutMs: number, gone: AbortSignal): Promise<FakeUpdate[]> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#release()?.resolve([]), timeoutMs);
      const waiter: Waiter = { resolve, reject, timer, limit };
      this.#waiter = waiter;
      gone.addEventListener('abort', () => {
        if (this.#waiter === waiter) this.#release()?.resolve([]);
      });
    });
  }

  #feed(): void {
    const waiter = this.#release();
    waiter?.resolve(this.#pending.slice(0, waiter.limit));
  }

  #release(): Waiter | undefined {
    const waiter = this.#waiter;
    clearTimeout(waiter?.timer);
    this.#waiter = undefined;
    return waiter;
  }
}

function conflict(why: string): Refusal {
  return new Refusal(409, `Conflict: ${why}`);
}
