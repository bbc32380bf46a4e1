/** The worker thread that holds the embedded database, so that no query ever stalls the main loop. */
import { chmod } from 'node:fs/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { PGlite } from '@electric-sql/pglite';
import { createPgServer } from './pglite-server.ts';
import { isWorkerMessage } from './worker-message.ts';

const order: unknown = workerData;
if (parentPort === null || !isWorkerMessage(order))
  throw new Error('pglite-worker.ts is started by pglite-start.js');

const port = parentPort;

/**
 * Each start fills this memory with zeros, and it stays in use: 128 MB by default took 60 ms longer. What does not fit is
 * read from the file system, which keeps it in memory as well.
 */
const SHARED_BUFFERS = '32MB';

const startParams = [...PGlite.defaultStartParams, '-c', `shared_buffers=${SHARED_BUFFERS}`];
const db = await PGlite.create({ dataDir: order.dataDir, startParams });
const server = createPgServer({
  // Not `execProtocolRaw`: it also parses every answer, and keeps everything it has ever parsed (10 kB a
  // turn, never freed).
  async exec(messages) {
    const pieces: Buffer[] = [];
    // A piece is a view of the database's own memory, which the next one overwrites.
    const onRawData = (bytes: Uint8Array): void => void pieces.push(Buffer.from(bytes));
    await db.execProtocolRawStream(messages, { syncToFs: false, onRawData });
    return Buffer.concat(pieces);
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
