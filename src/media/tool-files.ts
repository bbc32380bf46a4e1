/** Files from tool calls: kept in the session's folder like those of messages, under the same limits. */
import { GatewayError, toGatewayError } from '../protocol/errors.ts';
import type { Attachment, KeepToolFile } from '../protocol/media.ts';
import { STATELESS_FOLDER } from '../protocol/agent/tool.ts';
import { safeFileName } from '../lib/file-name.ts';
import type { MediaContext } from './fetch-file.ts';
import { keepPicture, piecesOf } from './stored-files.ts';
import type { ReadFile } from './reader/reader.ts';
import { MEGABYTE } from './settings.ts';

/** Digits of the digest that the name of a file begins with: the same content is kept once. */
const DIGEST_CHARS = 16;

/** Makes `KeepToolFile`. */
export function createKeepToolFile({ files, keptFiles, settings, reader }: MediaContext): KeepToolFile {
  return async ({ kind, base64 }, { folder, userId }, signal) => {
    if (folder === STATELESS_FOLDER)
      throw new GatewayError('no_session', 'files cannot be stored in a completion without a session');
    const bytes = Buffer.from(base64, 'base64');
    const { maxFileMb, maxMbPerPerson, keepDays } = settings;
    if (bytes.length === 0) throw new GatewayError('empty', 'it is empty');
    if (bytes.length > maxFileMb * MEGABYTE)
      throw new GatewayError('too_large', `it is larger than ${maxFileMb} MB`);
    if (bytes.length > maxMbPerPerson * MEGABYTE - (await keptFiles.keptBytes(userId, keepDays)))
      throw new GatewayError(
        'person_full',
        `the user's files here have reached ${maxMbPerPerson} MB together`,
      );
    const read = await reader(bytes, userId, signal).catch((error: unknown): ReadFile => {
      signal.throwIfAborted();
      return { mimeType: 'application/octet-stream', problem: toGatewayError(error).message };
    });
    const { mimeType, problem } = read;
    const name = safeFileName(`${kind}.${endingOf(mimeType)}`);
    const storedFile = await files.put(folder, {
      chunks: piecesOf(bytes),
      maxBytes: bytes.length,
      pathOf: ({ sha256 }) => `inbox/tools/${sha256.slice(0, DIGEST_CHARS)}-${name}`,
    });
    await keptFiles.keep({ folder, path: storedFile.path, userId, bytes: storedFile.bytes });
    const { path: file, ...content } = storedFile;
    const attachment: Attachment = { kind, name, mimeType, ...content, file };
    if (read.image === undefined) return { attachment, ...(problem !== undefined && { problem }) };
    return { attachment, picture: await keepPicture(files, folder, file, read.image) };
  };
}

/** The file name extension that fits the content. */
function endingOf(mimeType: string): string {
  const [, subtype = ''] = mimeType.split('/');
  const usual: Readonly<Record<string, string>> = {
    plain: 'txt',
    jpeg: 'jpg',
    mpeg: 'mp3',
    'octet-stream': 'bin',
  };
  const [name = ''] = subtype.split('+', 1);
  return (
    usual[subtype] ??
    name
      .replace(/^x-/, '')
      .replaceAll(/[^a-z0-9]/g, '')
      .slice(0, 10)
  );
}
