/**
 * The progress of a tool call, for people who watch: one line at a time, at a pace that slows down with the age of the
 * call.
 */
import type { ToolCall } from '../../contracts/model/provider.ts';
import { oneLine } from '../../lib/text.ts';
import type { Emit } from '../deps.ts';

/** Longest line, in UTF-16 units. */
export const MAX_PROGRESS_CHARS = 160;
/** Shortest pause between two lines, in milliseconds. */
export const PROGRESS_PAUSE_MS = 500;
/** The pause is at least this part of the time that the call has run: an hour brings about 350 lines. */
const PAUSE_SHARE = 1 / 60;

/** Makes `ToolContext.progress` of a call; `monotonicNow` in milliseconds. Lines that come too soon are dropped. */
export function createProgress(
  emit: Emit,
  { id: toolCallId, name }: Pick<ToolCall, 'id' | 'name'>,
  monotonicNow = (): number => performance.now(),
): (text: string) => void {
  const since = monotonicNow();
  let last: number | undefined;
  return (given) => {
    const now = monotonicNow();
    const pause = Math.max(PROGRESS_PAUSE_MS, (now - since) * PAUSE_SHARE);
    if (last !== undefined && now - last < pause) return;
    const text = oneLine(given.slice(0, 4 * MAX_PROGRESS_CHARS));
    if (text === '') return;
    last = now;
    emit({ type: 'tool_progress', toolCallId, name, text: text.slice(0, MAX_PROGRESS_CHARS).toWellFormed() });
  };
}
