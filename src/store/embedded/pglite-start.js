/**
 * What the thread of the embedded database runs first. A thread has no cache of compiled code until it asks for one, and
 * without it Node loads all that removes types, 25 MB: hence plain JavaScript.
 */
import { enableCompileCache } from 'node:module';
import { workerData } from 'node:worker_threads';

/** @type {import('./worker-message.ts').WorkerMessage} */
const { compileCache } = workerData;
if (compileCache !== undefined) enableCompileCache(compileCache);
await import('./pglite-worker.ts');
