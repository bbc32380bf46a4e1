/** Fetches the bytes of one file into the session's folder, or finds them there. */
import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import type { Channel } from '../protocol/channel.ts';
import { GatewayError, isRetryable, toGatewayError, ToolError } from '../protocol/errors.ts';
import type { FilesOfMessage, StoredFiles, Media, Pictures, Transcriber } from '../protocol/media.ts';
import { retryWhile } from '../lib/async/retry.ts';
import type { SessionFiles } from '../protocol/agent/tool.ts';
import type { Reader } from './reader/reader.ts';
import type { MediaSettings } from './settings.ts';
import { textRef } from '../protocol/texts/say.ts';
import type { Log } from '../protocol/log.ts';

/** Longest time to fetch a file, in milliseconds. */
const FETCH_MS = 120_000;
/** How often it is tried. */
const FETCH_TRIES = 4;
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
  const fetchFrom = source?.download?.bind(source);
  if (fetchFrom === undefined) throw new GatewayError('no_download', textRef('upload.no_download'));
  const limit = AbortSignal.any([signal, AbortSignal.timeout(FETCH_MS)]);
  const download = async (): Promise<void> => {
    const chunks = await fetchFrom(media, limit);
    await files.put(folder, { chunks, maxBytes, pathOf: () => file });
  };
  try {
    await retryWhile(isRetryable, download, limit, { maxTries: FETCH_TRIES, capMs: FETCH_MS });
  } catch (error) {
    signal.throwIfAborted();
    throw limit.aborted
      ? new GatewayError('too_slow', textRef('upload.fetched_slowly'), { cause: error })
      : error;
  }
  const fetched = await load(files, folder, file, maxBytes);
  if (fetched === undefined) throw new GatewayError('gone', textRef('upload.gone'));
  return fetched;
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
