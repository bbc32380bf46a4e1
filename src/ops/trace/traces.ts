/** What happened to a message: its turn explained, or why it did not become one. */
import type { Refusal, TraceStore, TurnExplanation, TurnFacts } from '../../protocol/store/traces.ts';
import type { TurnWatch } from '../../protocol/agent/subagents.ts';
import type { Prices } from '../../protocol/agent/usage.ts';
import type { Say } from '../../protocol/texts/say.ts';
import { explainTurn } from './explain.ts';
import { costOfTurn, type Telling, timelineOf } from './timeline.ts';

/** Refusals that one view shows. */
const REFUSALS_SHOWN = 10;

/** A view of a session, a chat or a turn. */
export interface TraceLook {
  turn: TurnExplanation | undefined;
  /** Refusals in the chat since the turn began, newest first; none for a named turn. */
  refusals: Refusal[];
}

/** Running turns of this node, and stored turns of all nodes. Its readers throw only `StoreError`. */
export interface Traces extends TurnWatch {
  /** `detail` adds the text of errors, which may name addresses; the sentence is in English, or worded by `say`. */
  explain(turnId: string, detail: boolean, say?: Say): Promise<TurnExplanation | undefined>;
  /** The turn of that id, else the newest one of that session or chat; without an id the newest of all. */
  look(id: string | undefined, detail: boolean, say?: Say): Promise<TraceLook>;
}

/** Called with attempts and decisions; never throws. */
export type TraceListener = Partial<Pick<TurnWatch, 'ended' | 'subagentEnded' | 'decided'>>;

/** Makes the traces; `listeners` hear of each attempt that ended, and of each decision. */
export function createTraces(
  store: TraceStore,
  prices: () => Prices,
  listeners: readonly TraceListener[] = [],
): Traces {
  const running = new Map<string, Parameters<TurnWatch['begin']>[1]>();
  const explain: Traces['explain'] = async (turnId, detail, say) => {
    const facts = await store.turnFacts(turnId);
    if (facts === undefined) return undefined;
    const open = facts.state === 'running' ? running.get(turnId)?.() : undefined;
    return explanationOf(open === undefined ? facts : { ...facts, attempts: [...facts.attempts, open] }, {
      detail,
      say,
      prices: prices(),
    });
  };
  return {
    begin(turnId, look) {
      running.set(turnId, look);
      return () => {
        if (running.get(turnId) === look) running.delete(turnId);
      };
    },
    ended(traced) {
      for (const listener of listeners) listener.ended?.(traced);
    },
    subagentEnded(traced) {
      for (const listener of listeners) listener.subagentEnded?.(traced);
    },
    decided(outcome) {
      for (const listener of listeners) listener.decided?.(outcome);
    },
    explain,
    async look(id, detail, say) {
      const named = id === undefined ? undefined : await explain(id, detail, say);
      if (named !== undefined) return { turn: named, refusals: [] };
      const [newest, refusals] = await Promise.all([
        store.newestTurn(id),
        store.refusals(id, REFUSALS_SHOWN),
      ]);
      const turn = newest === undefined ? undefined : await explain(newest.turnId, detail, say);
      const since = newest?.acceptedAt.getTime() ?? 0;
      return { turn, refusals: refusals.filter(({ lastAt }) => lastAt.getTime() >= since) };
    },
  };
}

function explanationOf(facts: TurnFacts, telling: Telling & { prices: Prices }): TurnExplanation {
  const { detail, say, prices } = telling;
  const { turnId, session, state, reason, acceptedAt } = facts;
  const timeline = timelineOf(facts, telling);
  const cost = costOfTurn(facts, prices);
  return {
    turnId,
    session,
    state,
    reason,
    acceptedAt,
    ...explainTurn(facts, detail, say),
    cost,
    timeline,
    prompt: facts.attempts.findLast((attempt) => attempt.prompt !== undefined)?.prompt,
  };
}
