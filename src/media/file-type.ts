/** What a file is, by its bytes: for uploads, downloads and the process that reads files. Nothing is opened or unpacked. */
import type { FileTypeOf } from '../protocol/file-api.ts';
import type { MediaKind } from '../protocol/media.ts';
import { decodeText, type Known, textType } from './reader/plain-text.ts';

/** Reads the type of a file from its first bytes. */
export const fileTypeOf: FileTypeOf = async (head, name) => {
  const mimeType = (await mimeTypeOf(head, { name, cut: true })) ?? 'application/octet-stream';
  return { kind: kindOf(mimeType), mimeType };
};

/**
 * The type by magic numbers, else by what the text looks like; undefined for bytes that match neither. Never throws.
 */
export async function mimeTypeOf(bytes: Uint8Array, known: Known = {}): Promise<string | undefined> {
  // The library is loaded with the first file.
  const { fileTypeFromBuffer } = await import('file-type');
  // A file may be cut off, or lie about its length, exactly where its type is looked up.
  const found = await fileTypeFromBuffer(bytes).catch(() => undefined);
  if (found !== undefined && found.mime !== 'application/xml') return found.mime;
  const decoded = decodeText(bytes, known);
  return decoded === undefined ? found?.mime : textType(decoded.text, known);
}

/** A drawing that is a program (SVG) is a file, not a picture. */
function kindOf(mimeType: string): MediaKind {
  if (mimeType === 'image/svg+xml') return 'file';
  const [kind] = mimeType.split('/');
  return kind === 'image' || kind === 'audio' || kind === 'video' ? kind : 'file';
}
