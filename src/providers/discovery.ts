/** What is asked of a model server besides chats: how long it may take, and how long the answer is cached. */
import { ProviderError } from '../contracts/errors.ts';
import type { ModelCapabilities } from '../contracts/provider.ts';

/** How long what a server said of a model is cached (B-26). */
export const DISCOVERY_TTL_MS = 5 * 60_000;
/** How long a server may take to say what it has and what a model can, unless told otherwise. */
export const DISCOVERY_TIMEOUT_MS = 10_000;
/** The window of a model that does not tell its own. */
export const UNKNOWN_WINDOW = 16_384;

export interface Discovery {
  /** What the model can; one question for all who ask meanwhile. Throws `ProviderError`. */
  capabilities: (model: string, signal: AbortSignal) => Promise<ModelCapabilities>;
  /** Makes the next who asks find out anew. */
  forget: (model: string) => void;
}

/** Remembers what `discover` found; a failed discovery is forgotten at once, so only models the server knows are kept. */
export function createDiscovery(
  discover: (model: string) => Promise<ModelCapabilities>,
  now: () => number = () => performance.now(),
): Discovery {
  const discovered = new Map<string, { at: number; found: Promise<ModelCapabilities> }>();
  return {
    async capabilities(model, signal) {
      const known = discovered.get(model);
      if (known !== undefined && now() - known.at < DISCOVERY_TTL_MS)
        return untilAborted(known.found, signal);
      // Not under the caller's signal: everybody who asks meanwhile shares this answer.
      const entry = { at: now(), found: discover(model) };
      discovered.set(model, entry);
      entry.found.catch(() => {
        if (discovered.get(model) === entry) discovered.delete(model);
      });
      return untilAborted(entry.found, signal);
    },
    forget: (model) => void discovered.delete(model),
  };
}

/** Gives what a shared promise gives, but lets go as soon as the signal aborts. */
async function untilAborted<T>(shared: Promise<T>, signal: AbortSignal): Promise<T> {
  const gone = Promise.withResolvers<never>();
  const onAbort = (): void =>
    gone.reject(new ProviderError('aborted', 'The model call was stopped.', { cause: signal.reason }));
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([shared, gone.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
