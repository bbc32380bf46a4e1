/** Reads files that came from outside, each in its own process, which is ended when it takes too long. */
import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { GatewayError } from '../../protocol/errors.ts';
import { createFairQueue } from '../../lib/async/fair-queue.ts';
import { type Confinement, confinedCommand, findConfinement } from '../../lib/confinement.ts';
import { type DecodedText, decodeText, textType, withNote } from './file-type.ts';
import { answerShape, MAX_DOCUMENT_CHARS, type ReaderAnswer } from './protocol.ts';
import { textRef } from '../../protocol/texts/say.ts';
import { createHash } from 'node:crypto';
import type { DocumentText } from '../../protocol/media.ts';
import { TtlCache } from '../../lib/ttl-cache.ts';

/** Concurrent reading processes, and files that may wait for one. */
const MAX_READERS = 2;
const MAX_WAITING = 100;
/** Longest time to read a file, in milliseconds. */
const READ_MS = 30_000;
/** Heap size of a reading process, in megabytes. */
const MEMORY_MB = 256;

/** What is in a file. */
export interface ReadFile extends ReaderAnswer {
  /** The picture as a JPEG. */
  image?: Buffer | undefined;
}

/** `key` identifies the file's owner: files take turns by it. Throws the signal's reason, or `GatewayError`. */
export type Reader = (bytes: Uint8Array, key: string, signal: AbortSignal) => Promise<ReadFile>;

export interface ReaderOptions {
  readMs?: number;
  /** The program that reads; for tests of failing programs. */
  program?: string;
  /** Ways to shut it in, the closest first; for tests of machines without the others. */
  ways?: readonly Confinement[];
  /** Called once, before the first file that is read with an open network. */
  onOpen?: () => void;
}

/** Makes a reader. Plain text needs no program and is read here. */
export function createReader(options: ReaderOptions = {}): Reader {
  const { readMs = READ_MS, program = PROGRAM, ways, onOpen } = options;
  const slots = createFairQueue(MAX_READERS, MAX_WAITING);
  let confinement: Promise<Confinement> | undefined;
  const confine = async (): Promise<Confinement> => {
    const way = await findReaderConfinement(ways);
    if (way === 'open') onOpen?.();
    return way;
  };
  return async (bytes, key, signal) => {
    const decoded = isPlain(bytes) ? decodeText(bytes) : undefined;
    if (decoded !== undefined) return readPlain(decoded);
    const leave = await slots.enter(key, signal);
    if (leave === undefined) throw new GatewayError('busy', textRef('upload.busy'));
    try {
      const way = await (confinement ??= confine());
      const command = confinedCommand(
        { program: [program], flags: ARGUMENTS, reads: readablePlaces(program), folder: ROOT },
        way,
      );
      return await readApart(command, bytes, AbortSignal.any([signal, AbortSignal.timeout(readMs)]), signal);
    } finally {
      leave();
    }
  };
}

/** Formats that only start like text do not count. */
function isPlain(bytes: Uint8Array): boolean {
  const start = Buffer.from(bytes.subarray(0, 1_024)).toString('latin1');
  return !start.includes('%PDF-') && !start.startsWith('{\\rtf');
}

function readPlain(decoded: DecodedText): ReadFile {
  const text = withNote(decoded);
  const isCut = text.length > MAX_DOCUMENT_CHARS;
  const read = isCut ? text.slice(0, MAX_DOCUMENT_CHARS).toWellFormed() : text;
  return { mimeType: textType(decoded.text), text: read, ...(isCut && { cut: isCut }) };
}

const PROGRAM = fileURLToPath(new URL('child.ts', import.meta.url));
const ROOT = path.resolve(fileURLToPath(new URL('../../..', import.meta.url)));
const ABOVE = path.dirname(ROOT);
const ARGUMENTS = [
  // sharp is one; the warning about it would be the child's only output on stderr.
  '--allow-addons',
  '--disable-warning=SecurityWarning',
  '--disallow-code-generation-from-strings',
  `--max-old-space-size=${MEMORY_MB}`,
];

