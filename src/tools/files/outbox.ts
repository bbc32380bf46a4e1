/**
 * Outgoing files: a copy of each as it was when it was sent, and private copies of exactly those bytes for the
 * platforms.
 */
import { createHash } from 'node:crypto';
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ToolError } from '../../protocol/errors.ts';
import { type FileTypeOf, TYPE_HEAD_BYTES } from '../../protocol/file-api.ts';
import type { KeptFiles, OutgoingFiles, PrivateCopy } from '../../protocol/media.ts';
import type { SessionFiles } from '../../protocol/agent/tool.ts';
import { safeFileName } from '../../lib/file-name.ts';

/** Folder of the copies in the session's folder. */
const OUTBOX = 'outbox';

/** Largest file that is sent, in bytes; most platforms accept less. */
export const MAX_SENT_BYTES = 50_000_000;

/** Owner of the copies: they count for no person, and are removed by age like received files. */
const KEPT_FOR = 'sent';

/** Digits of the digest that the name of a copy begins with: the same content has one copy. */
const DIGEST_CHARS = 16;

export interface OutboxDeps {
  /** The folders of sessions. */
  files: Pick<SessionFiles, 'read' | 'put'>;
  fileTypeOf: FileTypeOf;
  keptFiles: Pick<KeptFiles, 'keep'>;
}

/** Makes the `OutgoingFiles`. */
export function createOutgoingFiles({ files, fileTypeOf, keptFiles }: OutboxDeps): OutgoingFiles {
  return {
    async keep(folder, given) {
      await using source = await files.read(folder, given);
      const name = safeFileName(given);
      const type = await fileTypeOf(await source.head(TYPE_HEAD_BYTES), name);
      const { path: file, ...content } = await files.put(folder, {
        chunks: source.chunks(),
        maxBytes: MAX_SENT_BYTES,
        pathOf: ({ sha256 }) => `${OUTBOX}/${sha256.slice(0, DIGEST_CHARS)}-${name}`,
      });
      await keptFiles.keep({ folder, path: file, userId: KEPT_FOR, bytes: content.bytes });
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
