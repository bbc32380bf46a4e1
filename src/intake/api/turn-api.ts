/** Turns for callers of the API: their state, their plans, and what they wait for. */
import { type Caller, hasScope } from '../../protocol/access.ts';
import type { Decider } from '../../protocol/agent/approvals.ts';
import type { ContinuedTurn, GatewayApi, ToolAnswers } from '../../protocol/gateway-api.ts';
import type { MessageBus } from '../../protocol/bus.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { Ledger } from '../../protocol/store/ledger.ts';
import type { SessionKey } from '../../protocol/message.ts';
import { cleanText } from '../../lib/text.ts';
import { estimateTokens } from '../../lib/tokens.ts';
import { MAX_MESSAGE_LENGTH } from '../receive.ts';
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

/**
 * Stores the results and makes the turn due. Throws `StoreError`, and `GatewayError`: `no_tools_pending`,
 * `bad_tool_results` (not exactly the pending calls, or a result that is too long).
 */
export async function answerTools(
  { ledger, bus }: { ledger: Pick<Ledger, 'callerResults'>; bus: Pick<MessageBus, 'sweepSoon'> },
  session: SessionKey,
  { results, options }: ToolAnswers,
): Promise<ContinuedTurn> {
  const read = results.map(({ toolCallId, content }) => {
    const text = cleanText(content);
    if (text.length > MAX_MESSAGE_LENGTH) {
      throw badResults(`a result has more than ${MAX_MESSAGE_LENGTH} characters`);
    }
    return { toolCallId: cleanText(toolCallId), content: text, tokens: estimateTokens(text) };
  });
  const outcome = await ledger.callerResults({ session, results: read, options });
  switch (outcome.kind) {
    case 'continued':
      bus.sweepSoon();
      return outcome;
    case 'mismatch':
      throw badResults(`the session is waiting for exactly these calls: ${outcome.toolCallIds.join(', ')}`);
    case 'not_waiting':
      throw new GatewayError(
        'no_tools_pending',
        'This session is not waiting for results of these tool calls.',
      );
    default:
      return outcome satisfies never;
  }
}

function badResults(why: string): GatewayError {
  return new GatewayError('bad_tool_results', `The tool results were not accepted: ${why}.`);
}