/**
 * What the program needs: itself, what it was built from, and the packages; never the folder around them, in which a
 * home or a file `.env` may be. Where Parley is a package itself, the others are next to it.
 */
function readablePlaces(program: string): string[] {
  const own = ['src', 'dist', 'package.json', 'node_modules'].map((name) => path.join(ROOT, name));
  const isPackage = path.basename(ABOVE) === 'node_modules';
  const others = isPackage ? readdirSync(ABOVE).filter((name) => name !== path.basename(ROOT)) : [];
  const places = [...own, ...others.map((name) => path.join(ABOVE, name)), path.dirname(program)];
  return places.filter((place) => existsSync(place));
}

/** Native code is what most needs to work; an installation may leave it out. */
const PROBE = "await import('sharp').catch((e) => { if (e.code !== 'ERR_MODULE_NOT_FOUND') throw e; })";

/** The first of these ways to shut it in that works here, tried with what reading needs. Never rejects. */
export function findReaderConfinement(ways?: readonly Confinement[]): Promise<Confinement> {
  const probe = ['--input-type=module', '--eval', PROBE];
  return findConfinement(
    { program: probe, flags: ARGUMENTS, reads: readablePlaces(PROGRAM), folder: ROOT },
    ways,
  );
}

async function readApart(
  [file = '', ...args]: readonly string[],
  bytes: Uint8Array,
  until: AbortSignal,
  signal: AbortSignal,
): Promise<ReadFile> {
  // It may have been stopped while it waited.
  signal.throwIfAborted();
  const child = spawn(file, args, { env: {}, stdio: ['pipe', 'pipe', 'ignore'], detached: true });
  const exit = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  // With its group: bubblewrap that is killed while it starts would leave the program behind, and its output open.
  const kill = (): void => {
    const isRunning = child.exitCode === null && child.signalCode === null;
    if (child.pid !== undefined && isRunning) process.kill(-child.pid, 'SIGKILL');
  };
  until.addEventListener('abort', kill, { once: true });
  // A program that ends early closes its input: its exit code reports that.
  child.stdin.on('error', () => undefined);
  child.stdin.end(bytes);
  try {
    const [output, code] = await Promise.all([buffer(child.stdout), exit]);
    signal.throwIfAborted();
    if (until.aborted) throw new GatewayError('too_slow', textRef('upload.read_slowly'));
    if (code !== 0) throw new GatewayError('unreadable', textRef('upload.damaged'));
    return parse(output);
  } finally {
    until.removeEventListener('abort', kill);
    kill();
  }
}

function parse(output: Buffer): ReadFile {
  const end = output.indexOf('\n');
  const answer = answerShape.parse(JSON.parse(output.subarray(0, end).toString('utf8')));
  return { ...answer, ...(answer.picture !== undefined && { image: output.subarray(end + 1) }) };
}

/** Texts that are remembered, and for how long, in milliseconds. */
const MAX_REMEMBERED = 8;

const REMEMBERED_MS = 10 * 60_000;

/** Makes `DocumentText`. `monotonicNow` is a clock in milliseconds. */
export function createDocumentText(reader: Reader, monotonicNow: () => number): DocumentText {
  const remembered = new TtlCache<string>(REMEMBERED_MS, MAX_REMEMBERED, monotonicNow);
  return async (bytes, signal) => {
    const key = createHash('sha256').update(bytes).digest('hex');
    const cached = remembered.get(key);
    if (cached !== undefined) return cached;
    const { text, problem, mimeType } = await reader(bytes, 'read_file', signal);
    if (problem !== undefined) throw new GatewayError('unreadable', problem);
    if (text === undefined) throw new GatewayError('no_text', `it is ${mimeType}, which contains no text`);
    remembered.set(key, text);
    return text;
  };
}
