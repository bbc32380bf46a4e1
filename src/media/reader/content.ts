/** What a file is, by its bytes, and what is in it. Runs in the process that reads files. */
import { decodeText, mimeTypeOf, withNote } from './file-type.ts';
import { unzipSync, zipSync } from 'fflate';
import {
  MAX_DOCUMENT_CHARS,
  MAX_PDF_PAGES,
  MAX_PICTURE_SIDE,
  MAX_PIXELS,
  MAX_UNPACKED_BYTES,
  type ReaderAnswer,
} from './protocol.ts';
import { optionalModule } from '../../protocol/errors.ts';
import { inEnglish } from '../../protocol/texts/say.ts';

/** Formats that are opened, with the name of their loader. Sharp itself refuses everything else. */
const LOADERS: Readonly<Record<string, string>> = {
  'image/jpeg': 'VipsForeignLoadJpeg',
  'image/png': 'VipsForeignLoadPng',
  'image/apng': 'VipsForeignLoadPng',
  'image/webp': 'VipsForeignLoadWebp',
  'image/gif': 'VipsForeignLoadNsgif',
  'image/avif': 'VipsForeignLoadHeif',
  'image/heic': 'VipsForeignLoadHeif',
  'image/heif': 'VipsForeignLoadHeif',
  'image/tiff': 'VipsForeignLoadTiff',
};

const QUALITY = 85;

/** Time after which no further page is started, in milliseconds: what was read until then is still useful. */
const PAGES_MS = 10_000;

const DOCX = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';
const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';

/** Formats of documents, and what extracts their text. */
const DOCUMENTS: Readonly<Record<string, (bytes: Buffer) => Promise<string>>> = {
  'application/pdf': readPdf,
  [DOCX]: readDocx,
  [XLSX]: readXlsx,
};

/** An answer about a file, with the bytes of the picture. */
type Content = ReaderAnswer & { image?: Buffer };

/** Reads a file. Never throws: any problem with the file is the answer's `problem`. */
export async function readContent(bytes: Buffer): Promise<Content> {
  const mimeType = await mimeTypeOf(bytes);
  try {
    if (mimeType === undefined) return { mimeType: 'application/octet-stream' };
    if (mimeType in LOADERS) return { mimeType, ...(await readPicture(bytes)) };
    const read = DOCUMENTS[mimeType];
    if (read !== undefined) return { mimeType, ...bounded(await read(bytes)) };
    const isMarkup = mimeType.startsWith('text/') || /[/+](json|xml)$/.test(mimeType);
    const decoded = isMarkup ? decodeText(bytes) : undefined;
    return { mimeType, ...(decoded !== undefined && bounded(withNote(decoded))) };
  } catch (error) {
    return { mimeType: mimeType ?? 'application/octet-stream', ...wordProblem(error) };
  }
}

function bounded(text: string): Pick<ReaderAnswer, 'text' | 'cut'> {
  if (text.length <= MAX_DOCUMENT_CHARS) return { text };
  return { text: text.slice(0, MAX_DOCUMENT_CHARS).toWellFormed(), cut: true };
}

/** The libraries' own messages, of which only the beginning is useful. */
function wordProblem(error: unknown): Pick<ReaderAnswer, 'problem' | 'reason'> {
  const message = error instanceof Error ? error.message : String(error);
  const reason = message.split('\n')[0]?.slice(0, 150).toWellFormed() ?? '';
  return { problem: inEnglish('upload.unreadable', { why: reason }), reason };
}

/** The pages' texts, each under its number; scripts and forms are not run. May throw any error. */
async function readPdf(bytes: Buffer): Promise<string> {
  const { getDocumentProxy } = await import('unpdf');
  const document = await getDocumentProxy(new Uint8Array(bytes)).catch((error: unknown) => {
    if (error instanceof Error && error.name === 'PasswordException')
      throw new Error('it is protected by a password');
    throw error;
  });
  const { numPages } = document;
  const pages: string[] = [];
  let chars = 0;
  let number = 1;
  const until = performance.now() + PAGES_MS;
  for (; number <= Math.min(numPages, MAX_PDF_PAGES); number += 1) {
    if (chars > MAX_DOCUMENT_CHARS || performance.now() > until) break;
    const page = await document.getPage(number);
    const { items } = await page.getTextContent();
    const text = items.map((item) => ('str' in item ? item.str + (item.hasEOL ? '\n' : '') : '')).join('');
    page.cleanup();
    chars += text.length;
    if (text.trim() !== '') pages.push(`[page ${number} of ${numPages}]\n${text.trim()}`);
  }
  if (pages.length === 0) throw new Error('it contains no text, only images of it');
  if (number <= numPages) pages.push(`[only the first ${number - 1} of ${numPages} pages were read]`);
  return pages.join('\n\n');
}

/** An upright JPEG, white where it was transparent; of a moving picture, its first frame. May throw any error. */
async function readPicture(bytes: Buffer): Promise<Pick<ReaderAnswer, 'picture'> & { image: Buffer }> {
  const { default: sharp } = await optionalModule(import('sharp'), 'Reading a picture');
  sharp.block({ operation: ['VipsForeignLoad'] });
  sharp.unblock({ operation: [...new Set(Object.values(LOADERS))] });
  const { data, info } = await sharp(bytes, { limitInputPixels: MAX_PIXELS, failOn: 'error' })
    .rotate()
    .resize(MAX_PICTURE_SIDE, MAX_PICTURE_SIDE, { fit: 'inside', withoutEnlargement: true })
    .flatten({ background: 'white' })
    .jpeg({ quality: QUALITY, chromaSubsampling: '4:4:4' })
    .toBuffer({ resolveWithObject: true });
  return { image: data, picture: { width: info.width, height: info.height } };
}

/** The text of a .docx, paragraph by paragraph. May throw any error. */
async function readDocx(bytes: Buffer): Promise<string> {
  const { default: mammoth } = await optionalModule(import('mammoth'), 'Reading a .docx');
  const { value } = await mammoth.extractRawText({ buffer: Buffer.from(texts(bytes)) });
  return value.trim();
}

/** The sheets of an .xlsx as comma-separated lines, each under its name. May throw any error. */
async function readXlsx(bytes: Buffer): Promise<string> {
  const { default: readSheets } = await optionalModule(
    import('read-excel-file/universal'),
    'Reading an .xlsx',
  );
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
 * The unpacked archive with its texts only, so that no later step unpacks more. A wrong size cuts its entry off. Throws
 * if the sizes add up to too much.
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
