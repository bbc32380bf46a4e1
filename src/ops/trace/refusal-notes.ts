/**
 * Messages that did not become turns, counted in memory and stored together: a flood costs one statement per second.
 */
import {
  MAX_SPAN_CHARS,
  type NoteRefusal,
  type Refusal,
  type TraceStore,
} from '../../protocol/store/traces.ts';
import { toGatewayError } from '../../protocol/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import { clipEnd } from '../../lib/text.ts';
import type { Log } from '../../protocol/log.ts';

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
export function createRefusalNotes(
  store: Pick<TraceStore, 'noteRefusals'>,
  clock: Clock,
  log: Log,
): RefusalNotes {
  let noted = new Map<string, Refusal>();
  let dropped = 0;
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
    const known = noted.get(key);
    if (known === undefined && noted.size >= MAX_NOTED) dropped += 1;
    else noted.set(key, { ...refusal, count: refusal.count + (known?.count ?? 0) });
  };
  const storeNoted = async (): Promise<void> => {
    const batch = noted;
    if (batch.size === 0) return;
    noted = new Map();
    if (dropped > 0) log.warn({ refusals: dropped }, 'refusals_not_counted');
    dropped = 0;
    try {
      await store.noteRefusals([...batch.values()]);
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
