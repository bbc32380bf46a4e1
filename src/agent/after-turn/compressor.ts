/** Compresses contexts: before a turn whose context is too large, and in a worker after a turn (N-66, N-67). */
import { type EventBody, isAnswered } from '../../protocol/event.ts';
import { GatewayError, toGatewayError } from '../../protocol/errors.ts';
import type { SessionKey } from '../../protocol/message.ts';
import { TtlCache } from '../../lib/ttl-cache.ts';
import { toGroups } from '../prompt/history.ts';
import { HISTORY_ROWS } from '../../protocol/store/accept.ts';
import type { AgentShared, Emit } from '../deps.ts';
import type { AfterTurnWorker, EndedTurn } from './after-turn.ts';
import { contextSize, type Turn } from '../turn/turn-state.ts';
import {
  type Compacted,
  type CompressedTurn,
  compressOnce,
  conversationRoom,
  exceedsThreshold,
  shouldCompressAfterTurn,
} from './compress.ts';

/** Pause before the next attempt for a session whose summary could not be made or used, in milliseconds. */
const COOLDOWN_MS = 10 * 60_000;
/** Sessions that are paused at the same time; the oldest pause is dropped first. */
const MAX_COOLING_DOWN = 10_000;
/**
 * How long what was summarized waits for the worker that looks for facts in it, in milliseconds, and for how many
 * sessions.
 */
const COMPACTED_MS = 10 * 60_000;
const MAX_COMPACTED = 32;

export interface Compressor {
  /**
   * Compresses the context of a turn that has not begun, if it is too large (N-67). When the workers of the previous turn
   * are still `running`, it waits for them instead. Throws `StoreError`, or the signal's reason.
   */
  before(turn: Turn, running: Promise<void> | undefined, emit: Emit): Promise<void>;
  /** Compresses the context of a turn that has ended, if it is too large for the next one (N-66). */
  readonly worker: AfterTurnWorker;
  /** What was summarized of the session since this was last called; undefined when nothing was. */
  takeCompacted(session: SessionKey): Compacted | undefined;
}

/** `monotonicNow` is a clock in milliseconds. */
export function createCompressor(
  shared: AgentShared,
  monotonicNow: () => number = () => performance.now(),
): Compressor {
  const coolingDown = new TtlCache<true>(COOLDOWN_MS, MAX_COOLING_DOWN, monotonicNow);
  const compacted = new TtlCache<Compacted>(COMPACTED_MS, MAX_COMPACTED, monotonicNow);

  /** The event of a compression, if there was one. After a failure the session pauses. Rejects only with the signal's reason. */
  const compress = async (turn: CompressedTurn, signal: AbortSignal): Promise<readonly EventBody[]> => {
    if (coolingDown.get(turn.sessionKey) === true) return [];
    const log = shared.log.child({ sessionKey: turn.sessionKey });
    try {
      const outcome = await compressOnce(shared, turn, signal);
      if (!('refused' in outcome)) {
        const { compacted: record, before, after } = outcome;
        log.info({ before, after }, 'context_compressed');
        compacted.set(turn.sessionKey, record);
        return [{ type: 'context_compressed', before, after }];
      }
      log.debug({ reason: outcome.refused }, 'context_not_compressed');
      if (!outcome.asked) return [];
    } catch (error) {
      signal.throwIfAborted();
      log.warn({ err: toGatewayError(error) }, 'compression_failed');
    }
    coolingDown.set(turn.sessionKey, true);
    return [];
  };

  const afterTurn = async (turn: EndedTurn, signal: AbortSignal): Promise<readonly EventBody[]> => {
    if (!isAnswered(turn.reason) && turn.reason !== 'max_iterations') return [];
    const budget = await budgetFor(shared, turn, signal);
    if (budget === undefined || !shouldCompressAfterTurn(turn.profile, turn.size, budget)) return [];
    return await compress(turn, signal);
  };

  return {
    async before(turn, running, emit) {
      // A subagent has no history; a turn with answers in its journal continues with the context as it is.
      if (turn.history.length === 0 || turn.rows.answers().length > 0) return;
      const budget = await budgetFor(shared, turn, turn.signal);
      if (budget === undefined || !exceedsThreshold(turn.profile, contextSize(turn), budget)) return;
      if (running !== undefined) await untilAborted(running, turn.signal);
      else {
        const events = await compress(turn, turn.signal);
        if (events.length === 0) return;
        events.forEach(emit);
      }
      await rereadHistory(shared, turn);
    },
    worker: { name: 'compression', givesWay: false, run: afterTurn },
    takeCompacted(session) {
      const record = compacted.get(session);
      compacted.delete(session);
      return record;
    },
  };
}

/** Budget of the conversation in estimated tokens; undefined when the model server does not report it. */
async function budgetFor(
  shared: AgentShared,
  turn: CompressedTurn,
  signal: AbortSignal,
): Promise<number | undefined> {
  try {
    return (await conversationRoom(shared, turn, signal)).room;
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof GatewayError)) throw error;
    // The turn's own call fails in the same way and reports it to the user.
    turn.log.debug({ err: error }, 'compression_not_considered');
    return undefined;
  }
}

async function rereadHistory({ stores: { contexts } }: AgentShared, turn: Turn): Promise<void> {
  const rows = await contexts.unsummarized(turn.sessionKey, HISTORY_ROWS);
  turn.past = rows;
  turn.history = toGroups(rows, { thinking: false });
}

/** Waits for a promise that cannot be cancelled, until the signal aborts. */
async function untilAborted(running: Promise<void>, signal: AbortSignal): Promise<void> {
  const abort = Promise.withResolvers<never>();
  const leave = (): void => abort.reject(signal.reason);
  signal.throwIfAborted();
  signal.addEventListener('abort', leave, { once: true });
  try {
    await Promise.race([running, abort.promise]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
