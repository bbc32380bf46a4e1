/** Durations, counts and keys of the texts of a trace. */
import { isTextKey, type PlainKey } from '../../protocol/texts/say.ts';

/** A duration: `80 ms`, `1.2 s`, `3 min 5 s`, `2 h 10 min`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`;
}

/** A whole number with separators. */
export function whole(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

/** A count in both forms: the number that plurals depend on, and with separators. */
export function numbered(count: number): { count: number; number: string } {
  return { count, number: whole(count) };
}

/** Whether there is a text under this key; only for keys of a kind that needs no values. */
export function isPlainKey(key: string): key is PlainKey {
  return isTextKey(key);
}
