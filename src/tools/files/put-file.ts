/**
 * Files that arrive and leave in pieces: streamed next to the sessions' folders, then moved into one; read; removed;
 * and private copies of exactly the bytes that were to be sent.
 */
import { createHash, randomUUID } from 'node:crypto';
import {
  type FileHandle,
  mkdir,
  mkdtemp,
  open,
  readdir,
  rename,
  rm,
  stat,
  unlink,
  writeFile,
} from 'node:fs/promises';
import path from 'node:path';
import { errorCode, ToolError } from '../../protocol/errors.ts';
import type { ArrivingFile, OpenedFile, SessionFiles, StoredFile } from '../../protocol/agent/tool.ts';
import { inMegabytes } from '../../lib/text.ts';
import { checkRoom } from './save-file.ts';
import { type Opened, openFolder, openInside, pathError, pathParts, isMissing } from './workspace.ts';
import { tmpdir } from 'node:os';
import { type FileTypeOf, TYPE_HEAD_BYTES } from '../../protocol/file-api.ts';
import type { StoredFiles, OutgoingFiles, PrivateCopy } from '../../protocol/media.ts';
import { safeFileName } from '../../lib/file-name.ts';

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
    const filePath = file.pathOf(content);
    await checkRoom(place, content.bytes);
    await moveInto(half, place, filePath, content.sha256);
    return { path: filePath, ...content };
  } finally {
    await rm(half, { force: true });
  }
}

/** Creates the folder for arriving files, and removes what was abandoned there. */
async function openArriving(arriving: string): Promise<void> {
  await mkdir(arriving, { recursive: true, mode: 0o700 });
  for (const name of await readdir(arriving)) {
    const half = path.join(arriving, name);
    const stats = await stat(half).catch((error: NodeJS.ErrnoException) => error.code);
    if (typeof stats === 'object' && Date.now() - stats.mtimeMs > ABANDONED_MS)
      await rm(half, { force: true });
  }
}

/** Writes what arrives to the disk and counts it. */
async function writeChunks(half: string, { chunks, maxBytes }: ArrivingFile) {
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
    if (!['ENOSPC', 'EDQUOT'].includes(errorCode(error))) throw pathError(error, 'the file');
    const text = 'The disk of the gateway is full: the file was not saved.';
    throw new ToolError('no_space', text, { cause: error });
  }
}

/** Moves the complete file to its path; one with the same content stays, so that its readers are not disturbed. */
async function moveInto(half: string, place: string, filePath: string, sha256: string): Promise<void> {
  const parts = pathParts(filePath);
  const name = parts.pop();
  if (name === undefined) throw new ToolError('bad_path', 'The path names the folder itself, not a file.');
  await using folder = await openFolder(place, filePath, parts, { create: true });
  if ((await digestAt(place, filePath)) === sha256) return;
  try {
    await rename(half, path.join(folder.place, name));
  } catch (error) {
    throw pathError(error, filePath);
  }
}

/** The digest of the existing file; undefined when there is none. Throws `ToolError` for what is not a plain file. */
async function digestAt(place: string, filePath: string): Promise<string | undefined> {
  try {
    await using file = await openInside(place, filePath);
    if (file.stats.isDirectory()) throw notAFile(filePath);
    const hash = createHash('sha256');
    for await (const chunk of chunksOf(file)) hash.update(chunk);
    return hash.digest('hex');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** `SessionFiles.read`. */
export async function readPlainFile(place: string, filePath: string): Promise<OpenedFile> {
  const file = await openInside(place, filePath);
  if (file.stats.isDirectory()) {
    await file.handle.close();
    throw notAFile(filePath);
  }
  return {
    bytes: file.stats.size,
    changedAt: file.stats.mtime,
    async head(length) {
      const { buffer, bytesRead } = await file.handle.read(Buffer.alloc(length), 0, length, 0);
      return buffer.subarray(0, bytesRead);
    },
    chunks: (from, to) => chunksOf(file, from, to),
    [Symbol.asyncDispose]: () => file[Symbol.asyncDispose](),
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
export async function discardFile(place: string, filePath: string): Promise<boolean> {
  const parts = pathParts(filePath);
  const name = parts.pop() ?? '';
  try {
    await using file = await openInside(place, filePath);
    if (file.stats.isDirectory()) throw notAFile(filePath);
    await using folder = await openFolder(place, filePath, parts);
    await unlink(path.join(folder.place, name));
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

function notAFile(filePath: string): ToolError {
  return new ToolError('refused', `"${filePath.slice(0, 120)}" is a folder, not a file.`);
}

function tooLarge(maxBytes: number): ToolError {
  return new ToolError('too_large', `Files can be at most ${inMegabytes(maxBytes)} large.`);
}

/** Folder of the copies in the session's folder. */
const OUTBOX = 'outbox';

/** Largest file that is sent, in bytes; most platforms accept less. */
export const MAX_SENT_BYTES = 50_000_000;

/** Owner of the copies: they count for no person, and are removed by age like received files. */
const KEPT_FOR = 'sent';

/** Digits of the digest that the name of a copy begins with: the same content has one copy. */
const DIGEST_CHARS = 16;

/** Makes the `OutgoingFiles` of the folders in `files`; `noteKept` records each copy. */
export function createOutgoingFiles(
  files: SessionFiles,
  fileTypeOf: FileTypeOf,
  noteKept: StoredFiles['keep'],
): OutgoingFiles {
  return {
    async keep(folder, filePath) {
      await using source = await files.read(folder, filePath);
      const name = safeFileName(filePath);
      const type = await fileTypeOf(await source.head(TYPE_HEAD_BYTES), name);
      const { path: file, ...content } = await files.put(folder, {
        chunks: source.chunks(),
        maxBytes: MAX_SENT_BYTES,
        pathOf: ({ sha256 }) => `${OUTBOX}/${sha256.slice(0, DIGEST_CHARS)}-${name}`,
      });
      await noteKept({ folder, path: file, userId: KEPT_FOR, bytes: content.bytes });
      return { ...type, name, ...content, file };
    },
    async copy(folder, { file, sha256, name }) {
      await using source = await files.read(folder, file);
      return await privately(async (copy) => {
        if ((await writeTo(copy, source.chunks())) !== sha256)
          throw new ToolError('changed', `${name} has changed since it was sent.`);
      });
    },
    write: (text) => privately((copy) => writeFile(copy, text, { flag: 'wx', mode: 0o600 })),
  };
}

/** A file that `write` creates, in its own folder. */
async function privately(write: (copy: string) => Promise<void>): Promise<PrivateCopy> {
  const place = await mkdtemp(path.join(tmpdir(), 'parley-sending-'));
  const remove = () => rm(place, { recursive: true, force: true });
  const copy = path.join(place, 'content');
  try {
    await write(copy);
    return { path: copy, [Symbol.asyncDispose]: remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Writes a new file and returns the digest of its content. */
async function writeTo(place: string, chunks: AsyncIterable<Uint8Array>): Promise<string> {
  await using target = await open(place, 'wx', 0o600);
  const hash = createHash('sha256');
  for await (const chunk of chunks) {
    hash.update(chunk);
    await target.writeFile(chunk);
  }
  return hash.digest('hex');
}
