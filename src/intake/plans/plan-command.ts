/** `/plan` and `/plans`: make a plan and store it; show, change, run or cancel those of the conversation. */
import type { IntakeContext } from '../context.ts';
import { GatewayError, wordError } from '../../protocol/errors.ts';
import type { Command, CommandCall } from '../../protocol/command.ts';
import type { ForwardedMessage } from '../../protocol/receive.ts';
import type { InboundMessage, SessionKey } from '../../protocol/message.ts';
import { type ExecutionMode, isOpenPlan, MODES } from '../../protocol/agent/plan.ts';
import { cardRef, editHelpRef, type NumberedPlan, type PlanRecord } from '../../protocol/agent/plan-store.ts';
import { oneLine } from '../../lib/text.ts';
import { type AskedEdits, cancelStored, changeSteps, showCard, startPlan } from './change-plan.ts';
import { describeChange, describePlan, editHelp, listPlans, looksLikeEdits, readEdits } from './plan-text.ts';
import { type Say, textRef, type TextRef } from '../../protocol/texts/say.ts';
import { checkPlanning } from './modes.ts';

/** The newest plans of a conversation that a reply is matched against. */
const PLANS_SEARCHED = 5;

const HOW = ['plan.how_request', 'plan.how_list', 'plan.how_run', 'plan.how_show', 'plan.how_edit'] as const;

/** Makes the commands. They throw `GatewayError`, whose message the user reads. */
export function planCommands(context: IntakeContext): Command[] {
  return [
    {
      name: 'plan',
      description: 'about.plan',
      argument: { name: 'request', label: 'word.request', description: 'argument.plan', required: false },
      run: (call) => answer(context, call, readUse(call.args)),
      forward: (call) => forward(context, call, readUse(call.args)),
    },
    {
      name: 'plans',
      description: 'about.plans',
      run: ({ session, say }) => listPlans(context.store.plans, session, say),
    },
  ];
}

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
async function forward(
  context: IntakeContext,
  call: CommandCall,
  use: Use,
): Promise<ForwardedMessage | undefined> {
  const { session, args } = call;
  if (use.kind === 'run') {
    const record = await chosen(context, session, use.number);
    const usual = record.plan.state === 'stored' ? 'agentic' : undefined;
    return await startPlan(context, record, { mode: use.mode ?? usual, say: call.say });
  }
  if (use.kind !== 'request') return undefined;
  await checkPlanning(context, call);
  return { content: args, options: { entry: 'plan' } };
}

async function answer(context: IntakeContext, call: CommandCall, use: Use): Promise<string> {
  const { session, say } = call;
  switch (use.kind) {
    case 'show': {
      const record = await chosen(context, session, use.number);
      await showCard(context, record);
      return describePlan(record.plan, say);
    }
    case 'cancel': {
      const { plan } = await chosen(context, session, use.number);
      await cancelStored(context, plan.id);
      return say('plan.cancelled');
    }
    case 'edit': {
      if (use.text === '') return `${say('plan.edit_usage')}\n${editHelp(say)}`;
      const { plan } = await newestOf(context, session);
      return describeChange(await changeSteps(context, plan.id, askedIn(use.text, say)), say);
    }
    case 'run':
    case 'request':
    case 'help':
      return await help(context, call);
    default:
      return use satisfies never;
  }
}

/** How to use plans, after the reason why none can be made here. */
async function help(context: IntakeContext, call: CommandCall): Promise<string> {
  const usage = HOW.map((key) => `- ${call.say(key)}`).join('\n');
  try {
    await checkPlanning(context, call);
    return usage;
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'planning_off') throw error;
    return `${wordError(error, 'operator', call.say)}\n\n${usage}`;
  }
}

async function chosen(
  context: IntakeContext,
  session: SessionKey,
  number: string | undefined,
): Promise<PlanRecord> {
  if (number === undefined) return await newestOf(context, session);
  const record = await context.store.plans.planNumber(session, Number(number));
  if (record !== undefined) return record;
  throw noPlan(textRef('plan.no_number', { number }));
}

async function newestOf({ store: { plans } }: IntakeContext, session: SessionKey): Promise<PlanRecord> {
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

/** The changes in a text. The result throws `GatewayError('plan_unchanged')` for a line that it cannot read. */
function askedIn(text: string, say: Say): AskedEdits {
  return (plan) => {
    const read = readEdits(text, plan);
    if ('edits' in read) return read.edits;
    throw new GatewayError(
      'plan_unchanged',
      `${say('plan.not_understood', { problem: read.problem })}\n${editHelp(say)}`,
    );
  };
}

/** Changes the open plan whose card a message replies to; undefined for any other reply. Throws only `StoreError`. */
export async function changePlanByReply(
  context: IntakeContext,
  message: InboundMessage,
  session: SessionKey,
): Promise<string | undefined> {
  const { replyTo, content } = message;
  const record = replyTo === undefined ? undefined : await planUnder(context, replyTo, session);
  if (record === undefined) return undefined;
  const say = context.languages.say(message);
  try {
    return describeChange(await changeSteps(context, record.plan.id, askedIn(content, say)), say);
  } catch (error) {
    if (error instanceof GatewayError && (error.code === 'plan_unchanged' || error.code === 'plan_busy'))
      return wordError(error, 'operator', say);
    throw error;
  }
}

/** The plan whose card, or whose explanation of changes, is the message that was replied to. */
async function planUnder(
  { store: { plans }, ledger }: IntakeContext,
  messageId: string,
  session: SessionKey,
): Promise<PlanRecord | undefined> {
  const latest = await plans.latestPlan(session);
  if (latest === undefined) return undefined;
  const records = (await plans.plans(session, PLANS_SEARCHED)).map(({ record }) => record);
  const candidates = [latest, ...records.filter(({ plan }) => plan.id !== latest.plan.id)];
  for (const record of candidates.filter(({ plan }) => plan.state === 'stored' || isOpenPlan(plan))) {
    const refs = [cardRef(record.plan.id), editHelpRef(record.plan.id)];
    const parts = await Promise.all(refs.map((ref) => ledger.sentParts(ref)));
    if (parts.flat().some(({ id }) => id === messageId)) return record;
  }
  return undefined;
}
