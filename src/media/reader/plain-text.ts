/** Plain text: whether bytes are plain text, and of what kind. */

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

/** Bytes as text: UTF-8, or UTF-16 with its mark. Undefined for anything else. Never throws. */
export function decodeText(bytes: Uint8Array, { cut = false }: Known = {}): string | undefined {
  const [first, second] = bytes;
  const encoding =
    first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
  try {
    // The last character of a truncated file may be cut in two.
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes, { stream: cut });
    // Control characters other than those of lines, tabs and terminals are not text.
    // oxlint-disable-next-line no-control-regex -- they are what is looked for
    return /[\0-\x06\x0e-\x1a]/.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

/** The type of a text by its first characters, then by its name. Never throws. */
export function textType(text: string, { name = '' }: Known = {}): string {
  const start = text.slice(0, LOOKED_AT).trimStart().toLowerCase();
  if (start.startsWith('<!doctype html') || start.startsWith('<html')) return 'text/html';
  if (start.startsWith('<svg') || (start.startsWith('<?xml') && start.includes('<svg')))
    return 'image/svg+xml';
  if (start.startsWith('<?xml')) return 'application/xml';
  const named = ENDINGS[name.slice(name.lastIndexOf('.') + 1).toLowerCase()];
  return named ?? (isJson(text, start) ? 'application/json' : 'text/plain');
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
