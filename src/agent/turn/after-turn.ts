/** Work after a turn that does not delay it: a list of workers, run one after another once the turn has ended (N-65). */
import { LaneAbort } from '../../contracts/bus.ts';
import type { EventBus } from '../../contracts/bus.ts';
import type { EventBody, TurnEndReason } from '../../contracts/event.ts';
import { toGatewayError } from '../../contracts/errors.ts';
import type { SessionKey } from '../../contracts/message.ts';
import type { ContextSize } from '../prompt/context-window.ts';
import { contextSize } from '../state/turn-state.ts';
import type { TurnContext, TurnIdentity, TurnProgress } from '../state/turn-state.ts';

/** Sessions whose workers run at one time. A turn that ends beyond them has none; the next turn of its session looks again. */
export const MAX_AFTER_TURNS = 16;

/** The parts of a turn that its workers read. */
export type EndedTurn = TurnIdentity & TurnContext & TurnProgress;

/** Input of a worker (N-66). */
export interface WorkerContext {
  /** The turn that has ended; nothing of it may be changed. */
  turn: EndedTurn;
  reason: TurnEndReason;
  /** Size of the context that the next turn of the session would read. */
  size: ContextSize;
  /** Aborts when the gateway shuts down. */
  signal: AbortSignal;
}

/** Output of a worker: its events are emitted in the session, after the `turn_ended` of the turn. */
export interface WorkerResult {
  events: readonly EventBody[];
}

/** A worker. An error that `run` throws is logged, and the next worker runs. */
export interface AfterTurnWorker {
  readonly name: string;
  run(context: WorkerContext): Promise<WorkerResult>;
}

export interface AfterTurn {
  /** Begins the work after a turn; a session whose work of the turn before still runs has none. Never throws, never waits. */
  start(turn: EndedTurn, reason: TurnEndReason): void;
  /** The work that runs for a session, if any; never rejects. */
  running(session: SessionKey): Promise<void> | undefined;
  /** Ends all work. Never throws; twice is fine. */
  close(): Promise<void>;
}

/** Makes the registry of the workers, in their order. */
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
        const { events: seen } = await worker.run({ ...context, signal: closing.signal });
        for (const event of seen) events.emit(sessionKey, event);
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
      // A worker may end at once: what it deletes must stand in the map by then.
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
