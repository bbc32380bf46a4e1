/** The plans of the open chat: what their buttons do, what they wait for, and the newest one as it is stored. */
import { isOpenPlan } from '../../../../src/protocol/isomorphic/plan-reducer.js';

/** @typedef {import('../api.js').Approval} Approval */
/** @typedef {import('./turn/turn-view.js').TurnView} TurnView */

/** Most reads of a plan in a row: it is read again when events changed it in the meantime. */
const MAX_PLAN_READS = 3;

/**
 * The turns that have the plans.
 * @typedef {object} PlanTurns
 * @property {() => TurnView[]} turns
 * @property {(turnId: string) => TurnView | undefined} known
 * @property {(turnId: string) => TurnView} turnOf Makes the turn if there is none yet.
 * @property {(turn: TurnView) => void} place
 * @property {AbortSignal} signal Aborted when another chat is opened.
 */

/** The plans of one chat. */
export class ChatPlans {
  #api;
  #key;
  #turns;
  /** Approvals that plans wait for, by the plan's id. @type {Map<string, Approval>} */
  #approvals = new Map();
  /** What the panels of plans work with. @type {import('../plan/plan-view.js').PlanHost} */
  host;

  /**
   * @param {import('../api.js').Api} api
   * @param {string} key
   * @param {PlanTurns} turns
   */
  constructor(api, key, turns) {
    this.#api = api;
    this.#key = key;
    this.#turns = turns;
    this.host = {
      act: (planId, action, stepId) => api.actOnPlan(planId, action, stepId),
      start: (planId, request) => api.runPlan(planId, request),
      change: (planId, version, edits) => api.changePlan(planId, version, edits),
      approvalOf: (planId) => this.#approvals.get(planId),
    };
  }

  /**
   * Loads the newest plan; `mayLackEvents` when events of it may have been lost.
   * @param {boolean} mayLackEvents
   */
  async load(mayLackEvents) {
    const { turns, known: knownTurn, turnOf, place, signal } = this.#turns;
    const eventCount = () => turns().reduce((sum, turn) => sum + turn.planEventCount, 0);
    for (let reads = 1; ; reads += 1) {
      const before = eventCount();
      const { plan, turnId } = await this.#api.plan(this.#key);
      if (plan === null || turnId === null || signal.aborted) return;
      // Events that came while it was read may be newer than what was read: if they keep coming, they win.
      if (eventCount() !== before) {
        if (reads < MAX_PLAN_READS) continue;
        return;
      }
      // The turn of an open plan is shown, however many messages wait behind it.
      const turn = knownTurn(turnId) ?? (isOpenPlan(plan) ? turnOf(turnId) : undefined);
      if (turn === undefined) return;
      turn.setPlanState(plan, mayLackEvents);
      place(turn);
      return;
    }
  }

  /** Loads the plan without waiting; if that fails, the next event or refresh brings it. */
  loadQuietly() {
    void this.load(true).catch(() => undefined);
  }

  /**
   * Sets the approvals that plans of this chat wait for; their panels show them.
   * @param {Approval[]} approvals
   */
  setApprovals(approvals) {
    this.#approvals = new Map(approvals.map((approval) => [approval.plan?.id ?? '', approval]));
    const turns = this.#turns.turns();
    for (const turn of turns) turn.redrawPlan();
    const planIds = turns.map(({ planId }) => planId);
    if (approvals.some(({ plan }) => !planIds.includes(plan?.id))) this.loadQuietly();
  }
}
