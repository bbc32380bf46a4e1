/** Fetches the bytes of one file into the session's folder, or finds them there. */
import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import type { Channel } from '../protocol/channel.ts';
import { GatewayError, toGatewayError, ToolError } from '../protocol/errors.ts';
import type { FilesOfMessage, StoredFiles, Media, Pictures, Transcriber } from '../protocol/media.ts';
import { backoffMs } from '../lib/async/backoff.ts';
import { sleep } from '../lib/async/sleep.ts';
import type { SessionFiles } from '../protocol/agent/tool.ts';
import type { Reader } from './reader/reader.ts';
import type { MediaSettings } from './settings.ts';
import { textRef } from '../protocol/texts/say.ts';
import type { Log } from '../protocol/log.ts';

/** Longest time to fetch a file, in milliseconds. */
const FETCH_MS = 120_000;
/** How often it is tried, and the first pause in between, in milliseconds. */
const FETCH_TRIES = 4;
const RETRY_BASE_MS = 500;
/** Prefix of a file that is already in the session's folder. */
export const HERE = 'session:';

/** What the parts of the module work with. */
export interface MediaContext {
  channels: ReadonlyMap<string, Channel>;
  files: SessionFiles;
  keptFiles: StoredFiles;
  settings: MediaSettings;
  reader: Reader;
  /** Undefined: no server is set, and recordings are not transcribed. */
  transcriber?: Transcriber | undefined;
  log: Log;
}

/** A file in the session's folder. */
export interface FetchedFile {
  /** Relative to the folder. */
  file: string;
  bytes: Buffer;
  sha256: string;
}

/**
 * The file with its bytes, at `path` in the folder. If it exists there, an interrupted attempt or the receiving channel
 * has fetched it. Throws `GatewayError`, or the signal's reason.
 */
export async function fetchFile(
  { channels, files }: MediaContext,
  { channel, folder }: FilesOfMessage,
  media: Media,
  path: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<FetchedFile> {
  signal.throwIfAborted();
  const isStored = media.url.startsWith(HERE);
  const file = isStored ? media.url.slice(HERE.length) : path;
  if (isStored && !file.startsWith('inbox/')) throw new GatewayError('gone', textRef('upload.foreign'));
  const existing = await load(files, folder, file, maxBytes);
  if (existing !== undefined) return existing;
  if (isStored) throw new GatewayError('gone', textRef('upload.gone'));
  const source = channels.get(channel);
  if (source?.download === undefined) throw new GatewayError('no_download', textRef('upload.no_download'));
  const limit = AbortSignal.any([signal, AbortSignal.timeout(FETCH_MS)]);
  for (let tries = 0; ; tries += 1) {
    try {
      const chunks = await source.download(media, limit);
      await files.put(folder, { chunks, maxBytes, pathOf: () => file });
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
  const fetched = await load(files, folder, file, maxBytes);
  if (fetched === undefined) throw new GatewayError('gone', textRef('upload.gone'));
  return fetched;
}

/** The pause in milliseconds before the next attempt to fetch the file; undefined to give up. */
function pauseAfter(error: unknown, tries: number): number | undefined {
  if (!(error instanceof GatewayError) || !error.retryable || tries + 1 >= FETCH_TRIES) return undefined;
  return Math.max(error.retryAfterMs ?? 0, backoffMs(tries, RETRY_BASE_MS, FETCH_MS));
}

async function load(
  files: SessionFiles,
  folder: string,
  file: string,
  maxBytes: number,
): Promise<FetchedFile | undefined> {
  const bytes = await readWhole(files, folder, file, maxBytes);
  return bytes && { file, bytes, sha256: createHash('sha256').update(bytes).digest('hex') };
}

/** The content of a file; undefined when there is none. Throws `ToolError`. */
async function readWhole(
  files: SessionFiles,
  folder: string,
  file: string,
  maxBytes: number,
): Promise<Buffer | undefined> {
  try {
    await using content = await files.read(folder, file);
    if (content.bytes > maxBytes) throw new ToolError('too_large', `It has more than ${maxBytes} bytes.`);
    return await buffer(content.chunks());
  } catch (error) {
    if (error instanceof ToolError && error.code === 'not_found') return undefined;
    throw error;
  }
}

/** Resized pictures stay below this even at the maximum side length. */
const MAX_PICTURE_BYTES = 4_000_000;

/** Makes `Pictures`. */
export function createPictures({ files, log }: MediaContext): Pictures {
  return async (ref) => {
    const slash = ref.indexOf('/');
    try {
      const bytes = await readWhole(files, ref.slice(0, slash), ref.slice(slash + 1), MAX_PICTURE_BYTES);
      return bytes && { mimeType: 'image/jpeg', base64: bytes.toString('base64') };
    } catch (error) {
      log.warn({ err: toGatewayError(error) }, 'picture_not_read');
      return undefined;
    }
  };
}
