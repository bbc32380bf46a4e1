/** One session's conversation: its stored pages, its live turns, and where the reader is in it. */
import { byId, h } from '../dom.js';
import { isOpenPlan } from '../../../../src/contracts/isomorphic/plan-reducer.js';
import { TurnView } from './turn-view.js';

/** @typedef {import('../api.js').Message} Message */
/** @typedef {import('../../../../src/contracts/event.ts').AgentEvent} AgentEvent */
/** @typedef {import('../api.js').Approval} Approval */

const PAGE_SIZE = 50;
/** Nearer to the end than this, the view follows the answer as it grows. */
const NEAR_END_PX = 120;
/** How often a plan is read anew because events told of it meanwhile. */
const MAX_PLAN_READS = 3;

/** The conversation of one session, from opening to `close`. */
export class Transcript {
  #api;
  #key;
  #list = byId('transcript', HTMLElement);
  #scroller = byId('scroller', HTMLElement);
  /** @type {Map<string, TurnView>} */
  #turns = new Map();
  /** Turns by the subagents that work for them. @type {Map<string | undefined, string>} */
  #agents = new Map();
  /** Questions of plans that wait for an answer, by the plan's id. @type {Map<string, Approval>} */
  #waits = new Map();
  /** @type {import('../plan/plan-view.js').PlanDesk} */
  #desk;
  #oldest = Infinity;
  #follows = true;
  #loading = false;
  #earlier = h(
    'button',
    { type: 'button', class: 'earlier', hidden: true, onclick: () => void this.loadEarlier() },
    'Earlier messages',
  );
  #ended = new AbortController();

  /**
   * @param {import('../api.js').Api} api
   * @param {string} key
   */
  constructor(api, key) {
    this.#api = api;
    this.#key = key;
    this.#desk = {
      act: (planId, action, stepId) => api.actOnPlan(planId, action, stepId),
      waitOf: (planId) => this.#waits.get(planId),
    };
    this.#list.replaceChildren(this.#earlier);
    const { signal } = this.#ended;
    this.#scroller.addEventListener('scroll', () => this.#scrolled(), { signal, passive: true });
    byId('to-bottom', HTMLElement).addEventListener('click', () => this.toEnd(), { signal });
    this.#scrolled();
  }

  /** True while a turn of this session runs, as far as the events told. */
  get running() {
    return [...this.#turns.values()].some((turn) => turn.state === 'running');
  }

  /** The text of the newest answer, for those who listen instead of looking. */
  get newestText() {
    return [...this.#turns.values()].at(-1)?.text ?? '';
  }

  close() {
    this.#ended.abort();
  }

  /** Takes in the newest stored messages; what is on screen already is brought up to date. */
  async refresh() {
    const messages = await this.#api.messages(this.#key, { limit: PAGE_SIZE });
    if (this.#ended.signal.aborted) return;
    this.#take(messages);
    if (messages.some(({ isPlan }) => isPlan)) await this.#learnPlan(false);
    if (this.#follows) this.toEnd();
  }

  /** Takes in the page before the oldest message shown; the view stays where it is. */
  async loadEarlier() {
    if (this.#loading || this.#oldest <= 1 || this.#oldest === Infinity) return;
    this.#loading = true;
    try {
      const messages = await this.#api.messages(this.#key, { limit: PAGE_SIZE, before: this.#oldest });
      if (this.#ended.signal.aborted) return;
      const fromEnd = this.#scroller.scrollHeight - this.#scroller.scrollTop;
      if (messages.length === 0) this.#oldest = 1;
      this.#take(messages);
      // Texts are drawn with the next frame; only then is their height known.
      requestAnimationFrame(() => (this.#scroller.scrollTop = this.#scroller.scrollHeight - fromEnd));
    } finally {
      this.#loading = false;
    }
  }

  /** @param {AgentEvent} event */
  apply(event) {
    const turnId = event.turnId ?? this.#agents.get(event.agentId);
    if (turnId === undefined) return;
    // One in the background outlives its turn; what it does is still shown where it was made.
    if (event.type === 'subagent_spawned') this.#agents.set(event.agentId, turnId);
    if (event.type === 'subagent_completed') this.#agents.delete(event.agentId);
    if (event.type === 'messages_joined') for (const joined of event.turnIds) this.#turnOf(joined).join();
    const turn = this.#turnOf(turnId);
    turn.apply(event);
    this.#place(turn);
    // A snapshot stands for events that are not known any more, those of the plan included.
    if (event.type === 'snapshot') this.#lookForPlan();
    if (event.type === 'turn_started' || event.type === 'turn_ended') this.#countWaiting();
    if (event.type === 'turn_ended' && turn.isBlank) this.#forget(turnId, turn);
  }

  /**
   * A turn that had nothing to say, as a heartbeat may, leaves nothing; what the store has of it comes with the next look.
   * @param {string} turnId
   * @param {TurnView} turn
   */
  #forget(turnId, turn) {
    turn.element.remove();
    this.#turns.delete(turnId);
  }

  /**
   * A message on its way: shown at once, named when the gateway has taken it.
   * @param {string} content
   */
  sending(content) {
    const turn = new TurnView(() => this.#grew(), this.#desk);
    turn.setSending(content);
    this.#list.append(turn.element);
    this.toEnd();
    return {
      /** @param {{ turnId: string, seq: number }} accepted */
      accepted: ({ turnId, seq }) => {
        if (this.#turns.has(turnId)) turn.element.remove();
        else this.#turns.set(turnId, turn);
        const shown = this.#turnOf(turnId);
        shown.setAsked({ seq, content });
        if (shown.state === 'unknown') shown.state = 'waiting';
        this.#place(shown);
        this.#countWaiting();
        this.toEnd();
      },
      /** @param {string | null} reply */
      handled: (reply) => {
        turn.setAsked({ seq: Infinity, content });
        turn.remark(reply ?? 'Done.');
      },
      /**
       * @param {string} why
       * @param {() => void} again
       */
      failed: (why, again) => turn.setUnsent(why, again),
      again: () => turn.setSending(content),
    };
  }

  /** Tells each message that waits how many are before it. */
  #countWaiting() {
    const open = [...this.#turns.values()].filter(({ state }) => state === 'waiting' || state === 'running');
    for (const [before, turn] of open.toSorted((a, b) => a.seq - b.seq).entries()) {
      if (turn.state === 'waiting' && before > 0) turn.wait(before);
    }
  }

  /**
   * How the newest plan stands, for a turn that was not watched from its beginning.
   * @param {boolean} missed
   */
  async #learnPlan(missed) {
    const told = () => [...this.#turns.values()].reduce((sum, { planTold }) => sum + planTold, 0);
    for (let reads = 1; ; reads += 1) {
      const before = told();
      const { plan, turnId } = await this.#api.plan(this.#key);
      if (plan === null || turnId === null || this.#ended.signal.aborted) return;
      // What was told while it was read may be newer than what was read.
      if (told() !== before && reads < MAX_PLAN_READS) continue;
      // The turn of a plan that goes on is shown, however many messages wait behind it.
      const turn = this.#turns.get(turnId) ?? (isOpenPlan(plan) ? this.#turnOf(turnId) : undefined);
      if (turn === undefined) return;
      turn.setPlanState(plan, missed);
      this.#place(turn);
      return;
    }
  }

  /**
   * Questions of plans that wait in this chat now; their panels ask them.
   * @param {Approval[]} waits
   */
  setWaits(waits) {
    this.#waits = new Map(waits.map((wait) => [wait.plan?.id ?? '', wait]));
    const turns = [...this.#turns.values()];
    for (const turn of turns) turn.planMayWait();
    const known = turns.map(({ planId }) => planId);
    if (waits.some(({ plan }) => !known.includes(plan?.id))) this.#lookForPlan();
  }

  /** Nobody waits for it: a plan that cannot be read now is told by its next event, or read with the next refresh. */
  #lookForPlan() {
    void this.#learnPlan(true).catch(() => undefined);
  }

  toEnd() {
    this.#follows = true;
    this.#scroller.scrollTop = this.#scroller.scrollHeight;
  }

  /** @param {Message[]} messages */
  #take(messages) {
    for (const message of messages) {
      this.#oldest = Math.min(this.#oldest, message.seq);
      const turn = this.#turnOf(message.turnId);
      // The house's own words (a schedule's, a subagent's report) are what the answer is to.
      if (message.role !== 'assistant') turn.setAsked(message);
      else if (message.isPlan) turn.setPlan(message);
      else turn.setAnswer(message);
      this.#place(turn);
    }
    this.#earlier.hidden = this.#oldest <= 1 || this.#oldest === Infinity;
  }

  /** @param {string} turnId */
  #turnOf(turnId) {
    const known = this.#turns.get(turnId);
    if (known !== undefined) return known;
    const turn = new TurnView(() => this.#grew(), this.#desk);
    this.#turns.set(turnId, turn);
    return turn;
  }

  /**
   * Puts a turn where its number belongs; nearly always that is the end.
   * @param {TurnView} turn
   */
  #place(turn) {
    if (turn.element.isConnected && turn.placedAt === turn.seq) return;
    turn.placedAt = turn.seq;
    const later = [...this.#turns.values()].filter(
      (other) => other !== turn && other.element.isConnected && other.seq > turn.seq,
    );
    const next = later.toSorted((a, b) => a.seq - b.seq)[0];
    this.#list.insertBefore(turn.element, next?.element ?? null);
  }

  #grew() {
    if (this.#follows) this.#scroller.scrollTop = this.#scroller.scrollHeight;
  }

  #scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.#scroller;
    this.#follows = scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
    byId('to-bottom', HTMLElement).hidden = this.#follows;
    if (scrollTop < 40 && !this.#earlier.hidden) void this.loadEarlier();
  }
}
