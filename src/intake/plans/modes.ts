/** Execution mode of a session: shown and changed by `/mode`, between two plans, never during one (S-40). */
import type { EventBus } from '../../protocol/bus.ts';
import { changeSession, type Command } from '../../protocol/command.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { SessionStore } from '../../protocol/store/ledger.ts';
import type { SessionKey } from '../../protocol/message.ts';
import { type ExecutionMode, isOpenPlan, MODES, readMode } from '../../protocol/agent/plan.ts';
import { planningOf, toolsOf } from '../../protocol/agent/profile.ts';
import type { PlanStore } from '../../protocol/agent/plan-store.ts';
import type { SessionRecord } from '../../protocol/store/records.ts';
import { answeringHere, type PlanningDeps, planningOff, type PlanningPlace } from './planning-off.ts';
import { type PlainKey, type Say, textRef } from '../../protocol/texts/say.ts';

export interface ModeDeps {
  ledger: Pick<SessionStore, 'session' | 'updateSession' | 'turn' | 'newSessions'>;
  plans: Pick<PlanStore, 'latestPlan'>;
  events: Pick<EventBus, 'emit'>;
  profiles: PlanningDeps['profiles'];
  boundTo: PlanningDeps['boundTo'];
  /**
   * The model of the choice, else of the session, and whether it can call tools; undefined while that is unknown. Never
   * throws.
   */
  modelOf(
    session: SessionRecord | undefined,
    choice: { profileId?: string; model?: string },
  ): Promise<{ model: string; tools: boolean } | undefined>;
}

/** Each mode as worded for users. */
const ABOUT: Readonly<Record<ExecutionMode, PlainKey>> = {
  planner: 'mode.planner',
  teacher: 'mode.teacher',
  agentic: 'mode.agentic',
};

/** Throws `GatewayError('plan_running')` while a plan of the session runs. */
export async function refuseWhilePlanRuns(
  { plans, ledger }: Pick<ModeDeps, 'plans' | 'ledger'>,
  session: SessionKey,
): Promise<void> {
  const latest = await plans.latestPlan(session);
  if (latest === undefined || !isOpenPlan(latest.plan)) return;
  if ((await ledger.turn(latest.turnId))?.state === 'done') return;
  throw new GatewayError('plan_running', textRef('mode.plan_running'));
}

/** `/mode`: shows or changes it. */
export function modeCommand(deps: ModeDeps): Command {
  return {
    name: 'mode',
    description: 'about.mode',
    argument: {
      name: 'mode',
      label: 'word.mode',
      description: 'argument.mode',
      required: false,
      choices: ['planner', 'teacher', 'agentic'],
    },
    async run(call) {
      const { session, args, say } = call;
      if (args === '') {
        const { mode } = (await deps.ledger.session(session)) ?? deps.ledger.newSessions;
        return `${describe(mode, say)}\n\n${await describePlanning(deps, call, say)}`;
      }
      const mode = readMode(args);
      await refuseWhilePlanRuns(deps, session);
      await changeSession(deps.ledger, call, { mode });
      deps.events.emit(session, { type: 'mode_changed', mode });
      return say('mode.changed', { mode, meaning: say(ABOUT[mode]) });
    },
  };
}

function describe(mode: ExecutionMode, say: Say): string {
  const lines = MODES.map((one) =>
    say(one === mode ? 'mode.line_now' : 'mode.line', { mode: one, meaning: say(ABOUT[one]) }),
  );
  return [say('mode.is', { mode }), ...lines].join('\n');
}

/** Each setting of `planning` as worded for users. */
const PLANNING = { auto: 'planning.auto', always: 'planning.always' } as const;

/** When plans are made here, and what the model lacks for them. */
async function describePlanning(deps: ModeDeps, place: PlanningPlace, say: Say): Promise<string> {
  const { record, profile, choice } = await answeringHere(deps, place);
  if (profile === undefined) return '';
  const planning = planningOf(profile);
  if (planning === 'off') return say('planning.none', { why: planningOff(profile.id) });
  const model = await deps.modelOf(record, choice);
  const noTools = toolsOf(profile).length === 0;
  const asks = planning === 'auto' && (noTools || model?.tools === false);
  return [
    say('planning.is', { profile: profile.id, planning, meaning: say(PLANNING[planning]) }),
    ...(noTools ? [say('planning.no_tools')] : []),
    ...(model?.tools === false ? [say('planning.model_without_tools', { model: model.model })] : []),
    ...(asks ? [say('planning.cannot_ask')] : []),
    ...(model === undefined ? [say('planning.model_unknown')] : []),
  ].join('\n');
}
