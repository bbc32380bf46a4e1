/** When contexts are compressed: before a turn that is too heavy, and by a worker after a turn, which delays nobody (N-65). */
import { LaneAbort } from '../../contracts/bus.ts';
import { GatewayError, toGatewayError } from '../../contracts/errors.ts';
import { Recent } from '../../lib/recent.ts';
import type { SessionKey } from '../../contracts/message.ts';
import { toGroups } from '../prompt/history.ts';
import { systemPart } from '../prompt/system-prompt.ts';
import { HISTORY_ROWS } from '../deps.ts';
import type { AgentShared } from '../deps.ts';
import { modelBudget } from '../model/model-budget.ts';
import type { Turn, TurnContext, TurnIdentity, TurnProgress } from '../state/turn-state.ts';
import { shouldCompressAfterTurn, exceedsThreshold } from './choose.ts';
import type { ContextSize } from './choose.ts';
import { compressOnce } from './compress.ts';
import type { CompressionOrder } from './compress.ts';
import type { Compressor } from './worker.ts';

/** How long a session whose compression failed, or gained too little, is left alone, in milliseconds. */
export const COOLDOWN_MS = 10 * 60_000;
/** Sessions that are known to rest; the one that has rested longest goes first. */
const MAX_RESTING = 10_000;
/** Workers at one time. A turn that ends beyond them has none; the next turn of its session looks again. */
export const MAX_WORKERS = 16;

/** Estimated tokens of what the next turn reads. */
interface Gain {
  before: number;
  after: number;
}

/** `now` is a clock in milliseconds. */
export function createCompressor(
  shared: Omit<AgentShared, 'compressor'>,
  now: () => number = () => performance.now(),
): Compressor {
  const resting = new Recent<true>(COOLDOWN_MS, MAX_RESTING, now);
  const workers = new Map<SessionKey, Promise<void>>();
  const closing = new AbortController();

  /** Undefined when nothing came of it: then the session rests. Rejects only with the signal's reason. */
  const compress = async (order: CompressionOrder): Promise<Gain | undefined> => {
    const log = shared.deps.log.child({ sessionKey: order.session });
    try {
      const done = await compressOnce(shared, order);
      if (!('refused' in done)) {
        log.info(done, 'context_compressed');
        return done;
      }
      log.info({ reason: done.refused }, 'context_not_compressed');
    } catch (error) {
      order.signal.throwIfAborted();
      log.warn({ err: toGatewayError(error) }, 'compression_failed');
    }
    resting.set(order.session, true);
    return undefined;
  };

  const work = async (turn: Turn): Promise<void> => {
    const { sessionKey } = turn;
    try {
      const budget = await budgetFor(shared, turn, closing.signal);
      if (budget === undefined || !shouldCompressAfterTurn(turn.profile, sizeOf(turn), budget)) return;
      const gain = await compress(orderOf(turn, closing.signal));
      if (gain !== undefined) shared.deps.events.emit(sessionKey, { type: 'context_compressed', ...gain });
    } catch (error) {
      if (!closing.signal.aborted) turn.log.error({ err: error }, 'compression_worker_broke');
    } finally {
      workers.delete(sessionKey);
    }
  };

  return {
    async before(turn, emit) {
      // A subagent has no history of its own; what a journal holds was said with the context as it is.
      if (turn.history.length === 0 || turn.rows.answers().length > 0) return;
      const budget = await budgetFor(shared, turn, turn.signal);
      if (budget === undefined || !exceedsThreshold(turn.profile, sizeOf(turn), budget)) return;
      const worker = workers.get(turn.sessionKey);
      if (worker !== undefined) await untilAborted(worker, turn.signal);
      else {
        if (resting.get(turn.sessionKey) === true) return;
        const gain = await compress(orderOf(turn, turn.signal));
        if (gain === undefined) return;
        emit({ type: 'context_compressed', ...gain });
      }
      await rereadHistory(shared, turn);
      // It gained, and still not enough: another try would gain less.
      if (exceedsThreshold(turn.profile, sizeOf(turn), budget)) resting.set(turn.sessionKey, true);
    },
    after(turn, reason) {
      const { sessionKey } = turn;
      if (reason !== 'completed' && reason !== 'max_iterations') return;
      if (closing.signal.aborted || workers.has(sessionKey) || workers.size >= MAX_WORKERS) return;
      if (resting.get(sessionKey) !== true) workers.set(sessionKey, work(turn));
    },
    async close() {
      closing.abort(new LaneAbort('shutdown'));
      await Promise.all(workers.values());
    },
  };
}

/** What the conversation may fill, in estimated tokens; undefined when the model's server does not say. */
async function budgetFor(
  shared: Omit<AgentShared, 'compressor'>,
  turn: TurnIdentity & TurnContext,
  signal: AbortSignal,
): Promise<number | undefined> {
  try {
    const { budget, can } = await modelBudget(shared, { model: turn.model, profile: turn.profile, signal });
    const { prepared, promptContext } = turn;
    return budget - systemPart(prepared, promptContext).tokens - (can.tools ? prepared.toolTokens : 0);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof GatewayError)) throw error;
    // The turn's own call finds the same, and tells the user.
    turn.log.debug({ err: error }, 'compression_not_considered');
    return undefined;
  }
}

/** What the next turn would read, with this one's own rows. */
function sizeOf({ history, past, rows }: TurnContext & TurnProgress): ContextSize {
  const own = [rows.user, ...rows.steps].filter(({ entry }) => entry.kind !== 'tool_intent');
  const sum = (all: readonly { tokens: number }[]): number =>
    all.reduce((total, { tokens }) => total + tokens, 0);
  return { tokens: sum(history) + sum(own), rows: past.length + own.length };
}

function orderOf(turn: TurnIdentity & TurnContext, signal: AbortSignal): CompressionOrder {
  const { sessionKey: session, userId, profile, model } = turn;
  return { session, userId, profile, model, signal };
}

async function rereadHistory(
  shared: Omit<AgentShared, 'compressor'>,
  turn: TurnIdentity & TurnContext,
): Promise<void> {
  const rows = await shared.deps.contexts.unsummarized(turn.sessionKey, HISTORY_ROWS);
  turn.past = rows;
  turn.history = toGroups(rows, { thinking: false });
}

/** Waits for what cannot be called off, until the signal aborts. */
async function untilAborted(running: Promise<void>, signal: AbortSignal): Promise<void> {
  const gone = Promise.withResolvers<never>();
  const leave = (): void => gone.reject(signal.reason);
  signal.throwIfAborted();
  signal.addEventListener('abort', leave, { once: true });
  try {
    await Promise.race([running, gone.promise]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
