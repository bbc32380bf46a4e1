/** When a process is killed: at any time, with the model busy in many turns, or right before a transaction. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Stage } from './failure.ts';
import type { Window } from './judge/windows.ts';

export type Moment = 'any' | 'busy' | Window;

/** How many concurrent streams count as "busy", and how long to wait for that, in milliseconds. */
const BUSY_STREAMS = 10;
const BUSY_WAIT_MS = 12_000;
/** Latest time of a kill "at any time" after the round started, or after the model became busy, in milliseconds. */
const LATEST_MS = 2_200;

/** Waits for the moment; if it does not come, the end of the wait takes its place. */
export async function arrive(moment: Moment, { scenario, people, random }: Stage): Promise<void> {
  const { telegram, answered, effects, ollama } = scenario;
  const before = {
    finals: answered.finals,
    rounds: answered.rounds,
    effects: effects.counts().size,
    sends: telegram.count('sendMessage'),
    edits: telegram.count('editMessageText'),
  };
  const busy = (): boolean => ollama.active >= Math.min(BUSY_STREAMS, Math.ceil(scenario.places.length / 2));
  switch (moment) {
    case 'any':
      await pause(random() * LATEST_MS);
      return;
    case 'busy':
      await until(busy, BUSY_WAIT_MS);
      await pause(random() * LATEST_MS);
      // In the meantime the queues may have run dry, or the next answers started.
      await until(busy, BUSY_WAIT_MS);
      return;
    case 'T1':
      await until(() => people.unacknowledged > 0, BUSY_WAIT_MS);
      return;
    case 'T2':
    case 'T3':
      await until(() => answered.rounds > before.rounds, BUSY_WAIT_MS);
      await pause(moment === 'T2' ? 0 : random() * 15);
      return;
    case 'T4':
      await until(() => effects.counts().size > before.effects, BUSY_WAIT_MS);
      return;
    case 'T5':
      await until(() => telegram.count('sendMessage') > before.sends, BUSY_WAIT_MS);
      return;
    case 'T6':
      await until(() => answered.finals > before.finals, BUSY_WAIT_MS);
      return;
    case 'T7':
      await until(() => telegram.count('editMessageText') > before.edits, BUSY_WAIT_MS);
      return;
    default:
      return moment satisfies never;
  }
}

/** Checks every millisecond until a condition holds, or for that many milliseconds; true when it held. */
export async function until(holds: () => boolean, limitMs: number): Promise<boolean> {
  const end = performance.now() + limitMs;
  while (!holds()) {
    if (performance.now() >= end) return false;
    await pause(1);
  }
  return true;
}
