/** Vectors of texts for callers of the API. */
import type { Caller } from '../../protocol/access.ts';
import type { GatewayApi } from '../../protocol/gateway-api.ts';
import type { Ledger } from '../../protocol/store/ledger.ts';
import type { EmbedRequest, LLMProvider } from '../../protocol/agent/provider.ts';
import { estimateTokens } from '../../lib/tokens.ts';
import type { Models } from './models.ts';

export interface EmbedDeps {
  provider: Pick<LLMProvider, 'embed'>;
  models: Pick<Models, 'resolve' | 'profile' | 'fallback'>;
  ledger: Pick<Ledger, 'noteUsage'>;
}

/** Makes the function; where the server reports no usage, it is estimated. */
export function createEmbed({ provider, models, ledger }: EmbedDeps): GatewayApi['embed'] {
  return async ({ tokenId }: Caller, request: EmbedRequest, signal: AbortSignal) => {
    const userId = `token:${tokenId}`;
    const resolved = await models.resolve(request.model, signal, 'vectors');
    const profile = models.profile(resolved.profileId);
    const model = resolved.model ?? profile.model ?? (await models.fallback(signal));
    const startedAt = performance.now();
    const { vectors, promptTokens: reported } = await provider.embed({ ...request, model, userId }, signal);
    const promptTokens = reported || estimateTokens(request.input.join(''));
    const usage = {
      promptTokens,
      completionTokens: 0,
      modelMs: Math.round(performance.now() - startedAt),
      ...(reported === 0 && { estimated: true as const }),
    };
    await ledger.noteUsage({ purpose: 'stateless', tokenId, userId, ...usage, model });
    return { vectors, promptTokens };
  };
}
