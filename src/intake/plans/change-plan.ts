/** Changes that people make to a plan, including dropping it; each shows the updated card. */
import type { Approvals } from '../../protocol/agent/approvals.ts';
import type { EventBus, MessageBus } from '../../protocol/bus.ts';
import { GatewayError } from '../../protocol/errors.ts';
import { cancelPlan, cancelReason, isOpenPlan, type Plan, type StepEdit } from '../../protocol/agent/plan.ts';
import { type ClassifyStep, editPlan, versionOf } from '../../protocol/agent/plan-edits.ts';
import { parseAddress } from '../../protocol/message.ts';
import type { Ledger } from '../../protocol/store/ledger.ts';
import {
  cardDelivery,
  MAX_PENDING_EDITS,
  type PlanRecord,
  type PlanStore,
} from '../../protocol/agent/plan-store.ts';
import { textRef, type TextRef } from '../../protocol/texts/say.ts';

export interface ChangePlanDeps {
  plans: PlanStore;
  approvals: Pick<Approvals, 'pending'>;
  ledger: Pick<Ledger, 'turn' | 'session' | 'enqueue'>;
  bus: Pick<MessageBus, 'claimingNode' | 'runHeads'>;
  events: Pick<EventBus, 'emit'>;
  /** The risk of a step under a profile (S-17). */
  classify: (profileId: string | undefined, step: Parameters<ClassifyStep>[0]) => ReturnType<ClassifyStep>;
}

/** The changes of a request: computed from the current steps if they cannot be known earlier. */
export type AskedEdits = (plan: Plan) => readonly StepEdit[];

/** Attempts while the row of a running plan changes concurrently. */
const MAX_TRIES = 5;
/** How many pending approvals of one session are searched for the plan's. */
const MAX_APPROVALS = 20;

/**
 * Changes steps that have not started: all changes or none. The turn of a running plan applies them before its next
 * step. Throws `GatewayError('plan_changed')` when the plan's version is not the one given,
 * `GatewayError('plan_unchanged')` with the reason why a change is impossible, and `StoreError`.
 */
export async function changeSteps(
  deps: ChangePlanDeps,
  planId: string,
  asked: AskedEdits,
  expected?: number,
): Promise<Plan> {
  return await changed(deps, planId, expected, async (record) => {
    const { plan, session } = record;
    await refuseIfFixed(deps, record);
    const { profileId } = (await deps.ledger.session(session)) ?? {};
    const waiting = await deps.approvals.pending({ session, limit: MAX_APPROVALS });
    const question = waiting.find((one) => one.plan?.id === plan.id && one.plan.wait === 'step');
    const version = versionOf(plan) + 1;
    const classify: ClassifyStep = (step) => deps.classify(profileId, step);
    const edits = asked(plan);
    const edited = editPlan(plan, edits, { version, asked: question?.plan?.stepId, classify });
    if ('problem' in edited) throw unchanged(textRef('plan.unchanged', { problem: edited.problem }));
    const change = plan.state === 'stored' ? { plan: edited.plan } : { edit: { version, edits } };
    return { plan: edited.plan, change };
  });
}

/** Drops a stored plan permanently. Throws as `changeSteps` does. */
export async function cancelStored(deps: ChangePlanDeps, planId: string, expected?: number): Promise<Plan> {
  return await changed(deps, planId, expected, (record) => {
    if (record.plan.state !== 'stored') throw unchanged(whyOver(record.plan));
    const because = cancelReason(
      textRef(record.plan.runs === undefined ? 'cancelled.before_run' : 'cancelled.again'),
    );
    const plan = {
      ...cancelPlan(record.plan, because.reason, because.why),
      version: versionOf(record.plan) + 1,
    };
    return Promise.resolve({ plan, change: { plan } });
  });
}

/** Shows the current card of a plan, in the chat it was made in. Throws `StoreError`. */
export async function showCard(
  { ledger, bus }: Pick<ChangePlanDeps, 'ledger' | 'bus'>,
  { plan, address }: Pick<PlanRecord, 'plan' | 'address'>,
): Promise<void> {
  if (address === undefined || parseAddress(address).channel === 'http') return;
  bus.runHeads(await ledger.enqueue(address, cardDelivery(plan, address), bus.claimingNode('out')));
}

/** The refusal of a press or request for a different version of the plan. */
export function otherVersion(plan: Plan): GatewayError {
  return new GatewayError('plan_changed', textRef('plan.other_version', { version: versionOf(plan) }));
}

type Change = Parameters<PlanStore['changePlan']>[1];

async function changed(
  deps: ChangePlanDeps,
  planId: string,
  expected: number | undefined,
  decide: (record: PlanRecord) => Promise<{ plan: Plan; change: Change }>,
): Promise<Plan> {
  for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
    const record = await deps.plans.plan(planId);
    if (record === undefined) throw unchanged(textRef('plan.gone'));
    if (expected !== undefined && expected !== versionOf(record.plan)) throw otherVersion(record.plan);
    const { plan, change } = await decide(record);
    if (!(await deps.plans.changePlan(record, change))) continue;
    deps.events.emit(record.session, { type: 'plan_edited', plan });
    // A running turn shows the card on its own, and again at its end.
    const turn = await deps.ledger.turn(record.turnId);
    if (turn?.state !== 'running') await showCard(deps, { ...record, plan });
    return plan;
  }
  throw new GatewayError('plan_busy', textRef('plan.busy'), { retryable: true });
}

/** Throws for a plan whose steps people cannot change now. */
async function refuseIfFixed(
  { ledger }: ChangePlanDeps,
  { plan, turnId, pendingEdits }: PlanRecord,
): Promise<void> {
  if (plan.state === 'stored') return;
  if (!isOpenPlan(plan) || (await ledger.turn(turnId))?.state === 'done') throw unchanged(whyOver(plan));
  if (plan.mode === 'planner') throw unchanged(textRef('plan.planner_fixed'));
  if (pendingEdits >= MAX_PENDING_EDITS)
    throw unchanged(textRef('plan.edits_wait', { most: MAX_PENDING_EDITS }));
}

function whyOver(plan: Plan): TextRef {
  return textRef(isOpenPlan(plan) ? 'plan.begun' : 'plan.over_unchangeable');
}

function unchanged(text: TextRef): GatewayError {
  return new GatewayError('plan_unchanged', text);
}
