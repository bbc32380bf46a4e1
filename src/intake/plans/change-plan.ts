/** Changes that people make to a plan, including dropping it; each shows the updated card. */
import type { IntakeContext } from '../context.ts';
import { deliver } from '../replies.ts';
import { GatewayError } from '../../protocol/errors.ts';
import {
  cancelPlan,
  cancelReason,
  type ExecutionMode,
  isOpenPlan,
  type Plan,
  type StepEdit,
} from '../../protocol/agent/plan.ts';
import { type ClassifyStep, editPlan, versionOf } from '../../protocol/agent/plan-edits.ts';
import { parseAddress, type SessionKey } from '../../protocol/message.ts';
import {
  cardDelivery,
  MAX_PENDING_EDITS,
  MAX_PLAN_RUNS,
  type PlanRecord,
  type PlanStore,
} from '../../protocol/agent/plan-store.ts';
import { inEnglish, type Say, textRef, type TextRef } from '../../protocol/texts/say.ts';
import type { ForwardedMessage } from '../../protocol/receive.ts';

/** The changes of a request: computed from the current steps if they cannot be known earlier. */
export type AskedEdits = (plan: Plan) => readonly StepEdit[];

/** Attempts while the row of a running plan changes concurrently. */
const MAX_ATTEMPTS = 5;
/** How many pending approvals of one session are searched for the plan's. */
const MAX_APPROVALS = 20;

/**
 * Changes steps that have not started: all changes or none. A running plan's turn applies them before its next step.
 * Throws `StoreError`, `GatewayError('plan_changed')` for another version, and `GatewayError('plan_unchanged')` with
 * the reason.
 */
export async function changeSteps(
  context: IntakeContext,
  planId: string,
  editsFor: AskedEdits,
  expectedVersion?: number,
): Promise<Plan> {
  return await changed(context, planId, expectedVersion, async (record) => {
    const { plan, session } = record;
    await refuseIfFixed(context, record);
    const { profileId } = (await context.ledger.session(session)) ?? {};
    const requests = await context.approvals.pending({ session, limit: MAX_APPROVALS });
    const question = requests.find((one) => one.plan?.id === plan.id && one.plan.wait === 'step');
    const version = versionOf(plan) + 1;
    const classify: ClassifyStep = (step) => context.agent.classifyStep(profileId, step);
    const edits = editsFor(plan);
    const edited = editPlan(plan, edits, { version, asked: question?.plan?.stepId, classify });
    if ('problem' in edited) throw unchanged(textRef('plan.unchanged', { problem: edited.problem }));
    const change = plan.state === 'stored' ? { plan: edited.plan } : { edit: { version, edits } };
    return { plan: edited.plan, change };
  });
}

