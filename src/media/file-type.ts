/** What a file is, by its first bytes: for answers about uploads and for downloads. Nothing is opened or unpacked. */
import type { FileTypeOf } from '../contracts/file-api.ts';
import type { MediaKind } from '../contracts/media.ts';

/** Types of text that bytes do not tell apart, by the ending of the name. */
const TEXTS: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  json: 'application/json',
  md: 'text/markdown',
};

/** Reads the type of a file. */
export const fileTypeOf: FileTypeOf = async (head, name) => {
  const mimeType = (await magicType(head)) ?? textType(head, name) ?? 'application/octet-stream';
  return { kind: kindOf(mimeType), mimeType };
};

/** The type by magic numbers. The library is loaded with the first file. */
async function magicType(head: Uint8Array): Promise<string | undefined> {
  const { fileTypeFromBuffer } = await import('file-type');
  // A file that is cut off where its type is looked for has none.
  const found = await fileTypeFromBuffer(head).catch(() => undefined);
  return found?.mime === 'application/xml' ? undefined : found?.mime;
}

/** The type of a text; undefined for bytes that are none. */
function textType(head: Uint8Array, name: string): string | undefined {
  const text = decode(head);
  if (text === undefined) return undefined;
  const start = text.slice(0, 1_000).trimStart().toLowerCase();
  if (/^<(?:!doctype html|html)/.test(start)) return 'text/html';
  if (start.startsWith('<svg') || (start.startsWith('<?xml') && start.includes('<svg')))
    return 'image/svg+xml';
  if (start.startsWith('<?xml')) return 'application/xml';
  return TEXTS[name.slice(name.lastIndexOf('.') + 1).toLowerCase()] ?? 'text/plain';
}

/** UTF-8 whose last character may be cut off; undefined for anything else. */
function decode(head: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: true });
    // oxlint-disable-next-line no-control-regex -- they are what is looked for
    return /[\0-\x08\x0e-\x1a]/.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

/** A drawing that is a program (SVG) is a file, not a picture. */
function kindOf(mimeType: string): MediaKind {
  if (mimeType === 'image/svg+xml') return 'file';
  const [kind] = mimeType.split('/');
  return kind === 'image' || kind === 'audio' || kind === 'video' ? kind : 'file';
}
