/** Fetches the bytes of one file into the session's folder, or finds them there. */
import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import type { Channel } from '../protocol/channel.ts';
import { GatewayError, ToolError } from '../protocol/errors.ts';
import type { FilesOfMessage, Media } from '../protocol/media.ts';
import { backoffMs } from '../lib/async/backoff.ts';
import { sleep } from '../lib/async/sleep.ts';
import type { SessionFiles } from '../protocol/agent/tool.ts';
import { textRef } from '../protocol/texts/say.ts';

/** Longest time to fetch a file, in milliseconds. */
const FETCH_MS = 120_000;
/** How often it is tried, and the first pause in between, in milliseconds. */
const FETCH_TRIES = 4;
const RETRY_BASE_MS = 500;
/** Prefix of a file that is already in the session's folder. */
export const HERE = 'session:';

interface FetchDeps {
  channels: ReadonlyMap<string, Pick<Channel, 'download'>>;
  files: Pick<SessionFiles, 'put' | 'read'>;
}

interface Wanted {
  media: Media;
  /** Where it belongs in the folder. */
  file: string;
  maxBytes: number;
}

/** A file in the session's folder. */
export interface FetchedFile {
  /** Relative to the folder. */
  file: string;
  bytes: Buffer;
  sha256: string;
}

/**
 * The file with its bytes. If it exists under its name, it was fetched before: by an attempt that ended in a crash, or
 * by the channel that received it. Throws `GatewayError`, or the signal's reason.
 */
export async function fetchFile(
  deps: FetchDeps,
  { channel, folder }: FilesOfMessage,
  { media, file, maxBytes }: Wanted,
  signal: AbortSignal,
): Promise<FetchedFile> {
  signal.throwIfAborted();
  const here = media.url.startsWith(HERE);
  const place = here ? media.url.slice(HERE.length) : file;
  if (here && !place.startsWith('inbox/')) throw new GatewayError('gone', textRef('upload.foreign'));
  const known = await load(deps.files, folder, place, maxBytes);
  if (known !== undefined) return known;
  if (here) throw new GatewayError('gone', textRef('upload.gone'));
  const download = deps.channels.get(channel)?.download;
  if (download === undefined) throw new GatewayError('no_download', textRef('upload.no_download'));
  const limit = AbortSignal.any([signal, AbortSignal.timeout(FETCH_MS)]);
  for (let tries = 0; ; tries += 1) {
    try {
      const chunks = await download(media, limit);
      await deps.files.put(folder, { chunks, maxBytes, pathOf: () => place });
      break;
    } catch (error) {
      signal.throwIfAborted();
      if (limit.aborted)
        throw new GatewayError('too_slow', textRef('upload.fetched_slowly'), { cause: error });
      const pauseMs = pauseAfter(error, tries);
      if (pauseMs === undefined) throw error;
      await sleep(pauseMs, limit);
    }
  }
  const fetched = await load(deps.files, folder, place, maxBytes);
  if (fetched === undefined) throw new GatewayError('gone', textRef('upload.gone'));
  return fetched;
}

/** The pause in milliseconds before the next attempt to fetch the file; undefined to give up. */
function pauseAfter(error: unknown, tries: number): number | undefined {
  if (!(error instanceof GatewayError) || !error.retryable || tries + 1 >= FETCH_TRIES) return undefined;
  return Math.max(error.retryAfterMs ?? 0, backoffMs(tries, RETRY_BASE_MS, FETCH_MS));
}

async function load(
  files: FetchDeps['files'],
  folder: string,
  file: string,
  maxBytes: number,
): Promise<FetchedFile | undefined> {
  const bytes = await readWhole(files, folder, file, maxBytes);
  return bytes && { file, bytes, sha256: createHash('sha256').update(bytes).digest('hex') };
}

/** The content of a file; undefined when there is none. Throws `ToolError`. */
export async function readWhole(
  files: Pick<SessionFiles, 'read'>,
  folder: string,
  file: string,
  maxBytes: number,
): Promise<Buffer | undefined> {
  try {
    await using opened = await files.read(folder, file);
    if (opened.bytes > maxBytes) throw new ToolError('too_large', `It has more than ${maxBytes} bytes.`);
    return await buffer(opened.chunks());
  } catch (error) {
    if (error instanceof ToolError && error.code === 'not_found') return undefined;
    throw error;
  }
}
