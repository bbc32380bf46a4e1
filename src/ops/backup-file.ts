/** The file of a backup: a line that says how to read it, then compressed lines of JSON, encrypted if requested. */
import { createCipheriv, createDecipheriv, createHash, randomBytes, randomUUID, scrypt } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { open, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip, constants } from 'node:zlib';
import { z } from 'zod';
import { GatewayError } from '../protocol/errors.ts';
import type { BackupRecord } from '../protocol/operator/backup.ts';
import { linesOf } from '../lib/lines.ts';
import { parseJson } from '../lib/json/json.ts';

/** Only its owner may read a backup. */
const PRIVATE = 0o600;
/** What a file is called while it is written, and after how long without a write its writer counts as dead, in milliseconds. */
const PART = /\.[\da-f-]{36}\.part$/;
export const UNFINISHED_MS = 10 * 60_000;
/** Longest first line, in bytes. */
const MAX_TITLE_BYTES = 1_024;
/** Longest of the other lines, in bytes. The rows of one record have about 64 KiB, a single row may have more. */
export const MAX_LINE_BYTES = 64 * 1024 * 1024;
/** Incremented when an older version could not read what is written. */
const FORMAT = 1;

const Title = z.object({
  parley: z.literal('backup'),
  format: z.int().positive(),
  salt: z.string().optional(),
});

const Row = z.array(z.string().nullable());
const Record = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('head'),
    version: z.string(),
    migrations: z.array(z.number()),
    madeAt: z.string(),
  }),
  z.object({ type: z.literal('table'), table: z.string(), columns: z.array(z.string()) }),
  z.object({ type: z.literal('rows'), rows: z.array(Row) }),
  z.object({ type: z.literal('file'), path: z.string(), mode: z.number() }),
  z.object({ type: z.literal('bytes'), base64: z.string() }),
  z.object({ type: z.literal('end'), sha256: z.string() }),
]);

/** What a backup may be written with. */
export interface BackupWriting {
  passphrase?: string | undefined;
  /** Gives up; what was written is removed. */
  signal?: AbortSignal | undefined;
}

/**
 * Writes the records; the file gets its name once it is complete and on disk. Throws what the records throw,
 * `GatewayError('usage')`, the reason of the signal, and errors of the file system.
 */
