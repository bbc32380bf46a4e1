/** Models for callers of the API: which they may choose, and completions and vectors without a session. */
import type { Caller } from '../../contracts/access.ts';
import type { GatewayApi } from '../../contracts/gateway-api.ts';
import { isAdmin, type Visible } from '../sessions/ownership.ts';
import { checkChoice, type ChoiceDeps, choosable } from '../choice.ts';
import type { GatewayApiDeps } from './deps.ts';

type ModelApi = Pick<
  GatewayApi,
  'resolveModel' | 'models' | 'describeModel' | 'checkOptions' | 'embed' | 'complete'
>;

/** Makes it. Methods throw only `GatewayError`. */
export function createModelApi(deps: GatewayApiDeps, visible: Visible, choice: ChoiceDeps): ModelApi {
  /** Throws `GatewayError` for a model that the caller may not choose, or when its tokens are used up. */
  const checkCall = async (caller: Caller, model: string, signal: AbortSignal): Promise<void> => {
    if (isAdmin(caller)) return;
    await checkChoice(choice, caller, undefined, await deps.models.resolve(model, signal));
    await deps.checkTokenBudget(`token:${caller.tokenId}`);
  };
  return {
    resolveModel: (model, signal) => deps.models.resolve(model, signal),
    async checkOptions(caller, { key, choice: asked, options }, signal) {
      const session = await visible(caller, key);
      await deps.agent.checkOptions({ session, choice: asked, options }, signal);
    },
    async embed(caller, request, signal) {
      await checkCall(caller, request.model, signal);
      return await deps.agent.embed(caller, request, signal);
    },
    models: async (caller, signal) => await choosable(choice, caller, await deps.models.list(signal)),
    async describeModel(caller, model, signal) {
      const asked = await deps.models.resolve(model, signal);
      if (!isAdmin(caller)) await checkChoice(choice, caller, undefined, asked);
      return await deps.agent.describeModel(asked, signal);
    },
    async *complete(caller, request, signal) {
      await checkCall(caller, request.model, signal);
      yield* deps.agent.complete(caller, request, signal);
    },
  };
}
