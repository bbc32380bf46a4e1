/** Shared by the event bus tests: a recording log, an in-process fan-out, nodes on it, a reader's screen. */
import { afterEach, beforeEach, vi } from 'vitest';
import { createEventBus } from '../../src/bus/event-bus.ts';
import { BATCH_EVERY_MS } from '../../src/bus/node-link.ts';
import type { StoredTurns } from '../../src/bus/stored-ends.ts';
import { systemClock } from '../../src/lib/clock.ts';
import type { Fanout } from '../../src/protocol/bus.ts';
import type { AgentEvent, EventBody } from '../../src/protocol/event.ts';
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

export const KEY = 'telegram:1';
export const RUN = { sessionKey: KEY, turnId: 't', epoch: 1 } as const;
export const chunk = (delta: string, msgId = 'm'): EventBody => ({ type: 'stream_chunk', msgId, delta });

/** Lets every record that waits arrive. */
export const flush = (): Promise<unknown> => vi.advanceTimersByTimeAsync(3 * BATCH_EVERY_MS);

/** Nodes over a network in this process, on fake timers; they are stopped after each test. */
export function nodesOnNetwork() {
  const network = { current: new TestNetwork() };
  const open: (() => Promise<void>)[] = [];

  async function node(nodeId: string, turns?: StoredTurns) {
    const clock = { ...systemClock, monotonicMs: () => Date.now() };
    const { log, lines } = recordingLog();
    const bus = createEventBus({
      nodeId,
      log,
      clock,
      fanout: network.current.fanout(),
      ...(turns && { turns }),
    });
    const heard: AgentEvent[] = [];
    bus.subscribe({}, (event) => heard.push(event));
    await bus.start();
    open.push(() => bus.stop());
    return { bus, heard, lines };
  }

  /** Two nodes that know about each other. */
  async function twoNodes() {
    const [a, b] = [await node('a'), await node('b')];
    await flush();
    network.current.batches = [];
    return { a, b };
  }

  beforeEach(() => {
    vi.useFakeTimers();
    network.current = new TestNetwork();
  });

  afterEach(async () => {
    for (const close of open.splice(0)) await close();
    if (vi.getTimerCount() > 0) throw new Error('a timer was left behind');
    vi.useRealTimers();
  });

  return { network, node, twoNodes };
}
