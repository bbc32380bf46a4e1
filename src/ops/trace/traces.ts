/** What happened to a message: its turn explained, or why it did not become one, which is noted here, too. */
import {
  MAX_SPAN_CHARS,
  type NoteRefusal,
  type Refusal,
  type TraceStore,
  type TurnExplanation,
  type TurnFacts,
} from '../../protocol/store/traces.ts';
import type { TurnWatch } from '../../protocol/agent/subagents.ts';
import type { Prices } from '../../protocol/agent/usage.ts';
import type { Say } from '../../protocol/texts/say.ts';
import { explainTurn } from './explain.ts';
import { costOfTurn, type TimelineOptions, timelineOf } from './timeline.ts';
import { toGatewayError } from '../../protocol/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import { clipEnd } from '../../lib/text.ts';
import type { Log } from '../../protocol/log.ts';

/** Refusals that one view shows. */
const REFUSALS_SHOWN = 10;

/** A view of a session, a chat or a turn. */
export interface TraceView {
  turn: TurnExplanation | undefined;
  /** Refusals in the chat since the turn began, newest first; none for a named turn. */
  refusals: Refusal[];
}

/** Running turns of this node, and stored turns of all nodes. Its readers throw only `StoreError`. */
export interface Traces extends TurnWatch {
  noteAttempt: TraceStore['noteAttempt'];
  /** `detail` adds the text of errors, which may name addresses; the sentence is in English, or worded by `say`. */
  explain(turnId: string, detail: boolean, say?: Say): Promise<TurnExplanation | undefined>;
  /** The turn of that id, else the newest one of that session or chat; without an id the newest of all. */
  view(id: string | undefined, detail: boolean, say?: Say): Promise<TraceView>;
}

/** Called with attempts that ended, and with decisions; never throws. */
export type TraceListener = Partial<TurnWatch>;

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
    begin(turnId, snapshot) {
      running.set(turnId, snapshot);
      return () => {
        if (running.get(turnId) === snapshot) running.delete(turnId);
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
    noteAttempt: (turnId, attempt) => store.noteAttempt(turnId, attempt),
    explain,
    async view(id, detail, say) {
      const byId = id === undefined ? undefined : await explain(id, detail, say);
      if (byId !== undefined) return { turn: byId, refusals: [] };
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

function explanationOf(facts: TurnFacts, options: TimelineOptions & { prices: Prices }): TurnExplanation {
  const { detail, say, prices } = options;
  const { turnId, session, state, reason, acceptedAt } = facts;
  const timeline = timelineOf(facts, options);
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

/** Distinct refusals counted between two statements; further ones are only logged. */
export const MAX_NOTED = 500;

/** Longest time that a refusal exists only in memory, in milliseconds. */
export const FLUSH_MS = 1_000;

export interface RefusalNotes {
  note: NoteRefusal;
  /** Stores the noted refusals. Never throws: those that cannot be stored are noted again. */
  flush(): Promise<void>;
  /** Stores the noted refusals one last time. Never throws. */
  close(): Promise<void>;
}

/** Makes the notes; nothing runs before the first refusal. */
export function createRefusalNotes(store: TraceStore['noteRefusals'], clock: Clock, log: Log): RefusalNotes {
  let pending = new Map<string, Refusal>();
  let omitted = 0;
  let cancel: (() => void) | undefined;
  let storing: Promise<void> = Promise.resolve();

  const plan = (): void => {
    cancel ??= clock.after(FLUSH_MS, () => {
      cancel = undefined;
      void flush();
    });
  };
  const add = (refusal: Refusal): void => {
    const key = JSON.stringify([refusal.address, refusal.senderId, refusal.code]);
    const previous = pending.get(key);
    if (previous === undefined && pending.size >= MAX_NOTED) omitted += 1;
    else pending.set(key, { ...refusal, count: refusal.count + (previous?.count ?? 0) });
  };
  const storeNoted = async (): Promise<void> => {
    const batch = pending;
    if (batch.size === 0) return;
    pending = new Map();
    if (omitted > 0) log.warn({ refusals: omitted }, 'refusals_not_counted');
    omitted = 0;
    try {
      await store([...batch.values()]);
    } catch (error) {
      log.warn({ err: toGatewayError(error) }, 'refusals_not_stored');
      for (const refusal of batch.values()) add(refusal);
    }
  };
  const flush = (): Promise<void> => (storing = storing.then(storeNoted));
  return {
    note(refusal) {
      const detail = clipEnd(refusal.detail, MAX_SPAN_CHARS);
      add({ ...refusal, detail, count: 1, lastAt: new Date(clock.epochMs()) });
      plan();
    },
    flush,
    async close() {
      cancel?.();
      await flush();
    },
  };
}
