/** What people do to a plan while it is carried out: let a step run, leave it out, pause, go on, stop. */
import type { Approvals, ApprovalRecord, Decider } from '../approvals.ts';
import type { MessageBus } from '../bus.ts';
import type { Command, CommandCall } from '../command.ts';
import type { LaneStore } from '../lanes.ts';
import type { Ledger } from '../ledger.ts';
import type { PlanStep } from '../plan.ts';
import type { PlanAction, PlanAnswer, PlanRecord, PlanStore } from '../plans.ts';
import type { ApprovalDecision } from '../records.ts';
import { describeDecided } from './approvals.ts';
import { stopSession } from './commands.ts';
import { modeCommand } from './modes.ts';
import type { ModeDeps } from './modes.ts';

export interface PlanControlDeps {
  plans: Pick<PlanStore, 'plan' | 'latestPlan' | 'wish'>;
  approvals: Approvals;
  ledger: Pick<Ledger, 'turn'>;
  lanes: Pick<LaneStore, 'stop'>;
  bus: Pick<MessageBus, 'hintStop' | 'nudge'>;
}

/** Questions of one session that are looked through for the plan's own; it has at most one. */
const QUESTIONS = 20;

/** Acts on a plan of a session that the asker may see. What it changes is committed when it resolves. Throws `StoreError`. */
export async function actOnPlan(
  deps: PlanControlDeps,
  record: PlanRecord,
  action: PlanAction,
  by: Decider,
): Promise<PlanAnswer> {
  const { plan, session, turnId } = record;
  const isOver = plan.state === 'completed' || plan.state === 'cancelled';
  if (isOver || (await deps.ledger.turn(turnId))?.state === 'done') return no('This plan is over.');
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
      if (waiting !== undefined) return no('The plan waits already.');
      await deps.plans.wish(plan.id, { pause: true });
      return yes('The plan pauses before its next step.');
    case 'skip':
      return await skip(deps, record, waiting, by);
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
  if (waiting?.plan?.wait === 'step') return await decide(deps, waiting, 'approved', by, 'The step runs.');
  // A pause that has not begun yet is taken back.
  await deps.plans.wish(plan.id, { pause: false });
  if (waiting === undefined) return no('The plan runs; nothing of it waits for you.');
  return await decide(deps, waiting, 'approved', by, 'The plan goes on.');
}

async function skip(
  deps: PlanControlDeps,
  { plan }: PlanRecord,
  waiting: ApprovalRecord | undefined,
  by: Decider,
): Promise<PlanAnswer> {
  if (waiting?.plan?.wait === 'step')
    return await decide(deps, waiting, 'denied', by, 'The step is left out.');
  const step = plan.steps.find(isUnfinished);
  if (step === undefined) return no('No step is left.');
  await deps.plans.wish(plan.id, { skip: step.id });
  const place = `Step ${step.index + 1}`;
  if (step.status === 'running')
    return yes(`${place} is running. If it fails, it is left out and not repaired.`);
  return yes(`${place} is left out.`);
}

function isUnfinished({ status }: PlanStep): boolean {
  return status !== 'done' && status !== 'skipped';
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
    make('run', 'Let the next step of the plan run'),
    make('skip', 'Leave a step of the plan out'),
    make('pause', 'Pause the plan before its next step'),
    make('resume', 'Let a paused plan go on'),
  ];
}

async function command(deps: PlanControlDeps, action: PlanAction, call: CommandCall): Promise<string> {
  const record = await deps.plans.latestPlan(call.session);
  if (record === undefined) return 'There is no plan in this conversation.';
  const { address, place = 'group', userId, owner, tokenId } = call;
  const by: Decider = { userId, name: call.senderName, owner, tokenId, at: { address, place } };
  return (await actOnPlan(deps, record, action, by)).text;
}
