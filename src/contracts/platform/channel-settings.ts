/** Settings that several channels have: each describes them in its own words. */
import { z } from 'zod';

/** Longest setting of an edit interval, in milliseconds: with a longer one a reply would not visibly grow. */
export const MAX_EDIT_INTERVAL_MS = 60_000;

/** Minimum time between two edits of a growing answer in one place, in milliseconds. */
export function editInterval(usualMs: number, description: string) {
  return z.int().min(1).max(MAX_EDIT_INTERVAL_MS).default(usualMs).describe(description);
}

/** Whether questions get status signs: usually only in groups. */
export function reactionSettings(descriptions: { private: string; group: string }) {
  return z
    .strictObject({
      private: z.boolean().default(false).describe(descriptions.private),
      group: z.boolean().default(true).describe(descriptions.group),
    })
    .prefault({});
}
