/** Execution mode of a session: shown and changed by `/mode`, between two plans, never during one (S-40). */
import type { EventBus } from '../../contracts/bus.ts';
import { changeSession } from '../../contracts/command.ts';
import type { Command } from '../../contracts/command.ts';
import { GatewayError } from '../../contracts/errors.ts';
import type { SessionStore } from '../../contracts/store/ledger.ts';
import type { SessionKey } from '../../contracts/message.ts';
import { isOpenPlan, MODES, readMode } from '../../contracts/plan.ts';
import type { ExecutionMode } from '../../contracts/plan.ts';
import { planningOf, toolsOf } from '../../contracts/profile.ts';
import type { PlanStore } from '../../contracts/store/plan-store.ts';
import type { SessionRecord } from '../../contracts/store/records.ts';
import { answeringHere, planningOff } from './planning-off.ts';
import type { PlanningDeps, PlanningPlace } from './planning-off.ts';

export interface ModeDeps {
  ledger: Pick<SessionStore, 'session' | 'updateSession' | 'turn' | 'newSessions'>;
  plans: Pick<PlanStore, 'latestPlan'>;
  events: Pick<EventBus, 'emit'>;
  profiles: PlanningDeps['profiles'];
  boundTo: PlanningDeps['boundTo'];
  /** The model of the choice, else of the session, and whether it can call tools; undefined where nobody knows now. Never throws. */
  modelOf(
    session: SessionRecord | undefined,
    choice: { profileId?: string; model?: string },
  ): Promise<{ model: string; tools: boolean } | undefined>;
}

/** Each mode as users read it. */
const ABOUT: Readonly<Record<ExecutionMode, string>> = {
  planner: 'the model follows its plan by itself',
  teacher: 'each step is explained and waits for your Run',
  agentic: 'steps run by themselves, and a failed one is repaired',
};

/** Throws `GatewayError('plan_running')` while a plan of the session runs. */
export async function refuseWhilePlanRuns(
  { plans, ledger }: Pick<ModeDeps, 'plans' | 'ledger'>,
  session: SessionKey,
): Promise<void> {
  const latest = await plans.latestPlan(session);
  if (latest === undefined || !isOpenPlan(latest.plan)) return;
  if ((await ledger.turn(latest.turnId))?.state === 'done') return;
  throw new GatewayError(
    'plan_running',
    'A plan is running: the mode can change once it has ended. /stop ends it.',
  );
}

/** `/mode`: shows or changes it. */
export function modeCommand(deps: ModeDeps): Command {
  return {
    name: 'mode',
    description: 'Show or change how plans are followed: planner, teacher or agentic',
    argument: { name: 'mode', description: 'planner, teacher or agentic', required: false },
    async run(call) {
      const { session, args } = call;
      if (args === '') {
        const { mode } = (await deps.ledger.session(session)) ?? deps.ledger.newSessions;
        return `${describe(mode)}\n\n${await describePlanning(deps, call)}`;
      }
      const mode = readMode(args);
      await refuseWhilePlanRuns(deps, session);
      await changeSession(deps.ledger, call, { mode });
      deps.events.emit(session, { type: 'mode_changed', mode });
      return `Mode: ${mode}. From your next message on, ${ABOUT[mode]}.`;
    },
  };
}

function describe(mode: ExecutionMode): string {
  const lines = MODES.map((one) => `/mode ${one} - ${ABOUT[one]}${one === mode ? ' (now)' : ''}`);
  return [`Mode: ${mode}.`, ...lines].join('\n');
}

/** Each setting of `planning` as users read it. */
const PLANNING = {
  auto: 'the model asks for a plan when a task needs one',
  always: 'there is a plan before every answer',
} as const;

/** When plans are made here, and what the model lacks for them. */
async function describePlanning(deps: ModeDeps, place: PlanningPlace): Promise<string> {
  const { record, profile, choice } = await answeringHere(deps, place);
  if (profile === undefined) return '';
  const planning = planningOf(profile);
  if (planning === 'off')
    return `No plans are made here, so the mode has no effect. ${planningOff(profile.id)}`;
  const model = await deps.modelOf(record, choice);
  const noTools = toolsOf(profile).length === 0;
  const asks = planning === 'auto' && (noTools || model?.tools === false);
  return [
    `Planning in the profile "${profile.id}": ${planning} (${PLANNING[planning]}).`,
    ...(noTools ? ['The profile has no tools: every step is work of the model itself.'] : []),
    ...(model?.tools === false
      ? [`The model "${model.model}" cannot call tools: steps that need one fail in every mode.`]
      : []),
    ...(asks ? ['So the model cannot ask for a plan by itself; /plan and a request makes one.'] : []),
    ...(model === undefined ? ['What the model can do is not known now: its server does not answer.'] : []),
  ].join('\n');
}
