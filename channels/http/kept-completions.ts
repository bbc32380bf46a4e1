/**
 * Completions without a session under their `Idempotency-Key`: a repeated request gets the same answer, from memory. They
 * store nothing, so a restart forgets them and a repeat calls the model again; two gateways on one database do not share
 * them.
 */
import { createHash } from 'node:crypto';
import type { Caller } from '../../src/protocol/access.ts';
import type { GatewayApi, StatelessRequest } from '../../src/protocol/gateway-api.ts';
import type { ChatChunk } from '../../src/protocol/agent/provider.ts';
import { newId } from '../../src/lib/ids.ts';
import { otherRequest } from './inbound.ts';

/** Completions kept at once, their characters together, and the time they are kept; past a bound the oldest is forgotten. */
export const MAX_KEPT = 1_000;
export const MAX_KEPT_CHARS = 16 * 1024 * 1024;
export const KEPT_MS = 10 * 60_000;

/** A completion: its id, under which each client gets it, and its chunks. */
export interface Completion {
  id: string;
  chunks: AsyncIterable<ChatChunk>;
}

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
  readonly #gateway: Pick<GatewayApi, 'complete'>;
  readonly #monotonicNow: () => number;
  /** Oldest first. */
  readonly #kept = new Map<string, Kept>();
  #chars = 0;

  constructor(gateway: Pick<GatewayApi, 'complete'>, monotonicNow: () => number = () => performance.now()) {
    this.#gateway = gateway;
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
    call: { caller: Caller; key: string | undefined; request: StatelessRequest },
    signal: AbortSignal,
  ): Completion {
    const { caller, key, request } = call;
    if (key === undefined) return { id: newId(), chunks: this.#gateway.complete(caller, request, signal) };
    this.#expire();
    const name = hash([caller.tokenId, key]);
    // Whether it is read whole or as it grows, it is the same request.
    const { whole: _, ...asked } = request;
    const digest = hash(asked);
    const known = this.#kept.get(name);
    if (known !== undefined && known.digest !== digest) throw otherRequest();
    const kept = known ?? this.#start(name, digest, caller, request);
    return { id: kept.id, chunks: this.#read(name, kept, signal) };
  }

  #start(name: string, digest: string, caller: Caller, request: StatelessRequest): Kept {
    const kept: Kept = {
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
    this.#kept.set(name, kept);
    this.#dropBeyondBounds();
    this.#collect(kept, this.#gateway.complete(caller, request, kept.abort.signal)).then(
      () => this.#settle(kept, 'done'),
      (error: unknown) => {
        // After its last chunk, an answer is whole, whatever follows.
        if (kept.state === 'done') return;
        this.#forgetCompletion(name, kept);
        this.#settle(kept, { error });
      },
    );
    return kept;
  }

  async #collect(kept: Kept, chunks: AsyncIterable<ChatChunk>): Promise<void> {
    for await (const chunk of chunks) {
      const chars = 'delta' in chunk ? chunk.delta.length : 0;
      kept.chunks.push(chunk);
      kept.chars += chars;
      if (kept.findable) this.#chars += chars;
      // Before its readers see the last chunk: a client leaves as soon as it has the whole answer.
      if (chunk.type === 'done') kept.state = 'done';
      this.#wake(kept);
    }
  }

  #settle(kept: Kept, state: Kept['state']): void {
    kept.state = state;
    this.#wake(kept);
    this.#dropBeyondBounds();
  }

  #wake(kept: Kept): void {
    kept.changed.resolve();
    kept.changed = Promise.withResolvers();
  }

  async *#read(name: string, kept: Kept, signal: AbortSignal): AsyncIterable<ChatChunk> {
    kept.readers += 1;
    const gone = Promise.withResolvers<never>();
    // Only `race` below waits for it.
    gone.promise.catch(() => undefined);
    const leave = (): void => gone.reject(signal.reason);
    signal.addEventListener('abort', leave, { once: true });
    try {
      for (let next = 0; ; next += 1) {
        while (next === kept.chunks.length && kept.state === 'running') {
          signal.throwIfAborted();
          await Promise.race([kept.changed.promise, gone.promise]);
        }
        const chunk = kept.chunks[next];
        if (chunk !== undefined) yield chunk;
        else if (typeof kept.state === 'object') throw kept.state.error;
        else return;
      }
    } finally {
      signal.removeEventListener('abort', leave);
      kept.readers -= 1;
      if (kept.readers === 0 && kept.state === 'running') {
        this.#forgetCompletion(name, kept);
        kept.abort.abort();
      }
    }
  }

  #expire(): void {
    const now = this.#monotonicNow();
    for (const [name, kept] of this.#kept) {
      if (kept.keptUntil > now) return;
      this.#forgetCompletion(name, kept);
    }
  }

  #dropBeyondBounds(): void {
    for (const [name, kept] of this.#kept) {
      if (this.#kept.size <= MAX_KEPT && this.#chars <= MAX_KEPT_CHARS) return;
      this.#forgetCompletion(name, kept);
    }
  }

  /** Its readers continue; a repeat calls the model again. */
  #forgetCompletion(name: string, kept: Kept): void {
    if (this.#kept.get(name) !== kept) return;
    this.#kept.delete(name);
    kept.findable = false;
    this.#chars -= kept.chars;
  }
}

function hash(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64');
}
