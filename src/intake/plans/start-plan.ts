/** Starts a run of a plan: the message that the agent gets, after all checks. */
import { GatewayError } from '../../protocol/errors.ts';
import type { PassedOn } from '../../protocol/receive.ts';
import type { SessionKey } from '../../protocol/message.ts';
import { type ExecutionMode, isOpenPlan } from '../../protocol/agent/plan.ts';
import { versionOf } from '../../protocol/agent/plan-edits.ts';
import type { SessionStore } from '../../protocol/store/ledger.ts';
import { MAX_PLAN_RUNS, type PlanRecord, type PlanStore } from '../../protocol/agent/plan-store.ts';
import { otherVersion } from './change-plan.ts';
import { inEnglish, type PlainKey, type Say, textRef } from '../../protocol/texts/say.ts';

export interface StartPlanDeps {
  plans: Pick<PlanStore, 'plan' | 'latestPlan'>;
  ledger: Pick<SessionStore, 'turn'>;
}

export interface AskedRun {
  /** Undefined = the session's mode when the plan was made (S-05). */
  mode?: ExecutionMode | undefined;
  /** The version and run number that the person starting it saw. */
  version?: number | undefined;
  run?: number | undefined;
  /** Words the message in the language of the person starting it; default: English. */
  say?: Say | undefined;
}

/** What the message of a run says; the plan itself follows it in the context. */
const MESSAGES: Readonly<Record<ExecutionMode, PlainKey>> = {
  planner: 'plan.say_planner',
  agentic: 'plan.say_agentic',
  teacher: 'plan.say_teacher',
};

/**
 * A run of the plan, or of the one that the given plan is a run of. Throws `GatewayError`: `already_running` while a
 * plan of the session runs, `plan_changed`, `plan_started` for a run that has started, `plan_unchanged` for a plan that
 * cannot be run.
 */
export async function startPlan(deps: StartPlanDeps, shown: PlanRecord, asked: AskedRun): Promise<PassedOn> {
  const record = await rootOf(deps, shown);
  const { plan, session } = record;
  await refuseWhileRunning(deps, session);
  const run = (plan.runs ?? 0) + 1;
  if (asked.run !== undefined && asked.run < run)
    throw new GatewayError('plan_started', textRef('plan.started_already'));
  if (asked.version !== undefined && asked.version !== versionOf(plan)) throw otherVersion(plan);
  if (run > MAX_PLAN_RUNS)
    throw new GatewayError('plan_unchanged', textRef('plan.too_many_runs', { most: MAX_PLAN_RUNS }));
  if (plan.steps.length === 0) throw new GatewayError('plan_unchanged', textRef('plan.no_steps'));
  const mode = asked.mode ?? plan.mode;
  const { say = inEnglish } = asked;
  return {
    content: say(MESSAGES[mode]),
    options: { mode, plan: { id: plan.id, version: versionOf(plan), run } },
  };
}

/** Throws `GatewayError('already_running')` while a plan of the session runs or waits for people. */
async function refuseWhileRunning({ plans, ledger }: StartPlanDeps, session: SessionKey): Promise<void> {
  const latest = await plans.latestPlan(session);
  if (latest === undefined || !isOpenPlan(latest.plan)) return;
  if ((await ledger.turn(latest.turnId))?.state === 'done') return;
  throw new GatewayError('already_running', textRef('plan.already_running'));
}

async function rootOf({ plans }: StartPlanDeps, record: PlanRecord): Promise<PlanRecord> {
  const { origin } = record.plan;
  return (origin && (await plans.plan(origin.planId))) ?? record;
}
