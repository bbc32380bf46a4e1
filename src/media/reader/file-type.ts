/** Plain text: whether bytes are plain text, in which character set, and of what kind. */
import { decodeIn, guessCharset, hasControls } from './charset.ts';
import type { FileTypeOf } from '../../protocol/file-api.ts';
import type { MediaKind } from '../../protocol/media.ts';

/** How much of a text is used to detect its kind, in UTF-16 units. */
const LOOKED_AT = 1_000;

/** Types of text that look alike, by file name extension. */
const ENDINGS: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  json: 'application/json',
  md: 'text/markdown',
};

/** What is known of a file besides its bytes. */
export interface Known {
  /** Distinguishes texts that look alike. */
  name?: string;
  /** The bytes are only the beginning of the file. */
  cut?: boolean;
}

/** A text, and what a reader should know about how it was read. */
export interface DecodedText {
  text: string;
  /** A line in brackets for the model: another character set than UTF-8, or bytes that are not text. */
  note?: string;
}

/** Most bytes that are no UTF-8 in a text that is otherwise: one in so many. */
const BAD_BYTES = 20;

/** The byte order marks of Unicode: the encodings that announce themselves. */
const MARKS: readonly { bytes: readonly number[]; charset: string }[] = [
  { bytes: [0xef, 0xbb, 0xbf], charset: 'utf-8' },
  { bytes: [0xff, 0xfe], charset: 'utf-16le' },
  { bytes: [0xfe, 0xff], charset: 'utf-16be' },
];

/** Bytes as text in any common character set, with U+FFFD for bad bytes; undefined for anything else. Never throws. */
export function decodeText(bytes: Uint8Array, { cut: isCut = false }: Known = {}): DecodedText | undefined {
  const marked = MARKS.find((mark) => mark.bytes.every((byte, index) => bytes[index] === byte));
  const charset = marked?.charset ?? utf16Of(bytes) ?? 'utf-8';
  // The last character of a truncated file may be cut in two.
  const text = decodeIn(charset, bytes, isCut);
  if (text !== undefined) return { text };
  if (charset !== 'utf-8') return undefined;
  const guess = guessCharset(bytes);
  const mostly = mostlyUtf8(bytes, isCut);
  if (mostly !== undefined && (guess === undefined || mostly.hasOthers)) {
    const { badBytes } = mostly;
    const count =
      badBytes === 1
        ? '1 byte of it is no UTF-8 text and is'
        : `${badBytes} bytes of it are no UTF-8 text and are`;
    return { text: mostly.text, note: `[${count} shown as \ufffd]` };
  }
  const guessed = guess === undefined ? undefined : decodeIn(guess, bytes, isCut);
  return guessed === undefined ? undefined : { text: guessed, note: `[not UTF-8: read as ${guess}]` };
}

/** The text behind its note, as a model reads it. */
export function withNote({ text, note }: DecodedText): string {
  return note === undefined ? text : `${note}\n${text}`;
}

/** UTF-16 without its mark: every second byte of a text in Latin letters is zero. */
function utf16Of(bytes: Uint8Array): string | undefined {
  const sample = bytes.subarray(0, LOOKED_AT);
  const zeros = [0, 0];
  for (const [index, byte] of sample.entries()) if (byte === 0) zeros[index % 2]! += 1;
  const [even = 0, odd = 0] = zeros;
  const most = sample.length * 0.4;
  if (sample.length < 4 || (even <= most && odd <= most)) return undefined;
  return odd > even ? 'utf-16le' : 'utf-16be';
}

/** The text with U+FFFD for each bad byte, if they are few; `hasOthers` = it has characters beyond ASCII that are right. */
function mostlyUtf8(
  bytes: Uint8Array,
  isCut: boolean,
): { text: string; badBytes: number; hasOthers: boolean } | undefined {
  const text = new TextDecoder('utf-8').decode(bytes, { stream: isCut });
  const badBytes = text.match(/\ufffd/g)?.length ?? 0;
  if (badBytes * BAD_BYTES > bytes.length || hasControls(text)) return undefined;
  const hasOthers = (text.match(/[^\0-\x7f\ufffd]/g)?.length ?? 0) > badBytes;
  return { text, badBytes, hasOthers };
}

/** The type of a text by its first characters, then by its name. Never throws. */
export function textType(text: string, { name = '' }: Known = {}): string {
  const start = text.slice(0, LOOKED_AT).trimStart().toLowerCase();
  if (start.startsWith('<!doctype html') || start.startsWith('<html')) return 'text/html';
  if (start.startsWith('<svg') || (start.startsWith('<?xml') && start.includes('<svg')))
    return 'image/svg+xml';
  if (start.startsWith('<?xml')) return 'application/xml';
  const byName = ENDINGS[name.slice(name.lastIndexOf('.') + 1).toLowerCase()];
  return byName ?? (isJson(text, start) ? 'application/json' : 'text/plain');
}

function isJson(text: string, start: string): boolean {
  if (!start.startsWith('{') && !start.startsWith('[')) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Reads the type of a file from its first bytes. */
export const fileTypeOf: FileTypeOf = async (head, name) => {
  const mimeType = (await mimeTypeOf(head, { name, cut: true })) ?? 'application/octet-stream';
  return { kind: kindOf(mimeType), mimeType };
};

/** The type by magic numbers, else by the look of the text; undefined if neither fits. Never throws. */
export async function mimeTypeOf(bytes: Uint8Array, hints: Known = {}): Promise<string | undefined> {
  // The library is loaded with the first file.
  const { fileTypeFromBuffer } = await import('file-type');
  // A file may be cut off, or lie about its length, exactly where its type is looked up.
  const match = await fileTypeFromBuffer(bytes).catch(() => undefined);
  if (match !== undefined && match.mime !== 'application/xml') return match.mime;
  const decoded = decodeText(bytes, hints);
  return decoded === undefined ? match?.mime : textType(decoded.text, hints);
}

/** A drawing that is a program (SVG) is a file, not a picture. */
function kindOf(mimeType: string): MediaKind {
  if (mimeType === 'image/svg+xml') return 'file';
  const [kind] = mimeType.split('/');
  return kind === 'image' || kind === 'audio' || kind === 'video' ? kind : 'file';
}
