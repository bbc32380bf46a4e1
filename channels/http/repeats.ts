/**
 * Completions without a session under their `Idempotency-Key`: a repeated request gets the same answer, from memory. They
 * store nothing, so a restart forgets them and a repeat calls the model again; two gateways on one database do not share
 * them.
 */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Caller } from '../../src/protocol/access.ts';
import type { GatewayApi, StatelessRequest } from '../../src/protocol/gateway-api.ts';
import type { InboundMessage } from '../../src/protocol/message.ts';
import type { ChatChunk } from '../../src/protocol/agent/provider.ts';
import type { Receipt } from '../../src/protocol/receive.ts';
import { newId } from '../../src/lib/ids.ts';
import { TtlCache } from '../../src/lib/ttl-cache.ts';
import { otherRequest } from './errors.ts';

/** Completions kept at once, their characters together, and the time they are kept; past a bound the oldest is forgotten. */
export const MAX_KEPT = 1_000;
export const MAX_KEPT_CHARS = 16 * 1024 * 1024;
export const KEPT_MS = 10 * 60_000;

interface Kept {
  id: string;
  /** A repeat finds it. */
  findable: boolean;
  /** Of the request: another one under the same key is an error. */
  digest: string;
  keptUntil: number;
  chunks: ChatChunk[];
  chars: number;
  state: 'running' | 'done' | { error: unknown };
  readers: number;
  abort: AbortController;
  /** Resolves at the next chunk or the end. */
  changed: PromiseWithResolvers<void>;
}

export class KeptCompletions {
  readonly #complete: GatewayApi['complete'];
  readonly #monotonicNow: () => number;
  /** Oldest first. */
  readonly #kept = new Map<string, Kept>();
  #chars = 0;

  constructor(complete: GatewayApi['complete'], monotonicNow: () => number = () => performance.now()) {
    this.#complete = complete;
    this.#monotonicNow = monotonicNow;
  }

  get size(): number {
    return this.#kept.size;
  }

  /**
   * The completion: without a key, of its own call; with one, of the first request that used it, from the beginning. A
   * call that fails, or that no one reads before its end, is not kept. Throws `HttpError` 422 when the key was used with
   * another request; the chunks throw what the call throws.
   */
  complete(
    caller: Caller,
    key: string | undefined,
    request: StatelessRequest,
    signal: AbortSignal,
  ): { id: string; chunks: AsyncIterable<ChatChunk> } {
    if (key === undefined) return { id: newId(), chunks: this.#complete(caller, request, signal) };
    this.#expire();
    const name = hash([caller.tokenId, key]);
    // Whether it is read whole or as it grows, it is the same request.
    const { whole: _, ...content } = request;
    const digest = hash(content);
    const existing = this.#kept.get(name);
    if (existing !== undefined && existing.digest !== digest) throw otherRequest();
    const completion = existing ?? this.#start(name, digest, caller, request);
    return { id: completion.id, chunks: this.#read(name, completion, signal) };
  }

  #start(name: string, digest: string, caller: Caller, request: StatelessRequest): Kept {
    const completion: Kept = {
      id: newId(),
      findable: true,
      digest,
      keptUntil: this.#monotonicNow() + KEPT_MS,
      chunks: [],
      chars: 0,
      state: 'running',
      readers: 0,
      abort: new AbortController(),
      changed: Promise.withResolvers(),
    };
    this.#kept.set(name, completion);
    this.#dropBeyondBounds();
    this.#collect(completion, this.#complete(caller, request, completion.abort.signal)).then(
      () => this.#settle(completion, 'done'),
      (error: unknown) => {
        // After its last chunk, an answer is whole, whatever follows.
        if (completion.state === 'done') return;
        this.#forgetCompletion(name, completion);
        this.#settle(completion, { error });
      },
    );
    return completion;
  }

