/** The calls to one model server, the same for every kind: a slot, a connection, its errors; and its vectors. */
import { ProviderError } from '../protocol/errors.ts';
import type { ChatRequest, Embeddings, LLMProvider } from '../protocol/agent/provider.ts';
import { textRef, type TextRef } from '../protocol/texts/say.ts';
import { createFairQueue } from '../lib/async/fair-queue.ts';
import { parseJson } from '../lib/json/json.ts';
import type { Answer } from './answers/answer.ts';
import { readWhole } from './answers/read-answer.ts';
import { createConnections, type ServerRequest } from './connections.ts';
import { DISCOVERY_TIMEOUT_MS } from './discovery.ts';
import { lostConnection, requestWithin, toProviderError, type Where } from './errors.ts';
import { DEFAULT_CONCURRENCY, type ServerOptions } from './kind.ts';
import type { Refusal } from './refusals.ts';

/** Calls that may wait; one more gets the error that the server is busy. */
export const MAX_WAITING_CALLS = 4_096;
/** Texts of one request for vectors: so that no answer is large. */
const EMBED_BATCH = 32;

/**
 * Waits for a slot and returns its release; users take turns. Throws `aborted`, `unavailable` when too many wait, and
 * what the request's `onPlace` throws.
 */
export type AcquireSlot = (request: Partial<ChatRequest>, signal: AbortSignal) => Promise<() => void>;

export interface ServerCalls {
  readonly at: Where;
  acquire: AcquireSlot;
  /** Sends a request, about a model if given; its answer is still arriving. Throws `ProviderError`. */
  send(request: ServerRequest, signal: AbortSignal, model?: string): Promise<Answer>;
  /**
   * What `read` makes of JSON that is no chat (a list of models, say), within `answerWithinMs` or until `signal`
   * aborts. Throws `ProviderError`.
   */
  ask<T>(
    request: ServerRequest,
    read: (json: unknown) => T,
    options?: { model?: string | undefined; signal?: AbortSignal | undefined },
  ): Promise<T>;
  /** Replaces the secrets of the server in a text: a server may repeat the key it was sent. */
  hide(text: string): string;
  close(): Promise<void>;
}

/** Opens nothing before the first call. `at.host` is the address; `refusedBy` words an answer other than 200. */
export function openServerCalls(
  at: Where,
  {
    name,
    concurrency = DEFAULT_CONCURRENCY,
    loopDelayMs,
    answerWithinMs = DISCOVERY_TIMEOUT_MS,
  }: ServerOptions,
  headers: Readonly<Record<string, string>>,
  secrets: readonly string[],
  refusedBy: (where: Where, refusal: Refusal) => ProviderError,
): ServerCalls {
  const connections = createConnections(at.host, headers, loopDelayMs);
  const hide = (text: string): string =>
    secrets.reduce((rest, secret) => (secret === '' ? rest : rest.replaceAll(secret, '…')), text);
  const send: ServerCalls['send'] = (request, signal, model) => {
    const where = { ...at, model };
    return connections.send(
      request,
      signal,
      (refusal) => refusedBy(where, { ...refusal, text: hide(refusal.text) }),
      (error, hasHead) => lostConnection(where, error, hasHead),
    );
  };
  const queue = typeof at.server === 'string' ? at.server : textRef('provider.the_server');
  return {
    at,
    acquire: createConcurrencyLimit(concurrency, queue, `providers.${name}.concurrency`),
    send,
    async ask(request, read, { model, signal } = {}) {
      return await requestWithin({ ...at, model }, answerWithinMs, signal, async (until) => {
        const json = parseJson(await readWhole(await send(request, until, model)));
        // The text is left out: it may hold a key.
        if (json === undefined) throw new ProviderError('bad_response', textRef('provider.not_json'));
        return read(json);
      });
    },
    hide,
    close: () => connections.close(),
  };
}

/** `setting` is the field of the configuration that sets `limit`. */
function createConcurrencyLimit(limit: number, server: string | TextRef, setting: string): AcquireSlot {
  const slots = createFairQueue(limit, MAX_WAITING_CALLS);
  return async ({ userId = '', onQueued, onPlace }, signal) => {
    let hasWaited = false;
    const acquired = slots.enter(userId, signal, (ahead) => {
      hasWaited = true;
      onQueued?.(ahead);
    });
    const release = await acquired.catch((cause: unknown) => {
      throw new ProviderError('aborted', textRef('provider.stopped_waiting'), { cause });
    });
    if (release === undefined) {
      const message = textRef('provider.queue_full', { most: MAX_WAITING_CALLS, server, setting });
      throw new ProviderError('unavailable', message, { retryable: true });
    }
    try {
      if (hasWaited) await onPlace?.();
      return release;
    } catch (error) {
      release();
      throw error;
    }
  };
}

/** Makes `embed` of a provider. `body` is what every request has besides the model, the texts and the dimensions. */
export function createEmbed(
  calls: ServerCalls,
  path: string,
  body: object,
  read: (answer: unknown) => Embeddings,
): LLMProvider['embed'] {
  return async ({ model, input, dimensions, userId }, signal) => {
    const embedBatch = async (texts: readonly string[]): Promise<Embeddings> => {
      const release = await calls.acquire({ userId }, signal);
      try {
        const request = { ...body, model, dimensions, input: texts };
        const answer = await calls.send({ method: 'POST', path, body: request }, signal, model);
        const embeddings = read(JSON.parse(await readWhole(answer)));
        if (embeddings.vectors.length === texts.length) return embeddings;
        const counts = `${embeddings.vectors.length} vectors for ${texts.length} texts`;
        throw new ProviderError('bad_response', `The model server returned ${counts}.`);
      } catch (error) {
        throw toProviderError({ ...calls.at, model }, error);
      } finally {
        release();
      }
    };
    const all: Embeddings = { vectors: [], promptTokens: 0 };
    for (let first = 0; first < input.length; first += EMBED_BATCH) {
      const { vectors, promptTokens } = await embedBatch(input.slice(first, first + EMBED_BATCH));
      all.vectors.push(...vectors);
      all.promptTokens += promptTokens;
    }
    return all;
  };
}
