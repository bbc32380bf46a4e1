/** Plans as channels request them: list, read, change, cancel, run. */
import type { Caller } from '../../contracts/access.ts';
import { GatewayError } from '../../contracts/errors.ts';
import type { PlanApi } from '../../contracts/plans/plan-api.ts';
import { parseAddress } from '../../contracts/message.ts';
import type { Receive } from '../../contracts/receive.ts';
import type { PlanRecord, PlanStore } from '../../contracts/store/plan-store.ts';
import { cancelStored, type ChangePlanDeps, changeSteps } from './change-plan.ts';
import { startPlan, type StartPlanDeps } from './start-plan.ts';
import { textRef } from '../../contracts/texts/say.ts';
import type { Visible } from '../sessions/ownership.ts';

/** Most plans in one list. */
const MAX_LISTED = 100;

export interface PlanApiDeps extends ChangePlanDeps, StartPlanDeps {
  plans: PlanStore;
  ledger: ChangePlanDeps['ledger'] & StartPlanDeps['ledger'];
  receive: Receive;
}

/** Makes the API. `visible` returns a session that the caller may see. */
export function createPlanApi(deps: PlanApiDeps, visible: Visible): PlanApi {
  const read = async (caller: Caller, planId: string): Promise<PlanRecord | undefined> => {
    const record = await deps.plans.plan(planId);
    return record && (await visible(caller, record.session)) && record;
  };
  return {
    read,
    async list(caller, key) {
      return (await visible(caller, key)) && (await deps.plans.plans(key, MAX_LISTED));
    },
    async change(caller, planId, version, edits) {
      return (await read(caller, planId)) && (await changeSteps(deps, planId, () => edits, version));
    },
    async cancel(caller, planId) {
      return (await read(caller, planId)) && (await cancelStored(deps, planId));
    },
    async run(caller, planId, { messageId, language, ...asked }) {
      const record = await read(caller, planId);
      if (record === undefined) return undefined;
      const { session } = record;
      const place = parseAddress(session);
      if (place.channel !== 'http')
        throw new GatewayError('not_an_http_session', textRef('plan.elsewhere', { channel: place.channel }));
      const { content, options } = await startPlan(deps, record, asked);
      const message = {
        ...place,
        id: messageId,
        senderId: `token:${caller.tokenId}`,
        content,
        language,
        media: [],
        timestamp: Date.now(),
        place: 'private' as const,
        mentioned: true,
      };
      return { receipt: await deps.receive(message, { ...options, caller }), session };
    },
  };
}
