/** Turns untrusted HTML into readable text in its own worker, which is limited in time and memory. */
import { Worker } from 'node:worker_threads';
import { ToolError } from '../../protocol/errors.ts';
import { createFairQueue } from '../../lib/async/fair-queue.ts';

/** Time for one page, in milliseconds, from the moment its worker has loaded: it has one thread, so this bounds its CPU time. */
const MAX_PAGE_MS = 2_000;
/** Time for the worker to load, in milliseconds. */
const MAX_START_MS = 10_000;
/** The worker's first message: it is loaded and starts. */
export const BEGINNING = 'beginning';
/** Heap of one page's worker, in MiB. */
const MAX_PAGE_HEAP_MB = 64;
/** Pages processed at once, and how many may wait. */
const MAX_PAGES = 2;
const MAX_WAITING_PAGES = 32;
/** What the worker answers; both may be empty. */
export interface PageText {
  title: string;
  text: string;
}

const pages = createFairQueue(MAX_PAGES, MAX_WAITING_PAGES);

/**
 * Returns the title and the readable text of a page. Throws `ToolError`: `unreadable_page`, `busy`; or the signal's
 * reason.
 */
export async function pageText(html: string, url: string, signal: AbortSignal): Promise<PageText> {
  const leave = await pages.enter(url, signal);
  if (leave === undefined) throw new ToolError('busy', 'Too many pages are being read: try again later.');
  try {
    return await extract(html, url, signal);
  } finally {
    leave();
  }
}

async function extract(html: string, url: string, signal: AbortSignal): Promise<PageText> {
  const worker = new Worker(new URL('./page-text-worker.ts', import.meta.url), {
    workerData: { html, url },
    env: {},
    execArgv: [],
    resourceLimits: {
      maxOldGenerationSizeMb: MAX_PAGE_HEAP_MB,
      maxYoungGenerationSizeMb: 16,
      stackSizeMb: 4,
    },
  });
  const { promise, resolve, reject } = Promise.withResolvers<PageText>();
  const unreadable = (cause?: unknown): void =>
    reject(new ToolError('unreadable_page', 'The page is too large or too tangled to be read.', { cause }));
  let limit = setTimeout(unreadable, MAX_START_MS);
  const stop = (): void => reject(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  worker.on('message', (answer: PageText | typeof BEGINNING) => {
    if (answer !== BEGINNING) return resolve(answer);
    clearTimeout(limit);
    limit = setTimeout(unreadable, MAX_PAGE_MS);
  });
  worker.once('error', unreadable);
  worker.once('exit', () => unreadable());
  try {
    signal.throwIfAborted();
    return await promise;
  } finally {
    clearTimeout(limit);
    signal.removeEventListener('abort', stop);
    await worker.terminate();
  }
}
