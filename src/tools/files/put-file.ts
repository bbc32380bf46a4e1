/**
 * Files that arrive and leave in pieces: streamed next to the folders of sessions, then moved into one; read; removed.
 */
import { createHash, randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, rename, rm, stat, unlink } from 'node:fs/promises';
import path from 'node:path';
import { ToolError } from '../../protocol/errors.ts';
import type { ArrivingFile, OpenedFile, StoredFile } from '../../protocol/agent/tool.ts';
import { inMegabytes } from '../../lib/text.ts';
import { checkRoom } from './save-file.ts';
import { type Opened, openFolder, openInside, pathError, pathParts } from './workspace.ts';

/** Incomplete uploads of a killed process are removed after this time, when the next file arrives. */
const ABANDONED_MS = 24 * 3_600_000;
/** Bytes read at a time. */
const CHUNK_BYTES = 64 * 1024;

/** `SessionFiles.put` into the folder `place`; `arriving` is a folder of the same file system. */
export async function putFile(arriving: string, place: string, file: ArrivingFile): Promise<StoredFile> {
  await openArriving(arriving);
  const half = path.join(arriving, randomUUID());
  try {
    const content = await writeChunks(half, file);
    const given = file.pathOf(content);
    await checkRoom(place, content.bytes);
    await moveInto(half, place, given, content.sha256);
    return { path: given, ...content };
  } finally {
    await rm(half, { force: true });
  }
}

/** Creates the folder for arriving files, and removes what was abandoned there. */
async function openArriving(arriving: string): Promise<void> {
  await mkdir(arriving, { recursive: true, mode: 0o700 });
  for (const name of await readdir(arriving)) {
    const half = path.join(arriving, name);
    const stats = await stat(half).catch((gone: NodeJS.ErrnoException) => gone.code);
    if (typeof stats === 'object' && Date.now() - stats.mtimeMs > ABANDONED_MS)
      await rm(half, { force: true });
  }
}

/** Writes what arrives to the disk and counts it. */
async function writeChunks(
  half: string,
  { chunks, maxBytes }: ArrivingFile,
): Promise<Omit<StoredFile, 'path'>> {
  await using handle = await open(half, 'wx', 0o600);
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw tooLarge(maxBytes);
    hash.update(chunk);
    await writeChunk(handle, chunk);
  }
  if (bytes === 0) throw new ToolError('empty', 'The file is empty: it has 0 bytes.');
  await handle.datasync();
  return { bytes, sha256: hash.digest('hex') };
}

async function writeChunk(handle: FileHandle, chunk: Uint8Array): Promise<void> {
  try {
    await handle.writeFile(chunk);
  } catch (error) {
    const full =
      error instanceof Error && 'code' in error && ['ENOSPC', 'EDQUOT'].includes(String(error.code));
    if (!full) throw pathError(error, 'the file');
    const text = 'The disk of the gateway is full: the file was not kept.';
    throw new ToolError('no_space', text, { cause: error });
  }
}

/**
 * Moves the complete file to its path; a file with the same content stays, so that its current readers are not
 * disturbed.
 */
async function moveInto(half: string, place: string, given: string, sha256: string): Promise<void> {
  const parts = pathParts(given);
  const name = parts.pop();
  if (name === undefined) throw new ToolError('bad_path', 'The path names the folder itself, not a file.');
  await using folder = await openFolder(place, given, parts, { create: true });
  if ((await digestAt(place, given)) === sha256) return;
  try {
    await rename(half, path.join(folder.place, name));
  } catch (error) {
    throw pathError(error, given);
  }
}

/** The digest of the existing file; undefined when there is none. Throws `ToolError` for what is not a plain file. */
async function digestAt(place: string, given: string): Promise<string | undefined> {
  try {
    await using there = await openInside(place, given);
    if (there.stats.isDirectory()) throw notAFile(given);
    const hash = createHash('sha256');
    for await (const chunk of chunksOf(there)) hash.update(chunk);
    return hash.digest('hex');
  } catch (error) {
    if (error instanceof ToolError && error.code === 'not_found') return undefined;
    throw error;
  }
}

/** `SessionFiles.read`. */
export async function readPlainFile(place: string, given: string): Promise<OpenedFile> {
  const opened = await openInside(place, given);
  if (opened.stats.isDirectory()) {
    await opened.handle.close();
    throw notAFile(given);
  }
  return {
    bytes: opened.stats.size,
    changedAt: opened.stats.mtime,
    async head(length) {
      const { buffer, bytesRead } = await opened.handle.read(Buffer.alloc(length), 0, length, 0);
      return buffer.subarray(0, bytesRead);
    },
    chunks: (from, to) => chunksOf(opened, from, to),
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
}

/** The content, at most up to the length that the file had when it was opened; closes it at the end. */
async function* chunksOf(file: Opened, from = 0, to: number = file.stats.size): AsyncGenerator<Uint8Array> {
  const { handle, stats } = file;
  const end = Math.min(to, stats.size);
  try {
    for (let at = from; at < end;) {
      const length = Math.min(CHUNK_BYTES, end - at);
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, at);
      if (bytesRead === 0) return;
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}

/** `SessionFiles.discard`. */
export async function discardFile(place: string, given: string): Promise<boolean> {
  const parts = pathParts(given);
  const name = parts.pop() ?? '';
  try {
    await using file = await openInside(place, given);
    if (file.stats.isDirectory()) throw notAFile(given);
    await using folder = await openFolder(place, given, parts);
    await unlink(path.join(folder.place, name));
    return true;
  } catch (error) {
    const isGone =
      error instanceof Error && 'code' in error && ['ENOENT', 'not_found'].includes(String(error.code));
    if (isGone) return false;
    throw error;
  }
}

function notAFile(given: string): ToolError {
  return new ToolError('refused', `"${given.slice(0, 120)}" is a folder, not a file.`);
}

function tooLarge(maxBytes: number): ToolError {
  return new ToolError('too_large', `A file may have at most ${inMegabytes(maxBytes)}.`);
}
