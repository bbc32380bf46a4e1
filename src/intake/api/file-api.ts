/** The files of sessions for HTTP API callers, behind the same owner check as the sessions. */
import { GatewayError, ToolError } from '../../protocol/errors.ts';
import {
  type FileApi,
  type FileLimits,
  type FileTypeOf,
  type PersonLimit,
  type ReadableFile,
  TYPE_HEAD_BYTES,
} from '../../protocol/file-api.ts';
import type { StoredFiles } from '../../protocol/media.ts';
import type { SessionFiles } from '../../protocol/agent/tool.ts';
import { safeFileName } from '../../lib/file-name.ts';
import { inMegabytes } from '../../lib/text.ts';
import { type OwnedSessions, ownSession } from '../sessions.ts';

/** Where the files of messages are in a session's folder. */
const INBOX = 'inbox';
/** Characters of the digest in the name of an uploaded file: the same file gets the same name again. */
const DIGEST_CHARS = 12;
/** The path of an uploaded file: its digest and its name. */
const UPLOADED = new RegExp(`^${INBOX}/([0-9a-f]+)-([^/]+)$`, 'u');

/** The files of sessions, how large they may be, and for whom they are kept. */
export interface FileStorage {
  files: SessionFiles;
  keptFiles: StoredFiles;
  limits: FileLimits;
  personLimit: PersonLimit;
  typeOf: FileTypeOf;
}

type FolderFiles = Awaited<ReturnType<SessionFiles['list']>>['files'];

/** Makes the `FileApi`. */
export function createFileApi(sessions: OwnedSessions, storage: FileStorage): FileApi {
  const { files, keptFiles, limits, personLimit } = storage;
  const { visible } = sessions;
  return {
    limits,
    async upload(caller, key, { name: typed, chunks }) {
      const session = await ownSession(sessions, caller, key);
      if (session === undefined) return undefined;
      const name = safeFileName(typed);
      const userId = `token:${caller.tokenId}`;
      const room = await roomOf(storage, userId);
      const fits = limits.maxFileBytes <= room;
      const upload = await withGatewayErrors(() =>
        files.put(session.folder, {
          chunks,
          maxBytes: fits ? limits.maxFileBytes : room,
          pathOf: ({ sha256 }) => `${INBOX}/${sha256.slice(0, DIGEST_CHARS)}-${name}`,
        }),
      ).catch((error: unknown) => {
        const isRoom = !fits && error instanceof GatewayError && error.code === 'file_too_large';
        throw isRoom ? noRoom(personLimit, room) : error;
      });
      const { path, bytes, sha256 } = upload;
      await keptFiles.keep({ folder: session.folder, path, userId, bytes });
      await using file = await openFile(storage, session.folder, path);
      const { kind, mimeType } = file;
      return { kind, name, mimeType, bytes, sha256, file: path };
    },
    async named(caller, key, paths) {
      const session = await visible(caller, key);
      if (session === undefined) return undefined;
      return await Promise.all(
        paths.map(async (path) => {
          uploadedName(path);
          await using file = await openFile(storage, session.folder, path);
          const { kind, name, mimeType, bytes } = file;
          return { kind, name, mimeType, bytes, url: `session:${path}` };
        }),
      );
    },
    async list(caller, key) {
      const session = await visible(caller, key);
      if (session === undefined) return undefined;
      const { files: listed, more } = await withGatewayErrors(() => files.list(session.folder));
      return { files: newestFirst(listed), more };
    },
    async open(caller, key, path) {
      const session = await visible(caller, key);
      return session && (await openFile(storage, session.folder, path));
    },
    async remove(caller, key, path) {
      const session = await visible(caller, key);
      if (session === undefined) return undefined;
      uploadedName(path);
      if (!(await withGatewayErrors(() => files.discard(session.folder, path)))) throw notFound(path);
      await keptFiles.drop(session.folder, path);
      return true;
    },
  };
}

/** The files of a folder as callers see them. */
function newestFirst(files: FolderFiles) {
  const listed = files.map(({ path, bytes, changedAt }) => {
    const name = safeFileName(UPLOADED.exec(path)?.[2] ?? path);
    return { file: path, name, bytes, changedAt };
  });
  return listed.toSorted((a, b) => b.changedAt.getTime() - a.changedAt.getTime());
}

/** Bytes that the user's files may still take up. Throws `GatewayError('storage_full')` when there are none. */
async function roomOf({ keptFiles, personLimit }: FileStorage, userId: string): Promise<number> {
  const { maxBytes, days } = personLimit;
  const room = maxBytes - (await keptFiles.keptBytes(userId, days));
  if (room > 0) return room;
  throw noRoom(personLimit, 0);
}

/** The error for a file that exceeds its user's quota; `room` is what is left, in bytes. */
function noRoom({ maxBytes, days }: PersonLimit, room: number): GatewayError {
  const limit = inMegabytes(maxBytes);
  const state =
    room > 0
      ? `may take up ${limit} together, and only ${inMegabytes(room)} of that is left`
      : `have reached ${limit} together`;
  const text = `Your files here ${state}: remove some, or wait; each is removed after ${days} days.`;
  return new GatewayError('storage_full', text);
}

async function openFile({ files, typeOf }: FileStorage, folder: string, path: string): Promise<ReadableFile> {
  const content = await withGatewayErrors(() => files.read(folder, path));
  const name = safeFileName(UPLOADED.exec(path)?.[2] ?? path);
  const type = await typeOf(await content.head(TYPE_HEAD_BYTES), name);
  return { ...content, ...type, name };
}

/** The name of an uploaded file. Throws `GatewayError('file_not_found')` for any other path. */
function uploadedName(path: string): string {
  const [, digest, name] = UPLOADED.exec(path) ?? [];
  if (name === undefined || digest?.length !== DIGEST_CHARS) throw notFound(path);
  return name;
}

/** The folder's errors as callers see them; their texts are already written for people. */
const CODES: Record<string, string> = {
  too_large: 'file_too_large',
  empty: 'empty_file',
  workspace_full: 'storage_full',
  no_space: 'storage_full',
  not_found: 'file_not_found',
  elsewhere: 'file_not_found',
  refused: 'file_not_found',
  unreadable: 'file_not_found',
  bad_path: 'bad_path',
};

export async function withGatewayErrors<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const code = error instanceof ToolError ? CODES[error.code] : undefined;
    if (code === undefined || !(error instanceof Error)) throw error;
    throw new GatewayError(code, error.message, { cause: error });
  }
}

function notFound(path: string): GatewayError {
  return new GatewayError('file_not_found', `There is no uploaded file "${path.slice(0, 120)}".`);
}
