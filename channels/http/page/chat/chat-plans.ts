/**
 * The plans of the open chat: what their buttons do, what they wait for, and the newest one as it is stored.
 */
import { signal } from '@preact/signals';
import type { Plan } from '../../../../src/protocol/agent/plan.ts';
import { api, type Approval } from '../api.ts';
import { run } from '../failures/show-error.ts';
import { toast } from '../parts/toast.tsx';
import { say } from '../texts.ts';
import { type Turn, withEditedPlan, withPlan } from './turn/turn.ts';
import type { PlanHost } from '../plan/plan-panel.tsx';
import { isOpenPlan } from '../../../../src/protocol/isomorphic/plan-reducer.js';

/** Most reads of a plan in a row: it is read again when events changed it in the meantime. */
const MAX_PLAN_READS = 3;
/** Characters of a goal in a short note. */
const MAX_GOAL = 60;

/** The turns that have the plans. */
interface PlanTurns {
  all: () => Turn[];
  known: (turnId: string) => Turn | undefined;
  /** Makes the turn if there is none yet. */
  change: (turnId: string, then: (turn: Turn) => Turn) => void;
  /** Aborted when another chat is opened. */
  signal: AbortSignal;
}

/** The plans of one chat. */
export class ChatPlans {
  #key;
  #turns;
  /** Approvals that plans wait for, by the plan's id. */
  #approvals = signal<ReadonlyMap<string, Approval>>(new Map());
  /** What the panels of plans work with. */
  host: PlanHost;

  constructor(key: string, turns: PlanTurns) {
    this.#key = key;
    this.#turns = turns;
    this.host = {
      approvals: this.#approvals,
      act: (planId, action, stepId) => api.actOnPlan(planId, action, stepId),
      start: (planId, request) => api.runPlan(planId, request),
      change: async (plan, edit) => {
        const edited = await api.changePlan(plan.id, plan.version ?? 1, [edit]);
        this.#show(edited.plan);
      },
      discard: (plan) => this.#discard(plan),
    };
  }

  async #discard({ id, goal }: Plan) {
    await api.actOnPlan(id, 'stop', undefined);
    const undo = (): void => run(api.restorePlan(id));
    toast(say('page.plan.discarded', { goal: goal.slice(0, MAX_GOAL) }), { undo });
  }

  /** Shows a plan as a change of this page left it; the event of a later change may have come before the answer. */
  #show(plan: Plan) {
    const turns = this.#turns.all().filter((turn) => turn.plan?.plan.id === plan.id);
    for (const { marks } of turns) this.#turns.change(marks.turnId, (turn) => withEditedPlan(turn, plan));
  }

  /** Loads the newest plan; `mayLackEvents` when events of it may have been lost. */
  async load(mayLackEvents: boolean) {
    const { all, known: knownTurn, change, signal: abortSignal } = this.#turns;
    const eventCount = () => all().reduce((sum, { planEvents }) => sum + planEvents, 0);
    for (let reads = 1; ; reads += 1) {
      const before = eventCount();
      const { plan, turnId } = await api.plan(this.#key);
      if (plan === null || turnId === null || abortSignal.aborted) return;
      // Events that came while it was read may be newer than what was read: if they keep coming, they win.
      if (eventCount() !== before) {
        if (reads < MAX_PLAN_READS) continue;
        return;
      }
      // The turn of an open plan is shown, however many messages wait behind it.
      if (knownTurn(turnId) !== undefined || isOpenPlan(plan))
        change(turnId, (turn) => withPlan(turn, plan, mayLackEvents));
      return;
    }
  }

  /** Loads the plan without waiting; if that fails, the next event or refresh brings it. */
  loadQuietly() {
    void this.load(true).catch(() => undefined);
  }

  /** Sets the approvals that plans of this chat wait for; their panels show them. */
  setApprovals(approvals: Approval[]) {
    this.#approvals.value = new Map(approvals.map((approval) => [approval.plan?.id ?? '', approval]));
    const planIds = this.#turns.all().map((turn) => turn.plan?.plan.id);
    if (approvals.some(({ plan }) => !planIds.includes(plan?.id))) this.loadQuietly();
  }
}
