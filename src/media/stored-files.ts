/** Removes the files of messages from the sessions' folders when they expire. */
import { toGatewayError } from '../protocol/errors.ts';
import type { SessionFiles } from '../protocol/agent/tool.ts';
import { safeFileName } from '../lib/file-name.ts';
import type { MediaContext } from './fetch-file.ts';

/** A node that was down for this long still removes its copies, in days. */
const LATE_DAYS = 7;
const EVERY_MS = 3_600_000;
const PAGE = 500;

/** Sweeps now and every hour until the signal aborts. Every node removes its own copies. */
export function startSweep(context: MediaContext, signal: AbortSignal): void {
  const round = (): void => {
    sweepStoredFiles(context, signal).catch((error: unknown) => {
      context.log.warn({ err: toGatewayError(error) }, 'kept_files_not_swept');
    });
  };
  const timer = setInterval(round, EVERY_MS).unref();
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  round();
}

/** Removes what is older than `keepDays`. Returns the number of files. Throws `StoreError`. */
export async function sweepStoredFiles(context: MediaContext, signal: AbortSignal): Promise<number> {
  const { keptFiles, files, settings } = context;
  const { keepDays } = settings;
  let last = { folder: '', path: '' };
  let count = 0;
  while (!signal.aborted) {
    const page = await keptFiles.keptBetween({
      fromDays: keepDays,
      toDays: keepDays + LATE_DAYS,
      after: last,
      limit: PAGE,
    });
    for (const { folder, path } of page) await discard(context, folder, path);
    count += page.length;
    for (const folder of new Set(page.map(({ folder }) => folder))) await files.share(folder);
    last = page.at(-1) ?? last;
    if (page.length < PAGE) break;
  }
  await keptFiles.forgetOlderFiles(keepDays + LATE_DAYS, PAGE);
  return count;
}

async function discard({ files, log }: MediaContext, folder: string, path: string): Promise<void> {
  try {
    await files.discard(folder, path);
    await files.discard(folder, picturePath(path));
  } catch (error) {
    log.warn({ err: toGatewayError(error), folder }, 'file_not_removed');
  }
}

/** The path of the `index`-th file of a message: the same at each attempt. */
export function inboxPath(laneSeq: number, index: number, name: string): string {
  const number = index === 0 ? `${laneSeq}` : `${laneSeq}.${index + 1}`;
  return `inbox/${number}-${safeFileName(name).replaceAll(' ', '-')}`;
}

/** The path of a picture as models get it, next to the file that was sent. */
export function picturePath(file: string): string {
  const slash = file.lastIndexOf('/');
  return `${file.slice(0, slash)}/.pictures/${file.slice(slash + 1)}.jpg`;
}

/** Keeps the picture of a file as models get it; returns its ref. Throws `ToolError`. */
export async function keepPicture(
  files: SessionFiles,
  folder: string,
  file: string,
  image: Buffer,
): Promise<string> {
  const path = picturePath(file);
  await files.put(folder, { chunks: piecesOf(image), maxBytes: image.length, pathOf: () => path });
  return `${folder}/${path}`;
}

/** The bytes as a stream. */
export async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
