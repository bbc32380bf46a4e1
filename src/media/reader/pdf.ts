/** The text of a PDF, page by page. */
import { MAX_DOCUMENT_CHARS, MAX_PDF_PAGES } from './protocol.ts';

/** Time after which no further page is started, in milliseconds: what was read until then is still useful. */
const PAGES_MS = 10_000;

/** The pages' texts, each under its number; scripts and forms are not run. May throw any error. */
export async function readPdf(bytes: Buffer): Promise<string> {
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
  if (pages.length === 0) throw new Error('it holds no text, only pictures of it');
  if (number <= numPages) pages.push(`[only the first ${number - 1} of ${numPages} pages were read]`);
  return pages.join('\n\n');
}
