/**
 * What the thread of the embedded database runs first. A thread has no cache of compiled code until it asks for one, and
 * without it Node loads all that removes types, 25 MB: hence plain JavaScript.
 */
import { enableCompileCache } from 'node:module';
import { setFlagsFromString } from 'node:v8';
import { workerData } from 'node:worker_threads';

/**
 * V8 compiles the WebAssembly of Postgres once, and not again for speed: the second time takes 0.6 GB of memory and most of a
 * second for one function alone. Statements of a chat run as fast without (measured over 3,000); a scan of 100,000 rows takes
 * up to twice as long. The first flag alone does nothing in a program that runs already.
 */
const COMPILE_ONCE = ['--liftoff-only', '--no-wasm-tier-up', '--no-wasm-dynamic-tiering'];

/** @type {import('./worker-message.ts').WorkerMessage} */
const { compileCache } = workerData;
for (const flag of COMPILE_ONCE) setFlagsFromString(flag);
if (compileCache !== undefined) enableCompileCache(compileCache);
await import('./pglite-worker.ts');
