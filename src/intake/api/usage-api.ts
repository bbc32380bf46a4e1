/** Usage of model tokens for callers of the API, with its cost where models have prices. */
import type { GatewayApi } from '../../contracts/gateway-api.ts';
import { type Cost, costOfModels } from '../../contracts/operator/prices.ts';
import type { UsageGroupSum } from '../../contracts/model/usage.ts';
import { isAdmin } from '../sessions/ownership.ts';
import type { GatewayApiDeps } from './deps.ts';

/** Makes the report of usage: a caller sees its own, an admin that of all. Throws only `StoreError`. */
export function createUsageApi(deps: Pick<GatewayApiDeps, 'usage' | 'prices'>): GatewayApi['usage'] {
  return async (caller, span, by) => {
    const query = isAdmin(caller) ? span : { ...span, userId: `token:${caller.tokenId}` };
    const prices = deps.prices();
    const priced = Object.keys(prices.models).length > 0;
    const [{ groups, more }, total, models] = await Promise.all([
      deps.usage.groups(query, by),
      deps.usage.sum(query),
      priced ? deps.usage.models(query) : [],
    ]);
    const cost = (of: readonly UsageGroupSum[]): { cost?: Cost } => {
      const sum = costOfModels(prices, of);
      return sum === undefined ? {} : { cost: sum };
    };
    return {
      groups: by === 'model' ? groups.map((group) => ({ ...group, ...cost([group]) })) : groups,
      more,
      total: { ...total, ...cost(models) },
    };
  };
}
