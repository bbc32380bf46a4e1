/** `/plan` and `/plans`: make a plan and keep it, show, change, run or cancel those of the conversation. */
import { GatewayError } from '../../contracts/errors.ts';
import type { Command, CommandCall } from '../../contracts/command.ts';
import type { PassedOn } from '../../contracts/receive.ts';
import type { SessionKey } from '../../contracts/message.ts';
import { isOpenPlan, MODES } from '../../contracts/plan.ts';
import type { ExecutionMode } from '../../contracts/plan.ts';
import type { NumberedPlan, PlanRecord, PlanStore } from '../../contracts/store/plan-store.ts';
import { oneLine } from '../../lib/text.ts';
import { cancelStored, changeSteps, showCard } from './change-plan.ts';
import type { ChangePlanDeps } from './change-plan.ts';
import { EDIT_HELP, looksLikeEdits } from './edit-text.ts';
import { askedIn } from './plan-reply.ts';
import { describeChange, describePlan, listPlans } from './plan-words.ts';
import type { CheckPlanning } from './planning-off.ts';
import { startPlan } from './start-plan.ts';
import type { StartPlanDeps } from './start-plan.ts';

export interface PlanCommandDeps extends ChangePlanDeps, StartPlanDeps {
  plans: PlanStore;
  ledger: ChangePlanDeps['ledger'] & StartPlanDeps['ledger'];
  checkPlanning: CheckPlanning;
}

const HOW = [
  '/plan and a request makes a plan and runs nothing of it',
  '/plans lists the plans of this conversation',
  '/plan run 2 runs plan 2, also again; add planner, teacher or agentic for the mode',
  '/plan show 2 shows its card as it is now, /plan cancel 2 drops it',
  '/plan edit and changes, one a line, changes the newest plan',
].map((line) => `- ${line}`);

/** Makes the commands. They throw `GatewayError`, whose message the user reads. */
export function planCommands(deps: PlanCommandDeps): Command[] {
  return [
    {
      name: 'plan',
      description: 'Make a plan for a request and run nothing yet; or run, edit, show or cancel one',
      argument: {
        name: 'request',
        description: 'What you want; or run 2, edit, show 2, cancel 2',
        required: false,
      },
      run: (call) => answer(deps, call, readUse(call.args)),
      passOn: (call) => passOn(deps, call, readUse(call.args)),
    },
    {
      name: 'plans',
      description: 'List the plans of this conversation',
      run: ({ session }) => listPlans(deps.plans, session),
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

/** Words that only begin like one of the others are a request: "run a marathon", "edit my thesis". */
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

/** What the agent does: a run of a plan, or the making of one. */
async function passOn(deps: PlanCommandDeps, call: CommandCall, use: Use): Promise<PassedOn | undefined> {
  const { session, args } = call;
  if (use.kind === 'run') {
    const record = await chosen(deps, session, use.number);
    const usual = record.plan.state === 'stored' ? 'agentic' : undefined;
    return await startPlan(deps, record, { mode: use.mode ?? usual });
  }
  if (use.kind !== 'request') return undefined;
  await deps.checkPlanning(call);
  return { content: args, options: { entry: 'plan' } };
}

async function answer(deps: PlanCommandDeps, call: CommandCall, use: Use): Promise<string> {
  const { session } = call;
  switch (use.kind) {
    case 'show': {
      const record = await chosen(deps, session, use.number);
      await showCard(deps, record);
      return describePlan(record.plan);
    }
    case 'cancel': {
      const { plan } = await chosen(deps, session, use.number);
      await cancelStored(deps, plan.id);
      return 'The plan is cancelled; nothing of it runs.';
    }
    case 'edit': {
      if (use.text === '') return `Write /plan edit and the changes, one a line:\n${EDIT_HELP}`;
      const { plan } = await newestOf(deps, session);
      return describeChange(await changeSteps(deps, plan.id, askedIn(use.text)));
    }
    case 'run':
    case 'request':
    case 'help':
      return await help(deps, call);
    default:
      return use satisfies never;
  }
}

/** How plans are used, after the reason why none can be made here. */
async function help({ checkPlanning }: PlanCommandDeps, call: CommandCall): Promise<string> {
  try {
    await checkPlanning(call);
    return HOW.join('\n');
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'planning_off') throw error;
    return `${error.message}\n\n${HOW.join('\n')}`;
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
  throw noPlan(`There is no plan ${number} in this conversation. /plans lists them.`);
}

/** The newest plan, or the run of a plan that goes on. */
async function newestOf({ plans }: PlanCommandDeps, session: SessionKey): Promise<PlanRecord> {
  const latest = await plans.latestPlan(session);
  if (latest !== undefined && isOpenPlan(latest.plan)) return latest;
  const [newest]: (NumberedPlan | undefined)[] = await plans.plans(session, 1);
  if (newest !== undefined) return newest.record;
  throw noPlan('There are no plans in this conversation. /plan and a request makes one.');
}

function modeOf(name: string | undefined): ExecutionMode | undefined {
  return MODES.find((mode) => mode === name?.toLowerCase());
}

function noPlan(text: string): GatewayError {
  return new GatewayError('no_plan', text);
}
