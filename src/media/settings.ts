/** The limits of files that come with messages. */
import { z } from 'zod';
import type { FileLimits, PersonLimit } from '../contracts/file-api.ts';

/** `media` in `config.json`. */
export const mediaRule = z.strictObject({
  /** Largest file. */
  maxFileMb: z.int().min(1).max(2_000).default(20),
  /** Files of one message; the rest are refused. */
  maxFilesPerMessage: z.int().min(1).max(100).default(10),
  /** What one person's files may take up together. */
  maxMbPerPerson: z.int().min(1).max(1_000_000).default(500),
  /** Files are removed after this time. */
  keepDays: z.int().min(1).max(3_650).default(30),
});

export type MediaSettings = z.infer<typeof mediaRule>;

/** The limits of files that callers upload. */
export function fileLimitsOf({ maxFileMb, maxFilesPerMessage }: MediaSettings): FileLimits {
  return { maxFileBytes: maxFileMb * MEGABYTE, maxFilesPerMessage };
}

/** What the files of one person may take up together, and how long they count. */
export function personLimitOf({ maxMbPerPerson, keepDays }: MediaSettings): PersonLimit {
  return { maxBytes: maxMbPerPerson * MEGABYTE, days: keepDays };
}

/** Bytes of a megabyte, as people count them. */
export const MEGABYTE = 1_000_000;
