/** Control of a running plan by users: run or skip a step, pause, resume, stop; by command, button or API. */
import type { IntakeContext } from '../context.ts';
import type { ApprovalRecord, Decider } from '../../protocol/agent/approvals.ts';
import type { PressHandler, ForwardedMessage } from '../../protocol/receive.ts';
import type { Command, CommandCall } from '../../protocol/command.ts';
import type { SessionKey } from '../../protocol/message.ts';
import { isOpenPlan, openStep } from '../../protocol/agent/plan.ts';
import {
  type PlanAction,
  type PlanAnswer,
  type PlanRecord,
  readPlanButton,
} from '../../protocol/agent/plan-store.ts';
import type { ApprovalDecision } from '../../protocol/store/records.ts';
import { deciderOf } from '../approvals/commands.ts';
import { describeDecided } from '../approvals/approvals.ts';
import { stopSession } from '../sessions.ts';
import { modeCommand } from './modes.ts';
import { planCommands } from './plan-command.ts';
import { startPlan } from './change-plan.ts';
import { pressStored } from './stored-buttons.ts';
import { inEnglish, type PlainKey, type Say } from '../../protocol/texts/say.ts';

/** How many pending requests of one session are searched for the plan's, which has at most one. */
const MAX_REQUESTS = 20;

interface ActedBy {
  by: Decider;
  /** A skip applies to that step and no later one. */
  stepId?: string | undefined;
  /** Words the answer in their language; default: English. */
  say?: Say | undefined;
}

/** Acts on a plan of a session that the caller may see. The change is committed when it resolves. Throws `StoreError`. */
export async function actOnPlan(
  context: IntakeContext,
  record: PlanRecord,
  action: PlanAction,
  { by, stepId, say = inEnglish }: ActedBy,
): Promise<PlanAnswer> {
  const { plan, session, turnId } = record;
  if (plan.state === 'stored') return no(say('plan.not_started'));
  if (!isOpenPlan(plan) || (await context.ledger.turn(turnId))?.state === 'done')
    return no(say('plan.ended'));
  if (action === 'stop') {
    const { stopped } = await stopSession(context, session, false);
    return stopped ? yes(say('plan.stopped')) : no(say('plan.ended'));
  }
  if (plan.mode === 'planner') {
    return no(say('plan.planner_stops'));
  }
  const requests = await context.approvals.pending({ session, limit: MAX_REQUESTS });
  const approval = requests.find((request) => request.plan?.id === plan.id);
  switch (action) {
    case 'run':
    case 'resume':
      return await resume(context, record, approval, { by, say });
    case 'pause':
      return await pause(context, record, approval, say);
    case 'skip':
      return await skip(context, record, approval, { by, stepId, say });
    default:
      return action satisfies never;
  }
}

type Acting = ActedBy & { say: Say };

async function resume(
  context: IntakeContext,
  { plan }: PlanRecord,
  approval: ApprovalRecord | undefined,
  { by, say }: Acting,
): Promise<PlanAnswer> {
  if (approval !== undefined) {
    const text = say(approval.plan?.wait === 'step' ? 'plan.step_runs' : 'plan.continues');
    return await decide(context, approval, 'approved', { by, say }, text);
  }
  const { pause: pauseRequested } = await context.store.plans.planRequests(plan.id);
  if (pauseRequested !== true) return no(say('plan.no_step_waits'));
  await context.store.plans.requestOnPlan(plan.id, { pause: false });
  return yes(say('plan.will_not_pause'));
}

async function pause(
  context: IntakeContext,
  { plan }: PlanRecord,
  approval: ApprovalRecord | undefined,
  say: Say,
): Promise<PlanAnswer> {
  if (approval !== undefined) return no(say('plan.already_waiting'));
  if ((await context.store.plans.planRequests(plan.id)).pause === true) return no(say('plan.already_pauses'));
  await context.store.plans.requestOnPlan(plan.id, { pause: true });
  return yes(say('plan.pauses'));
}

async function skip(
  context: IntakeContext,
  { plan }: PlanRecord,
  approval: ApprovalRecord | undefined,
  { by, stepId, say }: Acting,
): Promise<PlanAnswer> {
  const step = openStep(plan);
  if (step === undefined) return no(say('plan.no_step_left'));
  if (stepId !== undefined && stepId !== step.id) return no(say('plan.at_another_step'));
  if (approval?.plan?.wait === 'step')
    return await decide(context, approval, 'denied', { by, say }, say('plan.step_skipped'));
  const number = step.index + 1;
  if ((await context.store.plans.planRequests(plan.id)).skip === step.id)
    return no(say('plan.already_skipped', { number }));
  await context.store.plans.requestOnPlan(plan.id, { skip: step.id });
  if (step.status === 'running') return yes(say('plan.skip_running', { number }));
  return yes(say('plan.skips', { number }));
}

async function decide(
  { approvals }: IntakeContext,
  { id }: ApprovalRecord,
  decision: ApprovalDecision,
  { by, say }: Acting,
  text: string,
): Promise<PlanAnswer> {
  const outcome = await approvals.decide(id, decision, by);
  return outcome.kind === 'decided' ? yes(text) : no(describeDecided(outcome, say));
}

function yes(text: string): PlanAnswer {
  return { done: true, text };
}

function no(text: string): PlanAnswer {
  return { done: false, text };
}

/** `/mode`, `/plan`, `/plans`, and `/run`, `/skip`, `/pause` and `/resume` for the newest plan of the conversation. */
export function createPlanCommands(context: IntakeContext): Command[] {
  const make = (name: Exclude<PlanAction, 'stop'>, description: PlainKey): Command => ({
    name,
    description,
    run: (call) => command(context, name, call),
    ...(name === 'run' && { forward: ({ session, say }) => startStored(context, session, say) }),
  });
  return [
    modeCommand(context),
    ...planCommands(context),
    make('run', 'about.run'),
    make('skip', 'about.skip'),
    make('pause', 'about.pause'),
    make('resume', 'about.resume'),
  ];
}

/** Makes the handler of the buttons under a plan's card: like the commands, but only for their own plan, step and version. */
export function createPlanButtons(context: IntakeContext): PressHandler {
  return async (pressed) => {
    const { value, address, place, userId, senderName, owner, say } = pressed;
    const press = readPlanButton(value);
    if (press === undefined) return undefined;
    const record = await context.store.plans.plan(press.planId);
    if (record === undefined) return { reply: say('plan.gone_press') };
    if ((await context.ledger.sessionOf(address)) !== record.session)
      return { reply: say('button.elsewhere') };
    if ('version' in press) return await pressStored(context, record, press, pressed);
    const by: Decider = { userId, name: senderName, owner, at: { address, place } };
    const stepId = press.action === 'skip' ? press.stepId : undefined;
    return { reply: (await actOnPlan(context, record, press.action, { by, stepId, say })).text };
  };
}

/** `/run` starts the newest plan if nothing of it has started. */
async function startStored(
  context: IntakeContext,
  session: SessionKey,
  say: Say,
): Promise<ForwardedMessage | undefined> {
  const record = await context.store.plans.latestPlan(session);
  return record?.plan.state === 'stored'
    ? await startPlan(context, record, { mode: 'agentic', say })
    : undefined;
}

async function command(context: IntakeContext, action: PlanAction, call: CommandCall): Promise<string> {
  const record = await context.store.plans.latestPlan(call.session);
  if (record === undefined) return call.say('plan.none_running');
  return (await actOnPlan(context, record, action, { by: deciderOf(call), say: call.say })).text;
}
