/** One attempt at one head: runs the handler, and decides what its outcome or error means for the head. */
import { LaneAbort, type LaneHandler, type LaneOutcome } from '../protocol/bus.ts';
import { FencedError, GatewayError, StoreError, toGatewayError } from '../protocol/errors.ts';
import type { LaneHead, LaneStore } from '../protocol/store/lanes.ts';
import { backoffMs } from '../lib/async/backoff.ts';
import { pause } from '../lib/async/sleep.ts';
import type { Log } from '../protocol/log.ts';

/** Attempts that ended in an error before a message becomes a dead letter, unless its handler allows more. */
export const MAX_ATTEMPTS = 5;
/**
 * Crashes of a node during one message, as the only suspect there, before it becomes a dead letter. A machine that often
 * kills the process strikes innocent messages, too: 5 were too few in 200 kills within 10 minutes.
 */
export const MAX_LONE_CRASHES = 8;
/** Pause before a retry: doubling from the first, at most the second, in milliseconds. */
const RETRY_BASE_MS = 1_000;
export const RETRY_CAP_MS = 60_000;
/**
 * Attempts that fail because the database is down do not count until their pauses add up to this, in milliseconds: the
 * message's own statements may be what the database cannot do.
 */
export const STORE_PAUSES_MS = 600_000;
/** Longest pause after such a failure, in milliseconds: as attempts do not count, each pause grows with those before it. */
const STORE_PAUSE_CAP_MS = 10_000;
/** Pause between attempts to commit a release while the database is unreachable, in milliseconds. */
const RELEASE_BASE_MS = 100;
const RELEASE_CAP_MS = 5_000;

export interface AttemptDeps {
  handler: LaneHandler;
  lanes: LaneStore;
  log: Log;
  /** False once this node no longer holds lanes under the head's node id. */
  isMine: (head: LaneHead) => boolean;
  /** Ends waits when the bus is closed. */
  closed: AbortSignal;
}

/** What happens to the head after an attempt. */
type Verdict =
  | { do: 'go_on'; heads: LaneHead[] }
  | { do: 'nothing' }
  | { do: 'release'; delayMs: number; attempt: boolean; error?: string }
  | { do: 'dead_letter'; error: GatewayError };

/** Works on one head to the end of this attempt; returns the heads to run next. Never throws. */
export async function attemptHead(
  head: LaneHead,
  signal: AbortSignal,
  deps: AttemptDeps,
): Promise<LaneHead[]> {
  const exhausted = whyExhausted(head, deps.handler);
  if (exhausted !== undefined) return await moveToDeadLetters(head, exhausted, deps);
  let verdict: Verdict;
  try {
    verdict = judgeOutcome(head, await deps.handler.handle(head, signal), signal, deps);
  } catch (error) {
    verdict = judgeError(head, error, signal, deps);
  }
  switch (verdict.do) {
    case 'go_on':
      return verdict.heads;
    case 'nothing':
      return [];
    case 'release':
      if (verdict.error !== undefined) {
        const { lane, seq, attempts } = head;
        const { error, delayMs } = verdict;
        deps.log.info({ lane, laneSeq: seq, attempts, delayMs, error }, 'attempt_failed');
      }
      await release(head, verdict, deps);
      return [];
    case 'dead_letter':
      return await moveToDeadLetters(head, verdict.error, deps);
    default:
      return verdict satisfies never;
  }
}

/** A lane of class `poll` represents a connection, not a message: its head never becomes a dead letter. */
function hasDeadLetters(head: LaneHead): boolean {
  return !head.lane.startsWith('poll:');
}

function maxAttempts(handler: LaneHandler): number {
  return handler.maxAttempts ?? MAX_ATTEMPTS;
}

function whyExhausted(head: LaneHead, handler: LaneHandler): GatewayError | undefined {
  if (!hasDeadLetters(head)) return undefined;
  if (head.loneCrashes >= MAX_LONE_CRASHES) {
    return new GatewayError('crashed', `The gateway crashed ${head.crashes} times on this message.`);
  }
  if (head.attempts >= maxAttempts(handler)) {
    return new GatewayError('attempts_used_up', `This message failed ${head.attempts} times.`);
  }
  return undefined;
}

function abortedBy(signal: AbortSignal): LaneAbort['code'] | undefined {
  return signal.reason instanceof LaneAbort ? signal.reason.code : undefined;
}