export async function writeBackup(
  file: string,
  records: AsyncIterable<BackupRecord>,
  { passphrase, signal }: BackupWriting = {},
): Promise<void> {
  if (passphrase !== undefined && passphrase.length < MIN_PASSPHRASE_CHARS)
    throw new GatewayError('usage', `The passphrase must have at least ${MIN_PASSPHRASE_CHARS} characters.`);
  const salt = passphrase === undefined ? undefined : randomBytes(16).toString('base64');
  const key = passphrase === undefined || salt === undefined ? undefined : await keyOf(passphrase, salt);
  await refuseOpenFolder(path.dirname(file));
  // A name that nobody can have taken before: whoever made the file could read it, or lead it elsewhere by a link.
  await removeUnfinished(path.dirname(file));
  const part = `${file}.${randomUUID()}.part`;
  // The fastest level: on the embedded database the gateway waits until all rows are read.
  const zip = createGzip({ level: constants.Z_BEST_SPEED });
  async function* body(compressed: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    yield Buffer.from(`${JSON.stringify({ parley: 'backup', format: FORMAT, salt })}\n`);
    yield* key === undefined ? compressed : seal(compressed, key);
  }
  try {
    await pipeline(
      Readable.from(toLines(records)),
      zip,
      body,
      createWriteStream(part, { flags: 'wx', mode: PRIVATE, flush: true }),
      { signal },
    );
    await rename(part, file);
    await syncFolder(path.dirname(file));
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}

/** Removes what killed writers of any backup have left in the folder: it holds secrets. One that is still written to stays. */
async function removeUnfinished(folder: string): Promise<void> {
  for (const name of (await readdir(folder)).filter((one) => PART.test(one))) {
    const place = path.join(folder, name);
    const { mtimeMs } = await stat(place);
    if (Date.now() - mtimeMs > UNFINISHED_MS && (await isBackup(place))) await rm(place, { force: true });
  }
}

async function isBackup(place: string): Promise<boolean> {
  try {
    await readTitle(place);
    return true;
  } catch (error) {
    if (error instanceof GatewayError) return false;
    throw error;
  }
}

/** Reads the records; only after the last one is it certain that nothing is missing. Throws `GatewayError('bad_backup')`. */
export async function* readBackup(
  file: string,
  passphrase: string | undefined,
): AsyncGenerator<BackupRecord> {
  const { title, length } = await readTitle(file);
  if (title.salt !== undefined && passphrase === undefined)
    throw bad('is encrypted: name the file of its passphrase with --passphrase-file');
  // A caller who gives a passphrase expects the file that was made with it, not one that someone put in its
  // place.
  if (title.salt === undefined && passphrase !== undefined)
    throw bad('is not encrypted; to restore it all the same, leave out --passphrase-file');
  const key = title.salt === undefined ? undefined : await keyOf(passphrase ?? '', title.salt);
  const unzip = createGunzip();
  async function* opened(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    yield* key === undefined ? bytes : unseal(bytes, key);
  }
  // Its failure surfaces in `unzip`, which is read below.
  const feeding = pipeline(createReadStream(file, { start: length }), opened, unzip).catch(() => undefined);
  const digest = createHash('sha256');
  let isComplete = false;
  try {
    for await (const line of linesIn(unzip)) {
      const { data: record } = Record.safeParse(parseJson(line));
      if (record === undefined) throw bad('holds a line that cannot be read');
      if (isComplete) throw bad('was changed: it continues after its end');
      if (record.type === 'end') {
        if (record.sha256 !== digest.digest('hex')) throw bad('was changed: its digest does not fit');
        isComplete = true;
      } else {
        digest.update(`${line}\n`);
      }
      yield record;
    }
  } catch (error) {
    throw asBad(error);
  } finally {
    unzip.destroy();
    await feeding;
  }
  if (!isComplete) throw bad('is cut off');
}

/** Where everyone may rename files, anyone could put another file in the place of this one. Windows has no modes. */
async function refuseOpenFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const { mode } = await stat(folder).catch((cause: unknown) => {
    throw new GatewayError('usage', `There is no folder ${folder}: make it first, or choose another one.`, {
      cause,
    });
  });
  const [others, sticky] = [0o002, 0o1000];
  if ((mode & others) === 0 || (mode & sticky) !== 0) return;
  throw new GatewayError(
    'usage',
    `All users of this machine can replace files in ${folder}: choose another folder, or run: chmod o-w ${folder}`,
  );
}

/** The new name of a file survives a power cut once its folder is on the disk as well. Windows has no such call. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function* toLines(records: AsyncIterable<BackupRecord>): AsyncGenerator<string> {
  const digest = createHash('sha256');
  for await (const record of records) {
    const line = JSON.stringify(record);
    if (Buffer.byteLength(line) > MAX_LINE_BYTES)
      throw new GatewayError(
        'too_large',
        `A row has more than ${MAX_LINE_BYTES / 1024 ** 2} MiB, which no backup can hold.`,
      );
    digest.update(`${line}\n`);
    yield `${line}\n`;
  }
  yield `${JSON.stringify({ type: 'end', sha256: digest.digest('hex') } satisfies BackupRecord)}\n`;
}

/** Every line; what follows the last line feed does not count. */
async function* linesIn(bytes: AsyncIterable<Buffer>): AsyncGenerator<string> {
  for await (const line of linesOf(bytes, MAX_LINE_BYTES)) {
    if (line.bytes === undefined) throw bad(`has a line of more than ${MAX_LINE_BYTES / 1024 ** 2} MiB`);
    if (line.isEnded) yield line.bytes.toString();
  }
}

