/** Shared by the event bus tests: a recording log, an in-process fan-out, a reader's screen. */
import type { Fanout } from '../../src/protocol/bus.ts';
import type { AgentEvent } from '../../src/protocol/event.ts';
import { createLog } from '../../src/ops/log.ts';
import type { Log } from '../../src/protocol/log.ts';

/** A log whose lines the test can read. */
export function recordingLog(): { log: Log; lines: string[] } {
  const lines: string[] = [];
  const write = (line: string): void => void lines.push(line);
  return { log: createLog({ level: 'debug', redact: (text) => text, write }), lines };
}

/** A network of fan-outs in this process; it drops records for which `lose` returns true. */
export class TestNetwork {
  #listeners = new Set<(batch: string) => void>();
  #onResumed = new Set<() => void>();
  lose: (batch: string) => boolean = () => false;
  batches: string[] = [];

  /** The connections of all nodes are there again: batches arrive from now on. */
  resume(): void {
    this.lose = () => false;
    for (const onResumed of this.#onResumed) onResumed();
  }

  /** One node's end; like with Postgres, it also receives its own batches. */
  fanout(): Fanout {
    return {
      publish: (batch) => {
        this.batches.push(batch);
        if (this.lose(batch)) return;
        for (const listener of this.#listeners) listener(batch);
      },
      isUp: () => true,
      subscribe: (listener, onResumed = () => undefined) => {
        this.#listeners.add(listener);
        this.#onResumed.add(onResumed);
        return Promise.resolve(() => {
          this.#listeners.delete(listener);
          this.#onResumed.delete(onResumed);
          return Promise.resolve();
        });
      },
    };
  }
}

/** Applies events to the text a reader has on screen: deltas, resets and snapshots. */
export function textOnScreen(events: readonly AgentEvent[]): string {
  let pieces: { msgId: string; text: string }[] = [];
  for (const event of events) {
    if (event.isSubagent === true) continue;
    if (event.type === 'stream_chunk') pieces.push({ msgId: event.msgId, text: event.delta });
    else if (event.type === 'stream_reset') pieces = pieces.filter((piece) => piece.msgId !== event.msgId);
    else if (event.type === 'snapshot') pieces = [{ msgId: '', text: event.text }];
  }
  return pieces.map((piece) => piece.text).join('');
}
