/** The limits of files that come with messages. */
import { z } from 'zod';
import type { FileLimits, PersonLimit } from '../protocol/file-api.ts';

/** `media` in `config.json`. */
export const mediaRule = z.strictObject({
  maxFileMb: z
    .int()
    .min(1)
    .max(2_000)
    .default(20)
    .describe('largest [file](files.md) of a message, in megabytes; a larger one is refused with a message'),
  maxFilesPerMessage: z
    .int()
    .min(1)
    .max(100)
    .default(10)
    .describe('files of one message that are read; the rest are refused'),
  maxMbPerPerson: z
    .int()
    .min(1)
    .max(1_000_000)
    .default(500)
    .describe('what the files of one person may take up together, in megabytes'),
  keepDays: z
    .int()
    .min(1)
    .max(3_650)
    .default(30)
    .describe('days after which the files of messages are removed'),
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
