/** The part of the Postgres wire protocol that the embedded server needs: splitting messages, answering a startup. */

/** PostgreSQL "Message Formats": the codes a first packet may carry in place of a protocol version. */
const SSL_REQUEST = 80_877_103;
const GSS_REQUEST = 80_877_104;
const CANCEL_REQUEST = 80_877_102;

/** Largest message accepted from a client, in bytes; a larger one is an error of the client. */
export const MAX_FRAME_BYTES = 64 * 1024 * 1024;

/** The request in the first packet of a connection. */
export type Opening =
  | { kind: 'encryption' }
  | { kind: 'cancel' }
  | { kind: 'startup'; parameters: Map<string, string> };

/** Parses the first packet in `buffer`; undefined if it is incomplete. Throws if it is malformed. */
export function takeOpening(buffer: Buffer): { opening: Opening; rest: Buffer } | undefined {
  if (buffer.length < 8) return undefined;
  const length = checkedLength(buffer.readInt32BE(0), 8);
  if (buffer.length < length) return undefined;
  const rest = buffer.subarray(length);
  const code = buffer.readInt32BE(4);
  if (code === SSL_REQUEST || code === GSS_REQUEST) return { opening: { kind: 'encryption' }, rest };
  if (code === CANCEL_REQUEST) return { opening: { kind: 'cancel' }, rest };
  const fields = buffer.toString('utf8', 8, length).split('\0');
  const parameters = new Map<string, string>();
  for (let i = 0; i + 1 < fields.length && fields[i] !== ''; i += 2) {
    parameters.set(fields[i] ?? '', fields[i + 1] ?? '');
  }
  return { opening: { kind: 'startup', parameters }, rest };
}

/** Splits the complete messages off the front of `buffer`. Throws on a length over the limit. */
export function takeFrames(buffer: Buffer): { frames: Buffer[]; rest: Buffer } {
  const frames: Buffer[] = [];
  let at = 0;
  while (buffer.length - at >= 5) {
    const end = at + 1 + checkedLength(buffer.readInt32BE(at + 1), 4);
    if (end > buffer.length) break;
    frames.push(buffer.subarray(at, end));
    at = end;
  }
  return { frames, rest: buffer.subarray(at) };
}

function checkedLength(length: number, least: number): number {
  if (length < least || length > MAX_FRAME_BYTES) throw new Error(`a message of ${length} bytes`);
  return length;
}

/** The type letter of a message. */
export function kindOf(frame: Buffer): string {
  return String.fromCharCode(frame[0] ?? 0);
}

/** The transaction state of the last ReadyForQuery in an answer: `I`, `T`, `E`, or undefined if there is none. */
export function lastReadyState(answer: Buffer): string | undefined {
  // ReadyForQuery is always the last message of an answer: Z, a length of 5, one letter.
  if (answer.length < 6 || answer.readInt32BE(answer.length - 5) !== 5) return undefined;
  return answer[answer.length - 6] === 0x5a ? String.fromCharCode(answer[answer.length - 1] ?? 0) : undefined;
}

/** One message: its letter, its length, its parts. */
export function makeFrame(kind: string, ...parts: Buffer[]): Buffer {
  const head = Buffer.alloc(5);
  head.write(kind, 0, 'latin1');
  head.writeInt32BE(4 + parts.reduce((sum, part) => sum + part.length, 0), 1);
  return Buffer.concat([head, ...parts]);
}

/** A string in the protocol's encoding. */
export function cString(text: string): Buffer {
  return Buffer.from(`${text}\0`, 'utf8');
}

/** A simple query. */
export function queryFrame(text: string): Buffer {
  return makeFrame('Q', cString(text));
}

export const SYNC = makeFrame('S');

/** Accepts the connection without a password, because only this user can open the socket. */
export function welcome(connectionId: number): Buffer {
  const int32 = (value: number): Buffer => {
    const bytes = Buffer.alloc(4);
    bytes.writeInt32BE(value);
    return bytes;
  };
  const setting = (name: string, value: string) => makeFrame('S', cString(name), cString(value));
  return Buffer.concat([
    makeFrame('R', int32(0)),
    setting('server_encoding', 'UTF8'),
    setting('client_encoding', 'UTF8'),
    setting('DateStyle', 'ISO, MDY'),
    setting('integer_datetimes', 'on'),
    setting('standard_conforming_strings', 'on'),
    makeFrame('K', int32(connectionId), int32(0)),
    makeFrame('Z', Buffer.from('I')),
  ]);
}

/**
 * The same message with the name of its prepared statement made unique to this connection: all connections share one
 * session, and two clients may choose the same name. The unnamed statement stays unnamed.
 */
export function ownStatement(frame: Buffer, prefix: string): Buffer {
  const kind = kindOf(frame);
  const body = frame.subarray(5);
  if (kind === 'P') return withPrefix(kind, body, 0, prefix);
  if (kind === 'B') return withPrefix(kind, body, body.indexOf(0) + 1, prefix);
  if ((kind === 'D' || kind === 'C') && body[0] === 0x53) return withPrefix(kind, body, 1, prefix);
  return frame;
}

function withPrefix(kind: string, body: Buffer, at: number, prefix: string): Buffer {
  if (body[at] === 0 || body[at] === undefined) return makeFrame(kind, body);
  return makeFrame(kind, body.subarray(0, at), Buffer.from(prefix), body.subarray(at));
}

/** The name of the prepared statement that a Parse message creates; empty for the unnamed one. */
export function parsedName(frame: Buffer): string {
  return frame.toString('utf8', 5, frame.indexOf(0, 5));
}
