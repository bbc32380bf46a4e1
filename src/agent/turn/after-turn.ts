/** Background work after a turn: a list of workers, run one after another once the turn has ended (N-65). */
import { LaneAbort } from '../../contracts/bus.ts';
import type { EventBus } from '../../contracts/bus.ts';
import type { EventBody, TurnEndReason } from '../../contracts/event.ts';
import { toGatewayError } from '../../contracts/errors.ts';
import type { SessionKey } from '../../contracts/message.ts';
import type { ContextSize } from '../prompt/context-window.ts';
import { contextSize } from '../state/turn-state.ts';
import type { TurnContext, TurnIdentity, TurnProgress } from '../state/turn-state.ts';

/** Sessions whose workers run at the same time. A turn that ends beyond them starts none; the next turn of its session tries again. */
export const MAX_AFTER_TURNS = 16;

/** The parts of a turn that its workers read. */
export type EndedTurn = TurnIdentity & TurnContext & TurnProgress;

/** Input of a worker (N-66). */
export interface WorkerContext {
  /** The turn that has ended; workers must not change it. */
  turn: EndedTurn;
  reason: TurnEndReason;
  /** Size of the context that the next turn of the session would read. */
  size: ContextSize;
  /** Aborts when the gateway shuts down. */
  signal: AbortSignal;
}

/** Output of a worker. Its events are emitted after the `turn_ended` of the turn. */
export interface WorkerResult {
  events: readonly EventBody[];
}

/** A worker. When `run` throws, the error is logged and the next worker runs. */
export interface AfterTurnWorker {
  readonly name: string;
  run(context: WorkerContext): Promise<WorkerResult>;
}

export interface AfterTurn {
  /** Starts the workers after a turn, unless those of the session's previous turn still run. Never throws, never waits. */
  start(turn: EndedTurn, reason: TurnEndReason): void;
  /** Resolves when the workers that run for a session have ended; undefined when none run. Never rejects. */
  running(session: SessionKey): Promise<void> | undefined;
  /** Aborts all workers and waits for them. Never throws; a second call does nothing. */
  close(): Promise<void>;
}

/** Creates the runner of the workers, which run in the given order. */
export function createAfterTurn(
  workers: readonly AfterTurnWorker[],
  events: Pick<EventBus, 'emit'>,
): AfterTurn {
  const running = new Map<SessionKey, Promise<void>>();
  const closing = new AbortController();

  const runAll = async (context: Omit<WorkerContext, 'signal'>): Promise<void> => {
    const { sessionKey, log } = context.turn;
    for (const worker of workers) {
      if (closing.signal.aborted) break;
      try {
        const { events: results } = await worker.run({ ...context, signal: closing.signal });
        for (const event of results) events.emit(sessionKey, event);
      } catch (error) {
        if (!closing.signal.aborted) {
          log.error({ err: toGatewayError(error), worker: worker.name }, 'after_turn_worker_failed');
        }
      }
    }
    running.delete(sessionKey);
  };

  return {
    start(turn, reason) {
      const { sessionKey } = turn;
      if (closing.signal.aborted || running.has(sessionKey) || running.size >= MAX_AFTER_TURNS) return;
      // A microtask later: a worker may end at once, and `runAll` then deletes an entry that must exist by then.
      const work = Promise.resolve().then(() => runAll({ turn, reason, size: contextSize(turn) }));
      running.set(sessionKey, work);
    },
    running: (session) => running.get(session),
    async close() {
      closing.abort(new LaneAbort('shutdown'));
      await Promise.all(running.values());
    },
  };
}
