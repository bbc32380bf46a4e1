/** The text of word-processor documents and spreadsheets. */
import { unzipSync, zipSync } from 'fflate';
import { MAX_UNPACKED_BYTES } from './protocol.ts';

/** The text of a .docx, paragraph by paragraph. May throw any error. */
export async function readDocx(bytes: Buffer): Promise<string> {
  const { default: mammoth } = await import('mammoth');
  const { value } = await mammoth.extractRawText({ buffer: Buffer.from(texts(bytes)) });
  return value.trim();
}

/** The sheets of an .xlsx as comma-separated lines, each under its name. May throw any error. */
export async function readXlsx(bytes: Buffer): Promise<string> {
  const { default: readSheets } = await import('read-excel-file/universal');
  const sheets = await readSheets(new Blob([texts(bytes)]));
  return sheets
    .map(({ sheet, data }) => `[sheet ${sheet}]\n${data.map((row) => row.map(cell).join(',')).join('\n')}`)
    .join('\n\n');
}

function cell(value: unknown): string {
  if (value instanceof Date) return value.toISOString().replace('T00:00:00.000Z', '');
  if (typeof value !== 'string') return JSON.stringify(value ?? '').replace('""', '');
  return /[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}

/**
 * The unpacked archive with its texts only: no later step can unpack more than was counted here. An entry gets the size
 * that it claims, so a wrong claim cuts it off. Throws when the claims add up to too much.
 */
function texts(archive: Uint8Array): Uint8Array<ArrayBuffer> {
  let bytes = 0;
  const files = unzipSync(archive, {
    filter: ({ name, originalSize }) => {
      if (!/\.(xml|rels)$/i.test(name)) return false;
      bytes += originalSize;
      if (bytes > MAX_UNPACKED_BYTES)
        throw new Error(`it unpacks to more than ${MAX_UNPACKED_BYTES / 1e6} MB`);
      return true;
    },
  });
  return new Uint8Array(zipSync(files, { level: 0 }));
}
