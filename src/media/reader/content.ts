/** What a file is, by its bytes, and what is in it. Runs in the process that reads files. */
import { mimeTypeOf } from '../file-type.ts';
import { readDocx, readXlsx } from './office.ts';
import { readPdf } from './pdf.ts';
import { isPicture, readPicture } from './picture.ts';
import { decodeText, withNote } from './plain-text.ts';
import { MAX_DOCUMENT_CHARS, type ReaderAnswer } from './protocol.ts';
import { inEnglish } from '../../contracts/texts/say.ts';

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
    if (isPicture(mimeType)) return { mimeType, ...(await readPicture(bytes)) };
    const read = DOCUMENTS[mimeType];
    if (read !== undefined) return { mimeType, ...bounded(await read(bytes)) };
    const decoded = isMarkup(mimeType) ? decodeText(bytes) : undefined;
    return { mimeType, ...(decoded !== undefined && bounded(withNote(decoded))) };
  } catch (error) {
    return { mimeType: mimeType ?? 'application/octet-stream', ...wordProblem(error) };
  }
}

function isMarkup(mimeType: string): boolean {
  return mimeType.startsWith('text/') || /[/+](json|xml)$/.test(mimeType);
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
