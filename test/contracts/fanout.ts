/** What every fan-out between nodes must do for the event buses at its ends. */
import { afterEach, expect, it, vi } from 'vitest';
import type { Fanout } from '../../src/protocol/bus.ts';
import { createEventBus } from '../../src/bus/event-bus.ts';
import { RECORD_BYTES } from '../../src/bus/node-link.ts';
import type { AgentEvent } from '../../src/protocol/event.ts';
import { createLog } from '../../src/ops/log.ts';

const RUN = { sessionKey: 'telegram:1', turnId: 't', epoch: 1 } as const;

/** The contract. `open` returns the ends of two isolated nodes. */
export function fanoutContract(open: () => Promise<[Fanout, Fanout]>): void {
  const started: { stop(): Promise<void> }[] = [];
  afterEach(async () => {
    for (const bus of started.splice(0)) await bus.stop();
  });

  async function twoBuses() {
    const log = createLog({ level: 'silent', redact: (text) => text });
    const ends = await open();
    const [a, b] = ends.map((fanout, index) => createEventBus({ fanout, nodeId: `node-${index}`, log }));
    for (const bus of [a!, b!]) {
      await bus.start();
      started.push(bus);
    }
    // Each knows about the other once an event of either arrives.
    for (const [from, to] of [
      [a!, b!],
      [b!, a!],
    ] as const) {
      let heard = false;
      const leave = to.subscribe({ sessionKey: 'telegram:0' }, () => (heard = true));
      await vi.waitFor(
        () => {
          from.emit('telegram:0', { type: 'heartbeat_tick' });
          expect(heard).toBe(true);
        },
        { timeout: 10_000 },
      );
      leave();
    }
    return { a: a!, b: b! };
  }

  it('shows the other node a turn in order, with no event missing or repeated', async () => {
    const { a, b } = await twoBuses();
    const [here, there]: AgentEvent[][] = [[], []];
    a.subscribe({ sessionKey: RUN.sessionKey }, (event) => here!.push(event));
    b.subscribe({ sessionKey: RUN.sessionKey }, (event) => there!.push(event));
    const turn = a.turn(RUN);
    for (let index = 0; index < 1_000; index += 1)
      turn.emit({ type: 'stream_chunk', msgId: 'm', delta: `wörd ${index} ` });
    turn.emit({ type: 'turn_ended', reason: 'completed' });
    await vi.waitFor(() => expect(there!.at(-1)?.type).toBe('turn_ended'), { timeout: 10_000 });
    expect(there).toEqual(here);
  });

  it('carries a result across many batches, and readers there can resume', async () => {
    const { a, b } = await twoBuses();
    const there: AgentEvent[] = [];
    b.subscribe({ turnId: RUN.turnId }, (event) => there.push(event));
    const turn = a.turn(RUN);
    const result = 'ä'.repeat(RECORD_BYTES / 2 - 500);
    turn.emit({ type: 'tool_result', toolCallId: 'c', name: 'read_file', result, isError: false });
    turn.emit({ type: 'stream_chunk', msgId: 'm', delta: 'done' });
    await vi.waitFor(() => expect(there).toHaveLength(2), { timeout: 10_000 });
    expect(there[0]).toMatchObject({ result });
    expect(b.replay(RUN.sessionKey, '1-1').events).toMatchObject([{ delta: 'done', eventSeq: 2 }]);
  });

  it('carries stop hints', async () => {
    const { a, b } = await twoBuses();
    const lanes: string[] = [];
    b.stopNotifier.listen((lane) => lanes.push(lane));
    a.stopNotifier.notify('in:telegram:1');
    await vi.waitFor(() => expect(lanes).toEqual(['in:telegram:1']), { timeout: 10_000 });
  });
}
