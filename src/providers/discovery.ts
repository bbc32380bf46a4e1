/** A cache of what models can do, as reported by their server. */
import { ProviderError } from '../protocol/errors.ts';
import { textRef } from '../protocol/texts/say.ts';
import type { ChatRequest, ModelCapabilities } from '../protocol/agent/provider.ts';
import { Recent } from '../lib/recent.ts';
import { estimateTokens } from '../lib/text.ts';
import { MAX_LEARNED_MODELS } from './learned.ts';

/** How long a window counts that a refusal has shown, in milliseconds: a server may restart with other settings. */
export const LEARNED_WINDOW_MS = 60 * 60_000;
/** How long a capability is cached (B-26), in milliseconds. */
export const DISCOVERY_TTL_MS = 5 * 60_000;
/** How long a server may take to list its models or describe one, in milliseconds. */
export const DISCOVERY_TIMEOUT_MS = 10_000;
/** The context window of a model that does not report its own, in tokens. */
export const UNKNOWN_WINDOW = 16_384;
/** The smallest window that is concluded from a refused prompt, in tokens: a slip of the server must not mute a model. */
export const MIN_LEARNED_WINDOW = 1_024;

export interface Discovery {
  /** What the model can do; concurrent callers share one request. Throws `ProviderError`. */
  capabilities: (model: string, signal: AbortSignal) => Promise<ModelCapabilities>;
  /**
   * The server refused the prompt as too long, and may have named its window: the next call asks the server again, and
   * for an hour the model has at most that window. Where neither the server nor its refusal says how large the window
   * is, it is smaller than the prompt (B-11).
   */
  overflowed: (request: ChatRequest, named: number | undefined) => void;
}

/** A window that a refusal has shown; `guessed` = it only is smaller than the prompt that was refused. */
interface LearnedWindow {
  tokens: number;
  guessed: boolean;
}

/** Caches what `discover` finds; failures are not cached, so only models the server knows are. */
export function createDiscovery(
  discover: (model: string) => Promise<ModelCapabilities>,
  monotonicNow: () => number = () => performance.now(),
): Discovery {
  const discovered = new Map<string, { at: number; found: Promise<ModelCapabilities> }>();
  const learned = new Recent<LearnedWindow>(LEARNED_WINDOW_MS, MAX_LEARNED_MODELS, monotonicNow);
  const find = (model: string): Promise<ModelCapabilities> => {
    const known = discovered.get(model);
    if (known !== undefined && monotonicNow() - known.at < DISCOVERY_TTL_MS) return known.found;
    const entry = { at: monotonicNow(), found: discover(model) };
    discovered.set(model, entry);
    entry.found.catch(() => {
      if (discovered.get(model) === entry) discovered.delete(model);
    });
    return entry.found;
  };
  return {
    async capabilities(model, signal) {
      // Not under the caller's signal: concurrent callers share this answer.
      return within(await untilAborted(find(model), signal), learned.get(model));
    },
    overflowed(request, named) {
      const { model } = request;
      discovered.delete(model);
      // Refused within the window that was asked for: only the count of its tokens was wrong.
      if (named !== undefined && named >= request.contextWindow) return;
      const tokens = named ?? Math.max(MIN_LEARNED_WINDOW, promptTokens(request));
      const known = learned.get(model)?.tokens ?? Infinity;
      learned.set(model, { tokens: named ?? Math.min(tokens, known), guessed: named === undefined });
    },
  };
}

function within(can: ModelCapabilities, learned: LearnedWindow | undefined): ModelCapabilities {
  if (learned === undefined || (learned.guessed && can.windowGuessed !== true)) return can;
  const { windowGuessed: _, ...known } = can;
  return { ...known, contextWindow: Math.min(can.contextWindow, learned.tokens) };
}

/** Estimated tokens of a prompt, without its pictures. */
function promptTokens({ messages, tools = [] }: ChatRequest): number {
  const texts = messages.map((message) => {
    const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : [];
    return message.content + (calls.length === 0 ? '' : JSON.stringify(calls));
  });
  return estimateTokens(texts.join('\n')) + (tools.length === 0 ? 0 : estimateTokens(JSON.stringify(tools)));
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