/** Drops a stored plan. Throws as `changeSteps` does. */
export async function cancelStored(
  context: IntakeContext,
  planId: string,
  expectedVersion?: number,
): Promise<Plan> {
  return await changed(context, planId, expectedVersion, (record) => {
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

/** Why a plan is over that was dropped before it ran, or ran again. */
const DROPPED: readonly (string | undefined)[] = ['cancelled.before_run', 'cancelled.again'];

/** Takes `cancelStored` back. Throws as `changeSteps` does. */
export async function restoreDropped(context: IntakeContext, planId: string): Promise<Plan> {
  return await changed(context, planId, undefined, (record) => {
    const { reason: _, why: cause, ...dropped } = record.plan;
    if (dropped.state !== 'cancelled' || !DROPPED.includes(cause?.key)) throw unchanged(whyOver(dropped));
    const plan: Plan = { ...dropped, state: 'stored', version: versionOf(dropped) + 1 };
    return Promise.resolve({ plan, change: { plan } });
  });
}

/** Shows the current card of a plan, in the chat it was made in. Throws `StoreError`. */
export async function showCard(context: IntakeContext, { plan, address }: PlanRecord): Promise<void> {
  if (address === undefined || parseAddress(address).channel === 'http') return;
  await deliver(context, address, cardDelivery(plan, address));
}

/** The refusal of a press or request for a different version of the plan. */
function otherVersion(plan: Plan): GatewayError {
  return new GatewayError('plan_changed', textRef('plan.other_version', { version: versionOf(plan) }));
}

type Change = Parameters<PlanStore['changePlan']>[1];

async function changed(
  context: IntakeContext,
  planId: string,
  expectedVersion: number | undefined,
  decide: (record: PlanRecord) => Promise<{ plan: Plan; change: Change }>,
): Promise<Plan> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const record = await context.store.plans.plan(planId);
    if (record === undefined) throw unchanged(textRef('plan.gone'));
    if (expectedVersion !== undefined && expectedVersion !== versionOf(record.plan))
      throw otherVersion(record.plan);
    const { plan, change } = await decide(record);
    if (!(await context.store.plans.changePlan(record, change))) continue;
    context.events.emit(record.session, { type: 'plan_edited', plan });
    // A running turn shows the card on its own, and again at its end.
    const turn = await context.ledger.turn(record.turnId);
    if (turn?.state !== 'running') await showCard(context, { ...record, plan });
    return plan;
  }
  throw new GatewayError('plan_busy', textRef('plan.busy'), { retryable: true });
}

async function refuseIfFixed(
  { ledger }: IntakeContext,
  { plan, turnId, pendingEdits }: PlanRecord,
): Promise<void> {
  if (plan.state === 'stored') return;
  if (!isOpenPlan(plan) || (await ledger.turn(turnId))?.state === 'done') throw unchanged(whyOver(plan));
  if (plan.mode === 'planner') throw unchanged(textRef('plan.planner_fixed'));
  if (pendingEdits >= MAX_PENDING_EDITS)
    throw unchanged(textRef('plan.edits_wait', { most: MAX_PENDING_EDITS }));
}

function whyOver(plan: Plan): TextRef {
  return textRef(isOpenPlan(plan) ? 'plan.started' : 'plan.ended_unchangeable');
}

function unchanged(text: TextRef): GatewayError {
  return new GatewayError('plan_unchanged', text);
}

interface AskedRun {
  /** Undefined = the session's mode when the plan was made (S-05). */
  mode?: ExecutionMode | undefined;
  /** The version and run number that the person starting it saw. */
  version?: number | undefined;
  run?: number | undefined;
  /** Words the message in the language of the person starting it; default: English. */
  say?: Say | undefined;
}

/**
 * A run of the plan, or of the plan that this one is a run of. Throws `GatewayError`: `already_running`,
 * `plan_changed`, `plan_started` for a run that has started, `plan_unchanged` for a plan that cannot run.
 */
export async function startPlan(
  context: IntakeContext,
  planRecord: PlanRecord,
  request: AskedRun,
): Promise<ForwardedMessage> {
  const record = await rootOf(context, planRecord);
  const { plan, session } = record;
  if (await isPlanRunning(context, session))
    throw new GatewayError('already_running', textRef('plan.already_running'));
  const run = (plan.runs ?? 0) + 1;
  if (request.run !== undefined && request.run < run)
    throw new GatewayError('plan_started', textRef('plan.started_already'));
  if (request.version !== undefined && request.version !== versionOf(plan)) throw otherVersion(plan);
  if (run > MAX_PLAN_RUNS)
    throw new GatewayError('plan_unchanged', textRef('plan.too_many_runs', { most: MAX_PLAN_RUNS }));
  if (plan.steps.length === 0) throw new GatewayError('plan_unchanged', textRef('plan.no_steps'));
  const mode = request.mode ?? plan.mode;
  const { say = inEnglish } = request;
  return {
    // The plan itself follows in the context.
    content: say(`plan.say_${mode}`),
    options: { mode, plan: { id: plan.id, version: versionOf(plan), run } },
  };
}

/** True while a plan of the session runs or waits for people. Throws `StoreError`. */
export async function isPlanRunning({ store, ledger }: IntakeContext, session: SessionKey): Promise<boolean> {
  const latest = await store.plans.latestPlan(session);
  return (
    latest !== undefined && isOpenPlan(latest.plan) && (await ledger.turn(latest.turnId))?.state !== 'done'
  );
}

async function rootOf({ store }: IntakeContext, record: PlanRecord): Promise<PlanRecord> {
  const { origin } = record.plan;
  return (origin && (await store.plans.plan(origin.planId))) ?? record;
}