async function readTitle(file: string): Promise<{ title: z.infer<typeof Title>; length: number }> {
  let text = '';
  try {
    for await (const chunk of createReadStream(file, { end: MAX_TITLE_BYTES - 1, encoding: 'latin1' }))
      text += String(chunk);
  } catch (error) {
    throw new GatewayError('bad_backup', `${file} cannot be read.`, { cause: error });
  }
  const [line = ''] = text.split('\n', 1);
  const { data } = Title.safeParse(parseJson(line));
  if (data === undefined) throw new GatewayError('bad_backup', `${file} is not a backup of Parley.`);
  if (data.format > FORMAT) throw bad('was made by a newer version of Parley: restore it with that one');
  return { title: data, length: line.length + 1 };
}

function bad(problem: string): GatewayError {
  return new GatewayError('bad_backup', `The backup ${problem}.`);
}

function asBad(error: unknown): unknown {
  if (error instanceof GatewayError) return error;
  const isZip =
    error instanceof Error && 'code' in error && /^(Z_|ERR_STREAM_PREMATURE)/.test(String(error.code));
  return isZip ? bad('is cut off or was changed') : error;
}

/** Bytes of one piece before it is sealed, which are held in memory. */
const PIECE_BYTES = 64 * 1024;

const TAG_BYTES = 16;

const KEY_BYTES = 32;

const COST = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1024 * 1024 };

/** Shortest passphrase. */
const MIN_PASSPHRASE_CHARS = 12;

/** The key of a passphrase. */
async function keyOf(passphrase: string, salt: string): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  scrypt(passphrase, Buffer.from(salt, 'base64'), KEY_BYTES, COST, (error, key) => {
    if (error === null) resolve(key);
    else reject(error);
  });
  return await promise;
}

/**
 * Seals pieces of `PIECE_BYTES` by AES-256-GCM. The nonce is the piece's number and whether it is the last one, so that
 * pieces cannot be changed, moved, repeated or left out.
 */
async function* seal(bytes: AsyncIterable<Buffer>, key: Buffer): AsyncGenerator<Buffer> {
  let turn = 0;
  for await (const { piece, last } of pieces(bytes, PIECE_BYTES)) {
    const cipher = createCipheriv('aes-256-gcm', key, nonce(turn, last));
    yield Buffer.concat([cipher.update(piece), cipher.final(), cipher.getAuthTag()]);
    turn += 1;
  }
}

/** Opens a sealed stream. Throws `GatewayError('bad_backup')` for a wrong passphrase, and a stream that was changed or cut. */
async function* unseal(bytes: AsyncIterable<Buffer>, key: Buffer): AsyncGenerator<Buffer> {
  let turn = 0;
  for await (const { piece, last } of pieces(bytes, PIECE_BYTES + TAG_BYTES)) {
    const decipher = createDecipheriv('aes-256-gcm', key, nonce(turn, last));
    try {
      decipher.setAuthTag(piece.subarray(-TAG_BYTES));
      yield Buffer.concat([decipher.update(piece.subarray(0, -TAG_BYTES)), decipher.final()]);
    } catch (error) {
      const text = 'The backup cannot be decrypted: the passphrase is wrong, or the file was changed or cut.';
      throw new GatewayError('bad_backup', text, { cause: error });
    }
    turn += 1;
  }
}

function nonce(turn: number, last: boolean): Buffer {
  const bytes = Buffer.alloc(12);
  bytes.writeUInt8(last ? 1 : 0, 0);
  bytes.writeUInt32BE(turn, 8);
  return bytes;
}

/** The stream in pieces of one size; the last one may be shorter, or empty. */
async function* pieces(
  bytes: AsyncIterable<Buffer>,
  size: number,
): AsyncGenerator<{ piece: Buffer; last: boolean }> {
  let buffered = Buffer.alloc(0);
  for await (const chunk of bytes) {
    buffered = Buffer.concat([buffered, chunk]);
    // One piece is held back: it may be the last.
    while (buffered.length > size) {
      yield { piece: buffered.subarray(0, size), last: false };
      buffered = buffered.subarray(size);
    }
  }
  yield { piece: buffered, last: true };
}
