/** The worker thread that holds the embedded database, so that no query ever stalls the main loop. */
import { chmod } from 'node:fs/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { PGlite } from '@electric-sql/pglite';
import { createPgServer } from './pglite-server.ts';
import { isWorkerMessage } from './worker-message.ts';

const order: unknown = workerData;
if (parentPort === null || !isWorkerMessage(order))
  throw new Error('pglite-worker.ts is started by embedded.ts');

const port = parentPort;

const db = await PGlite.create({ dataDir: order.dataDir });
const server = createPgServer({
  async exec(messages) {
    const answer = await db.execProtocolRaw(messages, { syncToFs: false });
    return Buffer.from(answer.buffer, answer.byteOffset, answer.byteLength);
  },
});
await server.listen(order.socketPath);
await chmod(order.socketPath, 0o600);

// Any message means close. The thread ends once nothing is open any more.
port.once('message', () => {
  void (async () => {
    await server.close();
    await db.close();
    port.close();
  })();
});
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
port.postMessage('ready');
