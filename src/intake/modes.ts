/** Execution mode of a session: shown and changed by `/mode`, between two plans, never during one (S-40). */
import type { EventBus } from '../contracts/bus.ts';
import { changeSession } from '../contracts/command.ts';
import type { Command } from '../contracts/command.ts';
import { GatewayError } from '../contracts/errors.ts';
import type { SessionStore } from '../contracts/ledger.ts';
import type { SessionKey } from '../contracts/message.ts';
import { MODES, readMode } from '../contracts/plan.ts';
import type { ExecutionMode } from '../contracts/plan.ts';
import type { PlanStore } from '../contracts/plan-store.ts';

export interface ModeDeps {
  ledger: Pick<SessionStore, 'session' | 'updateSession' | 'turn' | 'newSessions'>;
  plans: Pick<PlanStore, 'latestPlan'>;
  events: Pick<EventBus, 'emit'>;
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
  if (latest === undefined || ['completed', 'cancelled'].includes(latest.plan.state)) return;
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
        return describe(mode);
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
