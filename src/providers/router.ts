/** All model servers behind one provider: the name of a model determines which of them is used. */
import { ProviderError } from '../protocol/errors.ts';
import { textRef } from '../protocol/texts/say.ts';
import type { ModelOmissions } from '../protocol/agent/omissions.ts';
import type { ChatChunk, LLMProvider } from '../protocol/agent/provider.ts';
import { BARE_PROVIDER, type ModelNames } from './servers.ts';

/** The beginning of a fence: its language, and a line break or the JSON itself. */
const OPENING = /^```[A-Za-z0-9_-]{0,20}[ \t]{0,20}(?:\r?\n|(?=[{[]))/;

const MAY_OPEN = /^`{1,3}$|^```[A-Za-z0-9_-]{0,20}[ \t]{0,20}\r?$/;

/** Characters at the end of a fenced text that may be the end of the fence. */
const MAX_TAIL = 1_000;

/** Where a text is: before its JSON, in a fence, or in a text that has none. */
class Wrapping {
  #place: 'before' | 'fenced' | 'bare' = 'before';
  #held = '';

  /** What of the text so far is certainly not wrapping, and was not returned before. */
  add(delta: string): string {
    if (this.#place === 'bare') return delta;
    const text = this.#held + delta;
    if (this.#place === 'fenced') return this.#holdTail(text);
    // `trimStart` also removes a byte order mark.
    const start = text.trimStart();
    if (start === '' || MAY_OPEN.test(start)) {
      this.#held = text;
      return '';
    }
    this.#held = '';
    const [opening] = OPENING.exec(start) ?? [];
    this.#place = opening === undefined ? 'bare' : 'fenced';
    return opening === undefined ? start : this.#holdTail(start.slice(opening.length));
  }

  /** The rest: a fence that was never closed has no end to remove. */
  end(): string {
    const rest = this.#held;
    this.#held = '';
    return this.#place === 'fenced' && rest.trim() === '```' ? '' : rest;
  }

  #holdTail(text: string): string {
    const at = Math.max(startOfTail(text), text.length - MAX_TAIL);
    this.#held = text.slice(at);
    return text.slice(0, at);
  }
}

/** How long each of several servers may take to list its models: one that hangs must not delay the others. */
const LIST_WITHIN_MS = 3_000;

/**
 * Makes the router over providers. A server is first contacted when one of its models is used (S-49); one that is
 * missing is an error that says what to set and does not affect the others (S-43).
 */
export function createRouter(
  providers: ReadonlyMap<string, LLMProvider>,
  names: ModelNames,
  listWithinMs = LIST_WITHIN_MS,
): LLMProvider {
  const find = (name: string): { provider: LLMProvider; model: string } => {
    const match = names.find(name);
    if ('problem' in match) throw new ProviderError('unknown_model', match.problem);
    const provider = providers.get(match.provider);
    if (provider !== undefined) return { provider, model: match.model };
    throw new ProviderError('unknown_model', textRef('provider.unconfigured', { provider: match.provider }));
  };
  const modelsOf = async (provider: LLMProvider, signal: AbortSignal): Promise<string[]> =>
    (await provider.models(signal)).map((model) => names.nameOf({ provider: provider.name, model }));
  /** The list spells names like this one: with Ollama's optional prefix, or without another server's prefix. */
  const modelsLike = async (like: string, signal: AbortSignal): Promise<string[]> => {
    const { provider, model } = find(like);
    if (provider.name !== BARE_PROVIDER && model === like) return await provider.models(signal);
    const prefix = `${BARE_PROVIDER}/`;
    if (provider.name !== BARE_PROVIDER || !like.startsWith(prefix)) return await modelsOf(provider, signal);
    return (await provider.models(signal)).map((model) => prefix + model);
  };
  return {
    name: 'router',
    async models(signal, like) {
      if (like !== undefined) return await modelsLike(like, signal);
      const [only, ...others] = providers.values();
      if (only === undefined) return [];
      if (others.length === 0) return await modelsOf(only, signal);
      const limited = AbortSignal.any([signal, AbortSignal.timeout(listWithinMs)]);
      const settled = await Promise.allSettled(
        [only, ...others].map((provider) => modelsOf(provider, limited)),
      );
      const lists = settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
      // An unreachable server must not hide the others; when none answers, the first one's error says why.
      return lists.length === 0 ? await modelsOf(only, signal) : lists.flat();
    },
    capabilities: async (name, signal) => {
      const { provider, model } = find(name);
      return await provider.capabilities(model, signal);
    },
    /** The server's own stream: nothing is done per chunk, unless the answer has to be JSON. */
    streamChat(request, signal) {
      const { provider, model } = find(request.model);
      const chunks = provider.streamChat(model === request.model ? request : { ...request, model }, signal);
      return request.format === undefined ? chunks : unwrapJson(chunks);
    },
    omissions: () => [...providers.values()].flatMap((provider) => omissionsOf(provider, names)),
    async embed(request, signal) {
      const { provider, model } = find(request.model);
      return await provider.embed({ ...request, model }, signal);
    },
    async close() {
      for (const provider of providers.values()) await provider.close();
    },
  };
}

/** What a server refuses, by the public names of its models. */
function omissionsOf(provider: LLMProvider, names: ModelNames): ModelOmissions[] {
  const omissions = provider.omissions?.() ?? [];
  return omissions.map(({ model, omissions }) => ({
    model: names.nameOf({ provider: provider.name, model }),
    omissions,
  }));
}

/** Passes everything on, the text without its wrapping. Throws what `chunks` throws. */
export async function* unwrapJson(chunks: AsyncIterable<ChatChunk>): AsyncGenerator<ChatChunk, void> {
  let wrapping = new Wrapping();
  for await (const chunk of chunks) {
    // The likelihoods of tokens must go with their text.
    if (chunk.type === 'text' && chunk.logprobs === undefined) {
      yield* textOf(wrapping.add(chunk.delta));
      continue;
    }
    if (chunk.type === 'text_was_thinking') wrapping = new Wrapping();
    else if (chunk.type === 'done') yield* textOf(wrapping.end());
    yield chunk;
  }
}

function* textOf(delta: string): Generator<ChatChunk> {
  if (delta !== '') yield { type: 'text', delta };
}

/** Where the white space and the backticks begin that may end a fence. */
function startOfTail(text: string): number {
  const afterTicks = text.trimEnd();
  let at = afterTicks.length;
  while (at > 0 && afterTicks.length - at < 3 && afterTicks[at - 1] === '`') at -= 1;
  return afterTicks.slice(0, at).trimEnd().length;
}
