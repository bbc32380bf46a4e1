/** The tools of a completion without a session: the gateway's `pure` ones, which ask no one. */
import type { Caller } from '../../protocol/access.ts';
import { GatewayError, toGatewayError } from '../../protocol/errors.ts';
import type { SessionKey } from '../../protocol/message.ts';
import type { Profile } from '../../protocol/agent/profile.ts';
import type { ToolCall, Usage } from '../../protocol/agent/provider.ts';
import { STATELESS_FOLDER } from '../../protocol/agent/tool.ts';
import { type AgentShared, MAX_CALLS_RUN } from '../deps.ts';
import { contextRow, type ContextRow } from '../prompt/history.ts';
import type { PreparedProfile } from '../prompt/prepared-profile.ts';
import type { Taint } from '../turn/turn-rows.ts';
import { judgeCall, mustAsk } from '../tools/approval-gate.ts';
import { checkCall, contentForModel, executeTool, failure, type Outcome } from '../tools/tool-run.ts';
import { callableTools, directCall } from '../tools/tool-pair.ts';
import { sentBy } from '../tools/unasked-reads.ts';
import type { Failing } from './fallback-models.ts';

/** Tool result of a call that would have to wait for a human. */
const NEEDS_APPROVAL =
  'Not run: a person must allow it, and a completion without a session cannot wait for one (X-Session-Id names one).';

/** A completion while it runs. */
export interface Completion extends Failing {
  id: string;
  caller: Caller;
  profile: Profile;
  prepared: PreparedProfile;
  model: string;
  signal: AbortSignal;
  /** Input of the approval gate: the caller's messages and the results of the tools. */
  rows: ContextRow[];
  taint: Taint;
  /** Usage of all calls so far, broken ones included; undefined until the model has begun. */
  usage?: Usage;
  /** It has reserved of a budget. */
  holds?: boolean;
}

/** Runs one call; a call that may not be run becomes an answer for the model. Throws the signal's reason. */
export async function runPure(
  shared: AgentShared,
  completion: Completion,
  call: ToolCall,
  place: string,
  mayRun: boolean,
): Promise<Outcome> {
  if (!mayRun) return failure(`Not run: at most ${MAX_CALLS_RUN} tool calls of one answer are run.`);
  const direct = directCall(call, completion.prepared.tools);
  const checked = checkCall(direct, callableTools(completion.prepared, direct));
  if ('refusal' in checked) return checked.refusal;
  const { taint, rows, caller } = completion;
  const judgement = judgeCall(checked.tool, checked.args, { taint, rows, author: userOf(caller) });
  if (mustAsk(completion.profile.approvals, judgement))
    return failure(`${judgement.warning} ${NEEDS_APPROVAL}`);
  const sessionKey = sessionOf(completion.caller);
  const workspace = await shared.media.files.open(STATELESS_FOLDER).catch(toGatewayError);
  if (workspace instanceof GatewayError) return failure(workspace.message);
  const ctx = {
    sessionKey,
    address: sessionKey,
    userId: userOf(caller),
    memoryOwner: userOf(caller),
    userRole: completion.caller.scopes.includes('admin') ? ('owner' as const) : ('user' as const),
    model: completion.model,
    turnId: completion.id,
    profileId: completion.profile.id,
    workspace,
    folder: STATELESS_FOLDER,
    sources: taint.sources,
    callKey: `${completion.id}.${place}`,
    signal: completion.signal,
    log: shared.log,
    emit: () => undefined,
    progress: () => undefined,
  };
  const reach = checked.tool.reach(checked.args);
  if (typeof reach !== 'string') taint.noteSent(sentBy(reach));
  const { from, ...outcome } = await executeTool(checked.tool, checked.args, ctx, shared.limits.toolMs);
  taint.add(outcome.sources ?? []);
  const names = { toolCallId: call.id, toolName: checked.tool.name, callIndex: 0 };
  rows.push(contextRow(0, { kind: 'tool_result', ...names, ...outcome }));
  return { ...outcome, content: contentForModel(checked.tool.name, { ...outcome, from }) };
}

/** The user id of a token. */
export function userOf({ tokenId }: Caller): string {
  return `token:${tokenId}`;
}

/** The session key in the context of the tools of one token's completions; they have no session. */
export function sessionOf(caller: Caller): SessionKey {
  return `stateless:${caller.tokenId}`;
}
