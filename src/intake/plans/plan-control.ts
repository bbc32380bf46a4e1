/** Control of a running plan by users: run or skip a step, pause, resume, stop; by command, button or API. */
import type { Approvals, ApprovalRecord, Decider } from '../../contracts/approvals.ts';
import type { MessageBus } from '../../contracts/bus.ts';
import type { PressHandler } from '../../contracts/receive.ts';
import type { Command, CommandCall } from '../../contracts/command.ts';
import type { PassedOn } from '../../contracts/receive.ts';
import type { LaneStore } from '../../contracts/store/lanes.ts';
import type { SessionStore } from '../../contracts/store/ledger.ts';
import type { SessionKey } from '../../contracts/message.ts';
import { isOpenPlan, openStep } from '../../contracts/plan.ts';
import { readPlanButton } from '../../contracts/store/plan-store.ts';
import type { PlanAction, PlanAnswer, PlanRecord, PlanStore } from '../../contracts/store/plan-store.ts';
import type { ApprovalDecision } from '../../contracts/store/records.ts';
import { describeDecided } from '../approvals/approvals.ts';
import { stopSession } from '../commands.ts';
import { modeCommand } from './modes.ts';
import type { ModeDeps } from './modes.ts';
import { planCommands } from './plan-command.ts';
import type { PlanCommandDeps } from './plan-command.ts';
import { startPlan } from './start-plan.ts';
import { pressStored } from './stored-buttons.ts';
import type { StoredButtonDeps } from './stored-buttons.ts';

export interface PlanControlDeps {
  plans: Pick<PlanStore, 'plan' | 'latestPlan' | 'planRequests' | 'requestOnPlan'>;
  approvals: Approvals;
  ledger: Pick<SessionStore, 'turn' | 'sessionOf'>;
  lanes: Pick<LaneStore, 'stop'>;
  bus: Pick<MessageBus, 'notifyStop' | 'sweepSoon'>;
}

/** Pending requests of one session that are searched for that of the plan, which has at most one. */
const MAX_REQUESTS = 20;

/**
 * Acts on a plan of a session that the caller may see; with `stepId` a skip applies to that step and no later one. The
 * change is committed when it resolves. Throws `StoreError`.
 */
export async function actOnPlan(
  deps: PlanControlDeps,
  record: PlanRecord,
  action: PlanAction,
  by: Decider,
  stepId?: string,
): Promise<PlanAnswer> {
  const { plan, session, turnId } = record;
  if (plan.state === 'stored')
    return no('This plan has not begun. /run or its card begins it, /plan cancel drops it.');
  if (!isOpenPlan(plan) || (await deps.ledger.turn(turnId))?.state === 'done')
    return no('This plan is over.');
  if (action === 'stop') {
    const { stopped } = await stopSession(deps, session, false);
    return stopped ? yes('The plan is stopped.') : no('This plan is over.');
  }
  if (plan.mode === 'planner') {
    return no('In planner mode the model follows its plan by itself; the plan can only be stopped.');
  }
  const requests = await deps.approvals.pending({ session, limit: MAX_REQUESTS });
  const waiting = requests.find((request) => request.plan?.id === plan.id);
  switch (action) {
    case 'run':
    case 'resume':
      return await resume(deps, record, waiting, by);
    case 'pause':
      return await pause(deps, record, waiting);
    case 'skip':
      return await skip(deps, record, waiting, by, stepId);
    default:
      return action satisfies never;
  }
}

async function resume(
  deps: PlanControlDeps,
  { plan }: PlanRecord,
  waiting: ApprovalRecord | undefined,
  by: Decider,
): Promise<PlanAnswer> {
  if (waiting !== undefined) {
    const text = waiting.plan?.wait === 'step' ? 'The step runs.' : 'The plan continues.';
    return await decide(deps, waiting, 'approved', by, text);
  }
  const { pause: wished } = await deps.plans.planRequests(plan.id);
  if (wished !== true) return no('The plan is running; no step waits for you.');
  await deps.plans.requestOnPlan(plan.id, { pause: false });
  return yes('The plan will not pause.');
}

async function pause(
  deps: PlanControlDeps,
  { plan }: PlanRecord,
  waiting: ApprovalRecord | undefined,
): Promise<PlanAnswer> {
  if (waiting !== undefined) return no('The plan is already waiting.');
  if ((await deps.plans.planRequests(plan.id)).pause === true)
    return no('The plan will already pause before its next step.');
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
    return no('The plan is at another step now. Nothing was changed.');
  if (waiting?.plan?.wait === 'step')
    return await decide(deps, waiting, 'denied', by, 'The step is skipped.');
  const name = `Step ${step.index + 1}`;
  if ((await deps.plans.planRequests(plan.id)).skip === step.id)
    return no(`${name} will already be skipped.`);
  await deps.plans.requestOnPlan(plan.id, { skip: step.id });
  if (step.status === 'running')
    return yes(`${name} is running. If it fails, it is skipped and not repaired.`);
  return yes(`${name} is skipped.`);
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

/** `/mode`, `/plan`, `/plans`, and `/run`, `/skip`, `/pause` and `/resume` for the newest plan of the conversation. */
export function createPlanCommands(deps: PlanControlDeps & ModeDeps & PlanCommandDeps): Command[] {
  const make = (name: Exclude<PlanAction, 'stop'>, description: string): Command => ({
    name,
    description,
    run: (call) => command(deps, name, call),
    ...(name === 'run' && { passOn: ({ session }) => startStored(deps, session) }),
  });
  return [
    modeCommand(deps),
    ...planCommands(deps),
    make('run', 'Run the plan that was made, or its next step'),
    make('skip', 'Skip a step of the plan'),
    make('pause', 'Pause the plan before its next step'),
    make('resume', 'Resume a paused plan'),
  ];
}

/** Makes the handler of the buttons under a plan's card: like the commands, but only for their own plan, step and version. */
export function createPlanButtons(deps: PlanControlDeps & StoredButtonDeps): PressHandler {
  return async (pressed) => {
    const { value, address, place, userId, senderName, owner } = pressed;
    const press = readPlanButton(value);
    if (press === undefined) return undefined;
    const record = await deps.plans.plan(press.planId);
    if (record === undefined) return { reply: 'This plan no longer exists. Nothing was changed.' };
    if ((await deps.ledger.sessionOf(address)) !== record.session)
      return { reply: 'This button belongs to another chat. Nothing was changed.' };
    if ('version' in press) return await pressStored(deps, record, press, address);
    const by: Decider = { userId, name: senderName, owner, at: { address, place } };
    const stepId = press.action === 'skip' ? press.stepId : undefined;
    return { reply: (await actOnPlan(deps, record, press.action, by, stepId)).text };
  };
}

/** `/run` starts the plan that was made last, when nothing of it has begun. */
async function startStored(
  deps: PlanControlDeps & PlanCommandDeps,
  session: SessionKey,
): Promise<PassedOn | undefined> {
  const record = await deps.plans.latestPlan(session);
  return record?.plan.state === 'stored' ? await startPlan(deps, record, { mode: 'agentic' }) : undefined;
}

async function command(deps: PlanControlDeps, action: PlanAction, call: CommandCall): Promise<string> {
  const record = await deps.plans.latestPlan(call.session);
  if (record === undefined) return 'There is no plan in this conversation.';
  const { address, place = 'group', userId, owner, tokenId } = call;
  const by: Decider = { userId, name: call.senderName, owner, tokenId, at: { address, place } };
  return (await actOnPlan(deps, record, action, by)).text;
}