function judgeOutcome(head: LaneHead, outcome: LaneOutcome, signal: AbortSignal, deps: AttemptDeps): Verdict {
  switch (outcome.kind) {
    case 'finished':
      return { do: 'go_on', heads: outcome.step.heads };
    case 'parked':
      return { do: 'nothing' };
    case 'released':
      return { do: 'release', delayMs: outcome.delayMs ?? 0, attempt: false };
    case 'retry':
      return judgeRetry(head, outcome.error, signal, deps, outcome.delayMs);
    case 'waiting':
      return (
        judgeAborted(signal) ?? {
          do: 'release',
          delayMs: outcome.delayMs,
          attempt: false,
          error: outcome.error.message,
        }
      );
    default:
      return outcome satisfies never;
  }
}

function judgeError(head: LaneHead, cause: unknown, signal: AbortSignal, deps: AttemptDeps): Verdict {
  const { lane, seq } = head;
  if (cause instanceof FencedError) {
    deps.log.info({ lane, laneSeq: seq }, 'lane_moved_on');
    return { do: 'nothing' };
  }
  const error = toGatewayError(cause);
  // A handler that threw after a stop has not ended its head: it gets the head again, marked as stopped.
  if (error.retryable || abortedBy(signal) !== undefined || !hasDeadLetters(head)) {
    return judgeRetry(head, error, signal, deps);
  }
  return { do: 'dead_letter', error };
}

function judgeRetry(
  head: LaneHead,
  error: GatewayError,
  signal: AbortSignal,
  deps: AttemptDeps,
  delayMs?: number,
): Verdict {
  const aborted = judgeAborted(signal);
  if (aborted !== undefined) return aborted;
  const attempt = hasDeadLetters(head);
  if (attempt && error instanceof StoreError && error.retryable && head.waitedMs < STORE_PAUSES_MS) {
    const pauseMs = backoffMs(0, Math.max(RETRY_BASE_MS, head.waitedMs), STORE_PAUSE_CAP_MS);
    return { do: 'release', delayMs: pauseMs, attempt: false, error: error.message };
  }
  if (attempt && head.attempts + 1 >= maxAttempts(deps.handler)) return { do: 'dead_letter', error };
  return {
    do: 'release',
    delayMs: delayMs ?? error.retryAfterMs ?? backoffMs(head.attempts, RETRY_BASE_MS, RETRY_CAP_MS),
    attempt,
    error: error.message,
  };
}

/** What happens to a head whose attempt failed while its lane was taken away or its node is stopping. */
function judgeAborted(signal: AbortSignal): Verdict | undefined {
  const abort = abortedBy(signal);
  if (abort === 'lease_lost') return { do: 'nothing' };
  if (abort === 'shutdown') return { do: 'release', delayMs: 0, attempt: false };
  return undefined;
}

/** Lets the handler end the head as a dead letter. If that fails, the head is released for later, so that no lane is lost. */
async function moveToDeadLetters(
  head: LaneHead,
  error: GatewayError,
  deps: AttemptDeps,
): Promise<LaneHead[]> {
  const { lane, seq, attempts, crashes } = head;
  try {
    const { heads } = await deps.handler.onDeadLetter(head, error);
    deps.log.error({ err: error, lane, laneSeq: seq, attempts, crashes }, 'dead_letter');
    return heads;
  } catch (failure) {
    if (failure instanceof FencedError) return [];
    deps.log.error({ err: toGatewayError(failure), lane, laneSeq: seq }, 'dead_letter_failed');
    const delayMs = backoffMs(attempts + 1, RETRY_BASE_MS, RETRY_CAP_MS);
    await release(head, { delayMs, attempt: true, error: error.message }, deps);
    return [];
  }
}

/** Releases the head, however long the database is down; gives up only when another node has the lane. */
async function release(
  head: LaneHead,
  { delayMs, attempt, error }: { delayMs: number; attempt: boolean; error?: string },
  deps: AttemptDeps,
): Promise<void> {
  const options = error === undefined ? { delayMs, attempt } : { delayMs, attempt, error };
  const { lane, seq } = head;
  for (let tries = 0; deps.isMine(head) && !deps.closed.aborted; tries += 1) {
    try {
      await deps.lanes.release(head, options);
      return;
    } catch (failure) {
      if (failure instanceof FencedError) return;
      deps.log.warn({ err: failure, lane, laneSeq: seq }, 'lane_release_failed');
    }
    await pause(backoffMs(tries, RELEASE_BASE_MS, RELEASE_CAP_MS), deps.closed);
  }
}
