/** What the gateway and the process that reads files send each other: a line of JSON, then bytes. */
import { z } from 'zod';

/** Longest side of a picture for a model, in pixels: larger ones are scaled down by the models themselves. */
export const MAX_PICTURE_SIDE = 1_568;
/** Most pixels of a picture that is opened at all: a small file can contain a huge one. */
export const MAX_PIXELS = 50_000_000;
/** Longest text that is extracted from a document, in UTF-16 units. */
export const MAX_DOCUMENT_CHARS = 1_000_000;
/** Pages of a PDF that are read. */
export const MAX_PDF_PAGES = 1_000;
/** What the texts in an archive (docx, xlsx) may unpack to, in bytes. */
export const MAX_UNPACKED_BYTES = 50_000_000;

/** The answer about one file; the picture's bytes follow its line. */
export const answerShape = z.object({
  mimeType: z.string(),
  text: z.string().optional(),
  /** Only the beginning of a document was read. */
  cut: z.boolean().optional(),
  picture: z.object({ width: z.number(), height: z.number() }).optional(),
  /** Why the content could not be read, as the end of "it …". */
  problem: z.string().optional(),
  /** What the library says of it. */
  reason: z.string().optional(),
});

export type ReaderAnswer = z.infer<typeof answerShape>;