  async #collect(completion: Kept, chunks: AsyncIterable<ChatChunk>): Promise<void> {
    for await (const chunk of chunks) {
      const chars = 'delta' in chunk ? chunk.delta.length : 0;
      completion.chunks.push(chunk);
      completion.chars += chars;
      if (completion.findable) this.#chars += chars;
      // Before its readers see the last chunk: a client leaves as soon as it has the whole answer.
      if (chunk.type === 'done') completion.state = 'done';
      this.#wake(completion);
    }
  }

  #settle(completion: Kept, state: Kept['state']): void {
    completion.state = state;
    this.#wake(completion);
    this.#dropBeyondBounds();
  }

  #wake(completion: Kept): void {
    completion.changed.resolve();
    completion.changed = Promise.withResolvers();
  }

  async *#read(name: string, completion: Kept, signal: AbortSignal): AsyncIterable<ChatChunk> {
    completion.readers += 1;
    const disconnect = Promise.withResolvers<never>();
    // Only `race` below waits for it.
    disconnect.promise.catch(() => undefined);
    const leave = (): void => disconnect.reject(signal.reason);
    signal.addEventListener('abort', leave, { once: true });
    try {
      for (let next = 0; ; next += 1) {
        while (next === completion.chunks.length && completion.state === 'running') {
          signal.throwIfAborted();
          await Promise.race([completion.changed.promise, disconnect.promise]);
        }
        const chunk = completion.chunks[next];
        if (chunk !== undefined) yield chunk;
        else if (typeof completion.state === 'object') throw completion.state.error;
        else return;
      }
    } finally {
      signal.removeEventListener('abort', leave);
      completion.readers -= 1;
      if (completion.readers === 0 && completion.state === 'running') {
        this.#forgetCompletion(name, completion);
        completion.abort.abort();
      }
    }
  }

  #expire(): void {
    const now = this.#monotonicNow();
    for (const [name, completion] of this.#kept) {
      if (completion.keptUntil > now) return;
      this.#forgetCompletion(name, completion);
    }
  }

  #dropBeyondBounds(): void {
    for (const [name, completion] of this.#kept) {
      if (this.#kept.size <= MAX_KEPT && this.#chars <= MAX_KEPT_CHARS) return;
      this.#forgetCompletion(name, completion);
    }
  }

  /** Its readers continue; a repeat calls the model again. */
  #forgetCompletion(name: string, completion: Kept): void {
    if (this.#kept.get(name) !== completion) return;
    this.#kept.delete(name);
    completion.findable = false;
    this.#chars -= completion.chars;
  }
}

function hash(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64');
}

/** Longest time between a message and its repeat: the clients' own limit for an answer is 10 minutes. */
export const MAX_RETRY_AGE_MS = 15 * 60_000;

/** Turns remembered as answered; past it the oldest is forgotten. */
const MAX_ANSWERED = 10_000;

/** The turns whose answer was written to a client in full: a later request with the same text is a new message. */
export class AnsweredTurns {
  readonly #turns = new TtlCache<true>(MAX_RETRY_AGE_MS, MAX_ANSWERED, () => performance.now());

  add(turnId: string): void {
    this.#turns.set(turnId, true);
  }

  has(turnId: string): boolean {
    return this.#turns.get(turnId) === true;
  }
}

/** The turn of a resent request: of the newest message, if its text is the same and its answer unread. Throws `StoreError`. */
export async function turnOfRetry(
  incoming: IncomingMessage,
  caller: Caller,
  message: InboundMessage,
  gateway: GatewayApi,
  answeredTurns: AnsweredTurns,
): Promise<Receipt | undefined> {
  // With an Idempotency-Key the store itself recognises the message.
  if (!isRetry(incoming) || incoming.headers['idempotency-key'] !== undefined) return undefined;
  const newest = await gateway.newestOwnMessage(caller, `http:${message.chatId}`);
  if (newest === undefined || newest.content !== message.content) return undefined;
  const { turnId, seq, sentAt } = newest;
  if (message.timestamp - sentAt > MAX_RETRY_AGE_MS || answeredTurns.has(turnId)) return undefined;
  return { kind: 'duplicate', turnId, seq };
}

function isRetry({ headers }: IncomingMessage): boolean {
  return /^[1-9]\d{0,2}$/.test(String(headers['x-stainless-retry-count'] ?? ''));
}
