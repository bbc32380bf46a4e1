/** A cache of what models can do, as reported by their server. */
import { ProviderError } from '../contracts/errors.ts';
import { textRef } from '../contracts/texts/say.ts';
import type { ModelCapabilities } from '../contracts/model/provider.ts';

/** How long a capability is cached (B-26), in milliseconds. */
export const DISCOVERY_TTL_MS = 5 * 60_000;
/** How long a server may take to list its models or describe one, in milliseconds. */
export const DISCOVERY_TIMEOUT_MS = 10_000;
/** The context window of a model that does not report its own, in tokens. */
export const UNKNOWN_WINDOW = 16_384;

export interface Discovery {
  /** What the model can do; concurrent callers share one request. Throws `ProviderError`. */
  capabilities: (model: string, signal: AbortSignal) => Promise<ModelCapabilities>;
  /** The next call asks the server again. */
  invalidate: (model: string) => void;
}

/** Caches what `discover` finds; failures are not cached, so only models the server knows are. */
export function createDiscovery(
  discover: (model: string) => Promise<ModelCapabilities>,
  monotonicNow: () => number = () => performance.now(),
): Discovery {
  const discovered = new Map<string, { at: number; found: Promise<ModelCapabilities> }>();
  return {
    async capabilities(model, signal) {
      const known = discovered.get(model);
      if (known !== undefined && monotonicNow() - known.at < DISCOVERY_TTL_MS)
        return untilAborted(known.found, signal);
      // Not under the caller's signal: concurrent callers share this answer.
      const entry = { at: monotonicNow(), found: discover(model) };
      discovered.set(model, entry);
      entry.found.catch(() => {
        if (discovered.get(model) === entry) discovered.delete(model);
      });
      return untilAborted(entry.found, signal);
    },
    invalidate: (model) => void discovered.delete(model),
  };
}

/** Resolves like a shared promise, but rejects as soon as the signal aborts. */
async function untilAborted<T>(shared: Promise<T>, signal: AbortSignal): Promise<T> {
  const gone = Promise.withResolvers<never>();
  const onAbort = (): void =>
    gone.reject(new ProviderError('aborted', textRef('provider.stopped'), { cause: signal.reason }));
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([shared, gone.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
