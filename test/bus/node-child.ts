/** A full node in a separate process, for tests that kill and freeze it: processes messages and records each run. */
import { setTimeout as work } from 'node:timers/promises';
import postgres from 'postgres';
import type { LaneHandler } from '../../src/protocol/bus.ts';
import { createMessageBus } from '../../src/bus/message-bus.ts';
import { createLog } from '../../src/ops/log.ts';
import { openStoreAt } from '../../src/store/store.ts';

const [url = '', schema = '', instance = '', workMs = '0'] = process.argv.slice(2);

const diary = postgres(url, {
  max: 4,
  onnotice: () => undefined,
  connection: { search_path: `"${schema}"` },
});
const log = createLog({
  level: 'warn',
  redact: (text) => text,
  write: (line) => void process.stderr.write(line),
});

const store = await openStoreAt({ url, schema, applicationName: instance }, { log, migrate: false });

const handler: LaneHandler = {
  async handle(head) {
    const { lane, seq, epoch, node } = head;
    await diary`insert into diary (lane, seq, epoch, node, instance) values (${lane}, ${seq}, ${epoch}, ${node}, ${instance})`;
    // Ignores its signal on purpose: only the fence blocks what a frozen process does afterwards.
    await work(Number(workMs));
    return { kind: 'finished', step: await store.lanes.finish(head) };
  },
  onDeadLetter: (head, error) => store.lanes.finish(head, error.message),
};

const bus = createMessageBus({
  lanes: store.lanes,
  instance,
  log,
  intervals: { leaseMs: 1_500, heartbeatMs: 250, sweepMs: 50, flagsMs: 100 },
});
bus.register({ class: 'in', handler, concurrency: 6 });
await bus.start();
process.stdout.write('ready\n');
// The test holds the other end: a child must not outlive the test.
process.stdin.on('end', () => process.exit(0)).resume();
