/** The file API over folders in memory: the real one, without a disk. */
import type { Attachment, StoredFiles, Media } from '../../../src/protocol/media.ts';
import type { OwnedSessions } from '../../../src/intake/sessions.ts';
import { partial } from '../partial.ts';
import { createHash } from 'node:crypto';
import { ToolError } from '../../../src/protocol/errors.ts';
import type { FileApi } from '../../../src/protocol/file-api.ts';
import type { SessionFiles } from '../../../src/protocol/agent/tool.ts';
import { createFileApi } from '../../../src/intake/api/file-api.ts';
import { fileTypeOf } from '../../../src/media/index.ts';

/** Limits that a test reaches quickly. */
export const FILE_LIMITS = { maxFileBytes: 200_000, maxFilesPerMessage: 3 };
/** The total size allowed for the files of a token. */
export const PERSON_LIMIT = { maxBytes: 1_000_000, days: 30 };

/** The API for the sessions that `visible` and `make` know. */
export function fakeFileApi(sessions: OwnedSessions): FileApi {
  return createFileApi(sessions, {
    files: memoryFiles(),
    limits: FILE_LIMITS,
    personLimit: PERSON_LIMIT,
    keptFiles: memoryOfKept(),
    typeOf: fileTypeOf,
  });
}

function memoryOfKept(): StoredFiles {
  const kept = new Map<string, { userId: string; bytes: number }>();
  return partial({
    keptBytes: async (userId) =>
      [...kept.values()].reduce((sum, file) => sum + (file.userId === userId ? file.bytes : 0), 0),
    keep: async ({ folder, path, userId, bytes }) => void kept.set(`${folder}/${path}`, { userId, bytes }),
    drop: async (folder, path) => void kept.delete(`${folder}/${path}`),
  });
}

/** What is stored about a message's files; their bytes are not read again. */
export function attachmentsOf(media: readonly Media[]): Attachment[] {
  return media.map(({ kind, name = '', mimeType = '', bytes = 0, url }) => {
    return { kind, name, mimeType, bytes, sha256: '', file: url.replace('session:', '') };
  });
}

function memoryFiles(): SessionFiles {
  const kept = new Map<string, Buffer>();
  return partial({
    async put(folder, file) {
      const { chunks, maxBytes } = file;
      const parts: Uint8Array[] = [];
      let bytes = 0;
      for await (const chunk of chunks) {
        parts.push(chunk);
        bytes += chunk.length;
        if (bytes > maxBytes) throw new ToolError('too_large', `A file may have at most ${maxBytes} bytes.`);
      }
      if (bytes === 0) throw new ToolError('empty', 'The file is empty: it has 0 bytes.');
      const whole = Buffer.concat(parts);
      const sha256 = createHash('sha256').update(whole).digest('hex');
      const path = file.pathOf({ bytes, sha256 });
      kept.set(`${folder}/${path}`, whole);
      return { path, bytes, sha256 };
    },
    async read(folder, path) {
      const whole = kept.get(`${folder}/${path}`);
      if (whole === undefined) throw new ToolError('not_found', `There is no "${path}".`);
      return {
        bytes: whole.length,
        changedAt: new Date(0),
        head: async (length) => whole.subarray(0, length),
        async *chunks(from, to) {
          yield whole.subarray(from, to);
        },
        [Symbol.asyncDispose]: () => Promise.resolve(),
      };
    },
    list: async (folder) => ({
      files: [...kept]
        .filter(([path]) => path.startsWith(`${folder}/`))
        .map(([path, { length: bytes }]) => ({
          path: path.slice(folder.length + 1),
          bytes,
          changedAt: new Date(0),
        })),
      more: false,
    }),
    discard: async (folder, path) => kept.delete(`${folder}/${path}`),
  });
}
