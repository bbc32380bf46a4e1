/** Runs the workers after a turn: one list, one after another, once the turn has ended (N-65). */
import type { AfterTurnSettings } from '../../protocol/agent/subagents.ts';
import { type EventBus, LaneAbort } from '../../protocol/bus.ts';
import type { TurnEndReason } from '../../protocol/event.ts';
import { toGatewayError } from '../../protocol/errors.ts';
import type { SessionKey } from '../../protocol/message.ts';
import { mergeGroups, toGroups } from '../prompt/history.ts';
import { typedText } from '../prompt/marks.ts';
import { contextSize, type TurnContext, type TurnIdentity, type TurnProgress } from '../state/turn-state.ts';
import type { AfterTurnWorker, EndedTurn } from './ended-turn.ts';

/** Sessions whose workers run at the same time. A turn that ends beyond them starts none; the next turn of its session tries again. */
export const MAX_AFTER_TURNS = 16;

/** Made once: the stack of an error costs more than the start of a turn should. */
const NEXT_TURN = new LaneAbort('interrupted');

export interface AfterTurn {
  /** Starts the workers after a turn, unless those of the session's previous turn still run. Never throws, never waits. */
  start(turn: EndedTurn): void;
  /** The session's next turn begins: ends the worker that gives way to it. Never throws. */
  turnBegins(session: SessionKey): void;
  /** Resolves when the workers that run for a session have ended; undefined when none run. Never rejects. */
  running(session: SessionKey): Promise<void> | undefined;
  /** Aborts all workers and waits for them. Never throws; a second call does nothing. */
  close(): Promise<void>;
}

/** Sessions at work: how to wait for one, and how to end what gives way. */
interface Work {
  done: Promise<void>;
  nextTurn: AbortController;
}

/** Creates the runner of the workers, which run in the given order; `settings` says which of them are switched on now. */
export function createAfterTurn(
  workers: readonly AfterTurnWorker[],
  events: Pick<EventBus, 'emit'>,
  settings: () => AfterTurnSettings,
): AfterTurn {
  const running = new Map<SessionKey, Work>();
  const closing = new AbortController();

  const runAll = async (turn: EndedTurn, nextTurn: AbortSignal): Promise<void> => {
    const { sessionKey, log } = turn;
    const switchedOn = settings();
    for (const worker of workers.filter(({ name }) => switchedOn[name])) {
      const signal = worker.givesWay ? AbortSignal.any([closing.signal, nextTurn]) : closing.signal;
      if (signal.aborted) continue;
      try {
        for (const event of await worker.run(turn, signal)) events.emit(sessionKey, event);
      } catch (error) {
        if (!signal.aborted) {
          log.error({ err: toGatewayError(error), worker: worker.name }, 'after_turn_worker_failed');
        }
      }
    }
    running.delete(sessionKey);
  };

  return {
    start(turn) {
      const { sessionKey } = turn;
      if (closing.signal.aborted || running.has(sessionKey) || running.size >= MAX_AFTER_TURNS) return;
      const nextTurn = new AbortController();
      // A microtask later: a worker may end at once, and `runAll` then deletes an entry that must exist by then.
      const done = Promise.resolve().then(() => runAll(turn, nextTurn.signal));
      running.set(sessionKey, { done, nextTurn });
    },
    turnBegins: (session) => running.get(session)?.nextTurn.abort(NEXT_TURN),
    running: (session) => running.get(session)?.done,
    async close() {
      closing.abort(new LaneAbort('shutdown'));
      await Promise.all([...running.values()].map(({ done }) => done));
    },
  };
}

/** What workers learn about a turn. `title` is that of its session when it began. */
export function endedTurn(
  turn: TurnIdentity & TurnContext & Pick<TurnProgress, 'rows'>,
  { reason, text, title }: { reason: TurnEndReason; text: string; title: string | undefined },
): EndedTurn {
  const { turnId, sessionKey, userId, memoryOwner, place, profile, model, rows, log } = turn;
  const { prepared, promptContext, history } = turn;
  const { entry } = rows.user;
  return {
    turnId,
    sessionKey,
    reason,
    userId,
    memoryOwner,
    place,
    profile,
    model,
    log,
    title,
    said: entry.kind === 'user' ? typedText(entry) : '',
    answer: text,
    sources: rows.taint.sources,
    size: contextSize(turn),
    prepared,
    promptContext,
    conversation: () => ({
      history,
      current: mergeGroups(
        toGroups(rows.plan === undefined ? [rows.user] : [rows.user, rows.plan], { thinking: false }),
      ),
      steps: toGroups(rows.steps, { thinking: false }),
    }),
  };
}
