/** The pace of a run, and its end: everything that was sent is done, or nothing moves any more. */
import { setTimeout as pause } from 'node:timers/promises';
import { countTurns, finishedCount, pendingCount, suspectCount } from './rows.ts';
import type { Scenario } from './scenario.ts';

/** When nothing was finished for this long, what still waits is lost. The longest step of a user takes 90 seconds. */
const STUCK_MS = 120_000;
/** Users write no more while this many messages and deliveries of each session wait: far below the bound of a queue. */
const MOST_WAITING = 8;
/** Pause between two looks, in milliseconds. */
const AGAIN_MS = 50;

export interface Sent {
  /** Messages that the gateway accepted. */
  accepted: () => number;
  /** No message is on its way. */
  quiet: () => boolean;
}

/**
 * Waits until everything sent is done, or nothing was finished for a while. The number of those that wait may
 * grow: each turn in a conversation of many chats leaves a delivery for each.
 */
export async function drained(scenario: Scenario, { accepted, quiet }: Sent): Promise<void> {
  let finished = -1;
  let end = 0;
  for (;;) {
    // Turns first: a message that becomes a turn between the two reads is still pending in the second.
    const turns = await scenario.read(countTurns);
    const pending = (await scenario.read(pendingCount)) + Math.max(0, accepted() - turns);
    if (quiet() && pending === 0) return;
    const now = await scenario.read(finishedCount);
    if (now !== finished) {
      finished = now;
      end = performance.now() + STUCK_MS;
    }
    if (performance.now() > end) return;
    await pause(AGAIN_MS);
  }
}

/**
 * Waits, at most as long as something that stands still counts as lost, until few messages wait, and with `calm` until no
 * message is suspected of having ended its process: one that dies alone again and again is given up, and rightly so.
 */
export async function keptUp({ places, read }: Scenario, calm: boolean): Promise<void> {
  const end = performance.now() + STUCK_MS;
  const waits = async (): Promise<boolean> =>
    (await read(pendingCount)) > places.length * MOST_WAITING || (calm && (await read(suspectCount)) > 0);
  while ((await waits()) && performance.now() < end) await pause(AGAIN_MS);
}
