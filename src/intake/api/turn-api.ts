/** Turns for callers of the API: their state, their plans, and what they wait for. */
import { type Caller, hasScope } from '../../contracts/access.ts';
import type { Decider } from '../../contracts/tools/approvals.ts';
import type { GatewayApi } from '../../contracts/gateway-api.ts';
import { answerTools } from './caller-tools.ts';
import { isAdmin, ownerOf, type Visible } from '../sessions/ownership.ts';
import { actOnPlan } from '../plans/plan-control.ts';
import type { GatewayApiDeps } from './deps.ts';

type TurnApi = Pick<
  GatewayApi,
  | 'turn'
  | 'trace'
  | 'plan'
  | 'actOnPlan'
  | 'approvals'
  | 'decide'
  | 'approvalRules'
  | 'removeApprovalRule'
  | 'answerTools'
  | 'newestOwnMessage'
  | 'unfinishedTurns'
>;

/** Makes it. Methods throw only `GatewayError`. */
export function createTurnApi(deps: GatewayApiDeps, visible: Visible): TurnApi {
  return {
    async plan(caller, key) {
      if ((await visible(caller, key)) === undefined) return undefined;
      const [newest, todos] = await Promise.all([deps.plans.latestPlan(key), deps.todos.todos(key)]);
      return { newest, todos };
    },
    approvals: (caller, { limit }) =>
      deps.approvals.pending({ limit, ownerTokenId: isAdmin(caller) ? undefined : caller.tokenId }),
    decide: (caller, approvalId, decision, detail) =>
      deps.approvals.decide(approvalId, decision, deciderOf(caller), detail),
    approvalRules: (caller) => deps.approvals.rules({ ownerTokenId: ownerOf(caller) }),
    removeApprovalRule: (caller, id) => deps.approvals.removeRule(id, { ownerTokenId: ownerOf(caller) }),
    async actOnPlan(caller, planId, action, stepId, say) {
      const record = await deps.plans.plan(planId);
      if (record === undefined || (await visible(caller, record.session)) === undefined) return undefined;
      return await actOnPlan(deps, record, action, { by: deciderOf(caller), stepId, say });
    },
    turn: (turnId) => deps.ledger.turn(turnId),
    async trace(caller, turnId, say) {
      const found = await deps.explainTurn(turnId, isAdmin(caller), say);
      return found && (await visible(caller, found.session)) && found;
    },
    async answerTools(caller, key, answers) {
      return (await visible(caller, key)) && (await answerTools(deps, key, answers));
    },
    newestOwnMessage: (caller, key) => deps.ledger.newestFrom(key, `token:${caller.tokenId}`),
    unfinishedTurns: (turnIds) => deps.ledger.unfinishedTurns(turnIds),
  };
}

/** Who decides about a call or a plan over the API. */
function deciderOf(caller: Caller): Decider {
  const { tokenId, proxyUser, name = 'the HTTP API' } = caller;
  const approves = hasScope(caller, 'approve');
  return { userId: `token:${tokenId}`, name: proxyUser ?? name, owner: isAdmin(caller), tokenId, approves };
}
