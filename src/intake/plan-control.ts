/** What people do to a plan while it is carried out: let a step run, leave it out, pause, go on, stop; by words or by buttons. */
import type { Approvals, ApprovalRecord, Decider } from '../contracts/approvals.ts';
import type { MessageBus } from '../contracts/bus.ts';
import type { PressHandler } from '../contracts/receive.ts';
import type { Command, CommandCall } from '../contracts/command.ts';
import type { LaneStore } from '../contracts/lanes.ts';
import type { Ledger } from '../contracts/ledger.ts';
import { isOpenPlan, openStep } from '../contracts/plan.ts';
import { readPlanButton } from '../contracts/plan-store.ts';
import type { PlanAction, PlanAnswer, PlanRecord, PlanStore } from '../contracts/plan-store.ts';
import type { ApprovalDecision } from '../contracts/records.ts';
import { describeDecided } from './approvals.ts';
import { stopSession } from './commands.ts';
import { modeCommand } from './modes.ts';
import type { ModeDeps } from './modes.ts';

export interface PlanControlDeps {
  plans: Pick<PlanStore, 'plan' | 'latestPlan' | 'planRequests' | 'requestOnPlan'>;
  approvals: Approvals;
  ledger: Pick<Ledger, 'turn' | 'sessionOf'>;
  lanes: Pick<LaneStore, 'stop'>;
  bus: Pick<MessageBus, 'notifyStop' | 'sweepSoon'>;
}

/** Questions of one session that are looked through for the plan's own; it has at most one. */
const QUESTIONS = 20;

/**
 * Acts on a plan of a session that the asker may see; with `stepId` a skip is meant for that step and no later one. What
 * it changes is committed when it resolves. Throws `StoreError`.
 */
export async function actOnPlan(
  deps: PlanControlDeps,
  record: PlanRecord,
  action: PlanAction,
  by: Decider,
  stepId?: string,
): Promise<PlanAnswer> {
  const { plan, session, turnId } = record;
  if (!isOpenPlan(plan) || (await deps.ledger.turn(turnId))?.state === 'done')
    return no('This plan is over.');
  if (action === 'stop') {
    const { stopped } = await stopSession(deps, session, false);
    return stopped ? yes('The plan is stopped.') : no('This plan is over.');
  }
  if (plan.mode === 'planner') {
    return no('In planner mode the model follows its plan by itself: it can only be stopped.');
  }
  const questions = await deps.approvals.pending({ session, limit: QUESTIONS });
  const waiting = questions.find((question) => question.plan?.id === plan.id);
  switch (action) {
    case 'run':
    case 'resume':
      return await goOn(deps, record, waiting, by);
    case 'pause':
      return await pause(deps, record, waiting);
    case 'skip':
      return await skip(deps, record, waiting, by, stepId);
    default:
      return action satisfies never;
  }
}

async function goOn(
  deps: PlanControlDeps,
  { plan }: PlanRecord,
  waiting: ApprovalRecord | undefined,
  by: Decider,
): Promise<PlanAnswer> {
  if (waiting !== undefined) {
    const text = waiting.plan?.wait === 'step' ? 'The step runs.' : 'The plan goes on.';
    return await decide(deps, waiting, 'approved', by, text);
  }
  const { pause: wished } = await deps.plans.planRequests(plan.id);
  if (wished !== true) return no('The plan runs; nothing of it waits for you.');
  await deps.plans.requestOnPlan(plan.id, { pause: false });
  return yes('The plan does not pause.');
}

async function pause(
  deps: PlanControlDeps,
  { plan }: PlanRecord,
  waiting: ApprovalRecord | undefined,
): Promise<PlanAnswer> {
  if (waiting !== undefined) return no('The plan waits already.');
  if ((await deps.plans.planRequests(plan.id)).pause === true)
    return no('The plan pauses before its next step already.');
  await deps.plans.requestOnPlan(plan.id, { pause: true });
  return yes('The plan pauses before its next step.');
}

async function skip(
  deps: PlanControlDeps,
  { plan }: PlanRecord,
  waiting: ApprovalRecord | undefined,
  by: Decider,
  stepId: string | undefined,
): Promise<PlanAnswer> {
  const step = openStep(plan);
  if (step === undefined) return no('No step is left.');
  if (stepId !== undefined && stepId !== step.id)
    return no('The plan is at another step by now. Nothing was changed.');
  if (waiting?.plan?.wait === 'step')
    return await decide(deps, waiting, 'denied', by, 'The step is left out.');
  const place = `Step ${step.index + 1}`;
  if ((await deps.plans.planRequests(plan.id)).skip === step.id)
    return no(`${place} is to be left out already.`);
  await deps.plans.requestOnPlan(plan.id, { skip: step.id });
  if (step.status === 'running')
    return yes(`${place} is running. If it fails, it is left out and not repaired.`);
  return yes(`${place} is left out.`);
}

async function decide(
  { approvals }: PlanControlDeps,
  { id }: ApprovalRecord,
  decision: ApprovalDecision,
  by: Decider,
  text: string,
): Promise<PlanAnswer> {
  const decided = await approvals.decide(id, decision, by);
  return decided.kind === 'decided' ? yes(text) : no(describeDecided(decided));
}

function yes(text: string): PlanAnswer {
  return { done: true, text };
}

function no(text: string): PlanAnswer {
  return { done: false, text };
}

/** `/mode`, and `/run`, `/skip`, `/pause` and `/resume` for the newest plan of the conversation. */
export function createPlanCommands(deps: PlanControlDeps & ModeDeps): Command[] {
  const make = (name: Exclude<PlanAction, 'stop'>, description: string): Command => ({
    name,
    description,
    run: (call) => command(deps, name, call),
  });
  return [
    modeCommand(deps),
    make('run', 'Run the next step of the plan'),
    make('skip', 'Skip a step of the plan'),
    make('pause', 'Pause the plan before its next step'),
    make('resume', 'Let a paused plan go on'),
  ];
}

/** Acts on the buttons under a plan's card: as the commands do, but only on the plan and the step they stand for. */
export function createPlanButtons(deps: PlanControlDeps): PressHandler {
  return async ({ value, address, place, userId, senderName, owner }) => {
    const meant = readPlanButton(value);
    if (meant === undefined) return undefined;
    const record = await deps.plans.plan(meant.planId);
    if (record === undefined) return 'This plan is no longer there. Nothing was changed.';
    if ((await deps.ledger.sessionOf(address)) !== record.session)
      return 'This button belongs to another chat. Nothing was changed.';
    const by: Decider = { userId, name: senderName, owner, at: { address, place } };
    const stepId = meant.action === 'skip' ? meant.stepId : undefined;
    return (await actOnPlan(deps, record, meant.action, by, stepId)).text;
  };
}

async function command(deps: PlanControlDeps, action: PlanAction, call: CommandCall): Promise<string> {
  const record = await deps.plans.latestPlan(call.session);
  if (record === undefined) return 'There is no plan in this conversation.';
  const { address, place = 'group', userId, owner, tokenId } = call;
  const by: Decider = { userId, name: call.senderName, owner, tokenId, at: { address, place } };
  return (await actOnPlan(deps, record, action, by)).text;
}
