/** Vectors of texts from any model server: a few texts per request, so that no answer is large. */
import { ProviderError } from '../protocol/errors.ts';
import type { Embeddings, LLMProvider } from '../protocol/agent/provider.ts';
import type { AcquireSlot } from './concurrency-limit.ts';
import type { CallRules, Connections } from './http/connections.ts';
import { toProviderError, type Where } from './errors.ts';
import { readWhole } from './answers/read-answer.ts';

/** Texts of one request to a server. */
const EMBED_BATCH = 32;

/** What a kind of server provides for its vectors. */
export interface EmbedServer<Place extends Where> {
  at: Place;
  acquire: AcquireSlot;
  connections: Connections;
  rules(where: Place, signal: AbortSignal): CallRules;
  path: string;
  /** What every request contains besides the model, the texts and the dimensions. */
  body: object;
  /** Reads an answer's JSON. */
  read: (answer: unknown) => Embeddings;
}

/** Makes `embed` of a provider. */
export function createEmbed<Place extends Where>(server: EmbedServer<Place>): LLMProvider['embed'] {
  const { at, acquire, connections, path, read } = server;
  return async ({ model, input, dimensions, userId = '' }, signal) => {
    const where = { ...at, model };
    const fields = { ...server.body, model, ...(dimensions !== undefined && { dimensions }) };
    const embedBatch = async (texts: readonly string[]): Promise<Embeddings> => {
      const release = await acquire({ userId }, signal);
      try {
        const request = { method: 'POST', path, body: { ...fields, input: texts } } as const;
        const answer = await connections.send(request, server.rules(where, signal));
        const embeddings = read(JSON.parse(await readWhole(answer)));
        if (embeddings.vectors.length === texts.length) return embeddings;
        const counts = `${embeddings.vectors.length} vectors for ${texts.length} texts`;
        throw new ProviderError('bad_response', `The model server gave ${counts}.`);
      } catch (error) {
        throw toProviderError(where, error);
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
