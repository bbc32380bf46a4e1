/**
 * A session as a file that proves itself: one JSON object a line, each with the SHA-256 of the line before it, the last
 * with an Ed25519 signature over that chain. A byte that was changed later breaks it at its line.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { linesOf } from '../lib/lines.ts';
import { escapeControls } from '../lib/text.ts';
import { errorCode, GatewayError } from '../protocol/errors.ts';
import type { SessionKey } from '../protocol/message.ts';
import type { RecordedTurn, RecordStore } from '../protocol/operator/record.ts';

/** The key of this gateway, in its home; made with the first signed record. */
export const SIGNING_KEY_FILE = 'signing-key.pem';
/** Turns that are read at a time. */
const PAGE = 20;
/** Turns dropped from a queue have places below 0. */
const FIRST = -2_147_483_648;
/** Bytes of a line that is read: a turn's journal is far smaller. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;

const hash = z.string().regex(/^[0-9a-f]{64}$/);
const headSchema = z.object({
  type: z.literal('head'),
  format: z.literal(1),
  session: z.string(),
  program: z.string(),
  at: z.string(),
  publicKey: z.string(),
});
const lineSchema = z.object({ type: z.string(), previous: hash });
const endSchema = lineSchema.extend({
  type: z.literal('end'),
  lines: z.number(),
  signature: z.string().regex(/^[0-9a-f]{128}$/),
});

/** Reads the key of a home, or makes it; `write` creates a private file as a whole. Throws `GatewayError('bad_key')`. */
export function signingKey(home: string, write: (file: string, text: string) => void): KeyObject {
  const file = path.join(home, SIGNING_KEY_FILE);
  try {
    return createPrivateKey(readFileSync(file, 'utf8'));
  } catch (error) {
    if (errorCode(error) !== 'ENOENT')
      throw new GatewayError(
        'bad_key',
        `${file} is no private key that can be read: restore it from a backup, or delete it to sign with a new one.`,
        { cause: error },
      );
  }
  const { privateKey } = generateKeyPairSync('ed25519');
  write(file, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
  return privateKey;
}

/** The public key in the few characters that people compare: SHA-256 of its DER form, the first 16 bytes. */
export function fingerprint(key: KeyObject): string {
  const publicKey = key.type === 'private' ? createPublicKey(key) : key;
  const der = publicKey.export({ type: 'spki', format: 'der' });
  return createHash('sha256').update(der).digest('hex').slice(0, 32).match(/.{4}/g)!.join(' ');
}

/** Yields the file line by line. Throws `StoreError`. */
export async function* signedRecord(
  store: RecordStore,
  session: SessionKey,
  { key, program, now }: { key: KeyObject; program: string; now: Date },
): AsyncGenerator<string> {
  const publicKey = createPublicKey(key).export({ type: 'spki', format: 'der' }).toString('base64');
  let line = toLine({ type: 'head', format: 1, session, program, at: now.toISOString(), publicKey });
  let lines = 1;
  yield `${line.toString()}\n`;
  for await (const entry of entriesOf(store, session)) {
    line = toLine({ ...entry, previous: digestOf(line) });
    lines += 1;
    yield `${line.toString()}\n`;
  }
  const previous = digestOf(line);
  const signature = sign(null, statement(previous, lines), key).toString('hex');
  yield `${endLine({ lines, signature, previous }).toString()}\n`;
}

/** Every row is a line of its own, so that a change names what it changed. */
async function* entriesOf(store: RecordStore, session: SessionKey): AsyncGenerator<object> {
  for (let after = FIRST; ;) {
    const turns = await store.recordedTurns(session, { after, limit: PAGE });
    for (const turn of turns) yield* rowsOf(turn);
    const last = turns.at(-1);
    if (last === undefined || turns.length < PAGE) return;
    after = last.laneSeq;
  }
}

function* rowsOf({ turn, messages, journal, approvals }: RecordedTurn): Generator<object> {
  yield { type: 'turn', ...turn };
  for (const row of messages) yield { type: 'message', ...row };
  for (const row of journal) yield { type: 'journal', ...row };
  for (const row of approvals) yield { type: 'approval', ...row };
}

/** What a verified file is. */
export interface Verdict {
  session: string;
  program: string;
  at: string;
  /** Lines, with the first and the last. */
  lines: number;
  /** Of the key that signed it: compare it with what the gateway's operator says. */
  fingerprint: string;
}

/**
 * Reads a signed record and proves that not a byte of it was changed, left out or added since. Throws
 * `GatewayError('bad_record')`, which names the line.
 */
export async function verifyRecord(file: AsyncIterable<Buffer>): Promise<Verdict> {
  const lines = linesIn(file);
  const { value: first = Buffer.alloc(0) } = await lines.next();
  const head = headSchema.safeParse(parsed(first));
  if (!head.success) throw broken('line 1 is not the first line of a signed record');
  const key = publicKeyOf(head.data.publicKey);
  let line = first;
  for (let number = 2; ; number += 1) {
    const { value: next, done: isOver } = await lines.next();
    if (isOver === true) throw broken(`the file ends after line ${number - 1}: its last lines are missing`);
    const { data } = lineSchema.safeParse(parsed(next));
    if (data === undefined) throw broken(`line ${number} was changed: it is no line of a signed record`);
    if (data.type === 'end') {
      checkEnd(next, { line, number, key });
      if ((await lines.next()).done !== true) throw broken(`something was added after line ${number}`);
      const { session, program, at } = head.data;
      return { session, program, at, lines: number, fingerprint: fingerprint(key) };
    }
    if (data.previous !== digestOf(line)) throw broken(await changedLine(lines, { line, next, number }));
    line = next;
  }
}

/** A hash that was changed itself is told from a change of the line before it by the line that follows. */
async function changedLine(
  lines: AsyncIterator<Buffer>,
  { line, next, number }: { line: Buffer; next: Buffer; number: number },
): Promise<string> {
  const { value: follower = Buffer.alloc(0) } = await lines.next();
  const { data } = lineSchema.safeParse(parsed(follower));
  if (data !== undefined && data.previous !== digestOf(next))
    return `line ${number} (${describe(next)}) was changed`;
  return `line ${number - 1} (${describe(line)}) was changed, or lines after it are missing`;
}

/** Checks the last line against the chain as it is in the file; `line` is the one before it. */
function checkEnd(
  end: Buffer,
  { line, number, key }: { line: Buffer; number: number; key: KeyObject },
): void {
  const { data } = endSchema.safeParse(parsed(end));
  const isSigned =
    data !== undefined &&
    verify(null, statement(digestOf(line), number - 1), key, Buffer.from(data.signature, 'hex'));
  if (isSigned) {
    if (endLine({ ...data, lines: number - 1, previous: digestOf(line) }).equals(end)) return;
    throw broken(`line ${number} (the signature) was changed`);
  }
  if (data !== undefined && data.previous !== digestOf(line))
    throw broken(`line ${number - 1} (${describe(line)}) was changed, or lines after it are missing`);
  throw broken(`line ${number} (the signature) was changed, or the key in line 1`);
}

function endLine({
  lines,
  signature,
  previous,
}: {
  lines: number;
  signature: string;
  previous: string;
}): Buffer {
  return Buffer.from(JSON.stringify({ type: 'end', lines, signature, previous }));
}

/** Every line; throws for one that is too long. */
async function* linesIn(file: AsyncIterable<Buffer>): AsyncGenerator<Buffer, undefined> {
  for await (const { bytes } of linesOf(file, MAX_LINE_BYTES)) {
    if (bytes === undefined) throw broken('one of its lines is too long');
    yield bytes;
  }
  return undefined;
}

function publicKeyOf(base64: string): KeyObject {
  try {
    return createPublicKey({ key: Buffer.from(base64, 'base64'), format: 'der', type: 'spki' });
  } catch (cause) {
    throw broken('line 1 has no public key', cause);
  }
}

/** What is signed: the end of the chain and its length. */
function statement(previous: string, lines: number): Buffer {
  return Buffer.from(`parley-record-1:${lines}:${previous}`);
}

function toLine(content: object): Buffer {
  return Buffer.from(JSON.stringify(content));
}

function digestOf(line: Buffer): string {
  return createHash('sha256').update(line).digest('hex');
}

/** What a line is, by its type. */
const KINDS: Readonly<Record<string, string>> = {
  head: 'the head',
  turn: 'a turn',
  message: 'a message',
  journal: 'a row of the journal',
  approval: 'an approval',
};

/** A line in words: what it records, and of when. */
function describe(line: Buffer): string {
  const content = z
    .object({ type: z.string(), created_at: z.string().optional(), tool: z.string().optional() })
    .safeParse(parsed(line)).data;
  if (content === undefined) return 'unreadable';
  const name = KINDS[content.type] ?? 'a line of another kind';
  return escapeControls(content.created_at === undefined ? name : `${name} of ${content.created_at}`);
}

function parsed(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString());
  } catch {
    // As wrong as JSON of another kind.
    return undefined;
  }
}

function broken(reason: string, cause?: unknown): GatewayError {
  return new GatewayError('bad_record', `This is not what was signed: ${reason}.`, { cause });
}
