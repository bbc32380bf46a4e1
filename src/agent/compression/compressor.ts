/** Compression of contexts: before a turn whose context is too large, and by a worker after a turn (N-66, N-67). */
import { GatewayError, toGatewayError } from '../../contracts/errors.ts';
import { Recent } from '../../lib/recent.ts';
import { toGroups } from '../prompt/history.ts';
import { systemPart } from '../prompt/system-prompt.ts';
import { HISTORY_ROWS } from '../deps.ts';
import type { AgentShared, Emit } from '../deps.ts';
import { modelBudget } from '../model/model-budget.ts';
import type { AfterTurnWorker, WorkerContext, WorkerResult } from '../turn/after-turn.ts';
import { contextSize } from '../state/turn-state.ts';
import type { Turn, TurnContext, TurnIdentity } from '../state/turn-state.ts';
import { shouldCompressAfterTurn, exceedsThreshold } from './choose.ts';
import { compressOnce } from './compress.ts';
import type { CompressionRequest } from './compress.ts';

/** Time without another try for a session whose compression failed, or gained too little, in milliseconds. */
const COOLDOWN_MS = 10 * 60_000;
/** Sessions that are left alone at one time; the one that was left alone first is tried again first. */
const MAX_COOLING_DOWN = 10_000;

export interface Compressor {
  /**
   * Shortens the context of a turn that has not begun, if it is too large (N-67); waits for `running`, the work after
   * the turn before, instead. Throws `StoreError`, or the signal's reason.
   */
  before(turn: Turn, running: Promise<void> | undefined, emit: Emit): Promise<void>;
  /** Shortens the context of a turn that has ended, if the next one would find it too large (N-66). */
  readonly worker: AfterTurnWorker;
}

/** Estimated tokens of what the next turn reads. */
interface Compression {
  before: number;
  after: number;
}

/** `monotonicNow` is a clock in milliseconds. */
export function createCompressor(
  shared: AgentShared,
  monotonicNow: () => number = () => performance.now(),
): Compressor {
  const coolingDown = new Recent<true>(COOLDOWN_MS, MAX_COOLING_DOWN, monotonicNow);

  /** Undefined when nothing came of it: then the session is left alone for a while. Rejects only with the signal's reason. */
  const compress = async (order: CompressionRequest): Promise<Compression | undefined> => {
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
    coolingDown.set(order.session, true);
    return undefined;
  };

  const afterTurn = async ({ turn, reason, size, signal }: WorkerContext): Promise<WorkerResult> => {
    const ended = reason === 'completed' || reason === 'max_iterations';
    if (!ended || coolingDown.get(turn.sessionKey) === true) return NOTHING;
    const budget = await budgetFor(shared, turn, signal);
    if (budget === undefined || !shouldCompressAfterTurn(turn.profile, size, budget)) return NOTHING;
    const done = await compress(orderOf(turn, signal));
    return done === undefined ? NOTHING : { events: [{ type: 'context_compressed', ...done }] };
  };

  return {
    async before(turn, running, emit) {
      // A subagent has no history of its own; what a journal holds was said with the context as it is.
      if (turn.history.length === 0 || turn.rows.answers().length > 0) return;
      const budget = await budgetFor(shared, turn, turn.signal);
      if (budget === undefined || !exceedsThreshold(turn.profile, contextSize(turn), budget)) return;
      if (running !== undefined) await untilAborted(running, turn.signal);
      else {
        if (coolingDown.get(turn.sessionKey) === true) return;
        const done = await compress(orderOf(turn, turn.signal));
        if (done === undefined) return;
        emit({ type: 'context_compressed', ...done });
      }
      await rereadHistory(shared, turn);
      // It gained, and still not enough: another try would gain less.
      if (exceedsThreshold(turn.profile, contextSize(turn), budget)) coolingDown.set(turn.sessionKey, true);
    },
    worker: { name: 'compression', run: afterTurn },
  };
}

const NOTHING: WorkerResult = { events: [] };

/** Budget of the conversation in estimated tokens; undefined when the model's server does not say. */
async function budgetFor(
  shared: AgentShared,
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

function orderOf(turn: TurnIdentity & TurnContext, signal: AbortSignal): CompressionRequest {
  const { sessionKey: session, userId, profile, model } = turn;
  return { session, userId, profile, model, signal };
}

async function rereadHistory(shared: AgentShared, turn: TurnIdentity & TurnContext): Promise<void> {
  const rows = await shared.deps.contexts.unsummarized(turn.sessionKey, HISTORY_ROWS);
  turn.past = rows;
  turn.history = toGroups(rows, { thinking: false });
}

/** Waits for a promise that cannot be cancelled, until the signal aborts. */
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
