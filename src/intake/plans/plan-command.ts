/** `/plan` and `/plans`: make a plan and store it; show, change, run or cancel those of the conversation. */
import { GatewayError, wordError } from '../../protocol/errors.ts';
import type { Command, CommandCall } from '../../protocol/command.ts';
import type { PassedOn } from '../../protocol/receive.ts';
import type { SessionKey } from '../../protocol/message.ts';
import { type ExecutionMode, isOpenPlan, MODES } from '../../protocol/agent/plan.ts';
import type { NumberedPlan, PlanRecord, PlanStore } from '../../protocol/agent/plan-store.ts';
import { oneLine } from '../../lib/text.ts';
import { cancelStored, type ChangePlanDeps, changeSteps, showCard } from './change-plan.ts';
import { editHelp, looksLikeEdits } from './edit-text.ts';
import { askedIn } from './plan-reply.ts';
import { describeChange, describePlan, listPlans } from './plan-text.ts';
import type { CheckPlanning } from './planning-off.ts';
import { startPlan, type StartPlanDeps } from './start-plan.ts';
import { textRef, type TextRef } from '../../protocol/texts/say.ts';

export interface PlanCommandDeps extends ChangePlanDeps, StartPlanDeps {
  plans: PlanStore;
  ledger: ChangePlanDeps['ledger'] & StartPlanDeps['ledger'];
  checkPlanning: CheckPlanning;
}

const HOW = ['plan.how_request', 'plan.how_list', 'plan.how_run', 'plan.how_show', 'plan.how_edit'] as const;

/** Makes the commands. They throw `GatewayError`, whose message the user reads. */
export function planCommands(deps: PlanCommandDeps): Command[] {
  return [
    {
      name: 'plan',
      description: 'about.plan',
      argument: {
        name: 'request',
        label: 'word.request',
        description: 'argument.plan',
        required: false,
      },
      run: (call) => answer(deps, call, readUse(call.args)),
      passOn: (call) => passOn(deps, call, readUse(call.args)),
    },
    {
      name: 'plans',
      description: 'about.plans',
      run: ({ session, say }) => listPlans(deps.plans, session, say),
    },
  ];
}

/** One use of `/plan`. */
type Use =
  | { kind: 'help' }
  | { kind: 'run'; number: string | undefined; mode: ExecutionMode | undefined }
  | { kind: 'show' | 'cancel'; number: string | undefined }
  | { kind: 'edit'; text: string }
  | { kind: 'request' };

/** Text that only starts like one of the others is a request: "run a marathon", "edit my thesis". */
function readUse(args: string): Use {
  if (args === '') return { kind: 'help' };
  const [, verb = '', number, mode] =
    /^(run|show|cancel)(?: #?(\d{1,9}))?(?: (planner|teacher|agentic))?$/i.exec(oneLine(args)) ?? [];
  const kind = verb.toLowerCase();
  if (kind === 'run') return { kind, number, mode: modeOf(mode) };
  if (mode === undefined && (kind === 'show' || kind === 'cancel')) return { kind, number };
  const [, text] = /^edit\b(.*)$/is.exec(args) ?? [];
  const edits = text !== undefined && (text.trim() === '' || looksLikeEdits(text));
  return edits ? { kind: 'edit', text: text.trim() } : { kind: 'request' };
}

/** What the agent does: run a plan, or make one. */
async function passOn(deps: PlanCommandDeps, call: CommandCall, use: Use): Promise<PassedOn | undefined> {
  const { session, args } = call;
  if (use.kind === 'run') {
    const record = await chosen(deps, session, use.number);
    const usual = record.plan.state === 'stored' ? 'agentic' : undefined;
    return await startPlan(deps, record, { mode: use.mode ?? usual, say: call.say });
  }
  if (use.kind !== 'request') return undefined;
  await deps.checkPlanning(call);
  return { content: args, options: { entry: 'plan' } };
}

async function answer(deps: PlanCommandDeps, call: CommandCall, use: Use): Promise<string> {
  const { session, say } = call;
  switch (use.kind) {
    case 'show': {
      const record = await chosen(deps, session, use.number);
      await showCard(deps, record);
      return describePlan(record.plan, say);
    }
    case 'cancel': {
      const { plan } = await chosen(deps, session, use.number);
      await cancelStored(deps, plan.id);
      return say('plan.cancelled');
    }
    case 'edit': {
      if (use.text === '') return `${say('plan.edit_usage')}\n${editHelp(say)}`;
      const { plan } = await newestOf(deps, session);
      return describeChange(await changeSteps(deps, plan.id, askedIn(use.text, say)), say);
    }
    case 'run':
    case 'request':
    case 'help':
      return await help(deps, call);
    default:
      return use satisfies never;
  }
}

/** How to use plans, after the reason why none can be made here. */
async function help({ checkPlanning }: PlanCommandDeps, call: CommandCall): Promise<string> {
  const how = HOW.map((key) => `- ${call.say(key)}`).join('\n');
  try {
    await checkPlanning(call);
    return how;
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'planning_off') throw error;
    return `${wordError(error, 'operator', call.say)}\n\n${how}`;
  }
}

async function chosen(
  deps: PlanCommandDeps,
  session: SessionKey,
  number: string | undefined,
): Promise<PlanRecord> {
  if (number === undefined) return await newestOf(deps, session);
  const found = await deps.plans.planNumber(session, Number(number));
  if (found !== undefined) return found;
  throw noPlan(textRef('plan.no_number', { number }));
}

/** The newest plan, or the plan run in progress. */
async function newestOf({ plans }: PlanCommandDeps, session: SessionKey): Promise<PlanRecord> {
  const latest = await plans.latestPlan(session);
  if (latest !== undefined && isOpenPlan(latest.plan)) return latest;
  const [newest]: (NumberedPlan | undefined)[] = await plans.plans(session, 1);
  if (newest !== undefined) return newest.record;
  throw noPlan(textRef('plan.none'));
}

function modeOf(name: string | undefined): ExecutionMode | undefined {
  return MODES.find((mode) => mode === name?.toLowerCase());
}

function noPlan(text: TextRef): GatewayError {
  return new GatewayError('no_plan', text);
}
