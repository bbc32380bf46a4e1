/** Chooses the turns that a summary replaces: the oldest ones, whole; the newest stay unchanged. */
import type { UnsummarizedRow } from '../../contracts/store/contexts.ts';
import type { Profile } from '../../contracts/agent/profile.ts';
import { HISTORY_ROWS } from '../../contracts/store/accept.ts';
import type { ContextSize } from '../prompt/context-window.ts';

/** Rows from which on the oldest are summarized, before they drop out of the history. */
export const MAX_UNSUMMARIZED_ROWS = HISTORY_ROWS - 2;
/** Share of the budget that the newest turns may keep. */
export const KEEP_SHARE = 0.3;
/** Rows that the newest turns may keep. */
export const KEEP_ROWS = 16;
/** Fewer tokens than this are not worth a model call. */
export const MIN_COVERED_TOKENS = 600;

/** True when the tokens pass the profile's share of the budget (N-67). */
export function exceedsThreshold(profile: Profile, { tokens }: ContextSize, budget: number): boolean {
  return profile.compressionEnabled && tokens > budget * profile.compressionThreshold;
}

/** True when the context exceeds the threshold, or when its oldest rows would soon drop out of the history. */
export function shouldCompressAfterTurn(profile: Profile, size: ContextSize, budget: number): boolean {
  return (
    exceedsThreshold(profile, size, budget) ||
    (profile.compressionEnabled && size.rows >= MAX_UNSUMMARIZED_ROWS)
  );
}

/** The rows of one turn, or one summary. */
export interface TurnGroup {
  laneSeq: number;
  rows: UnsummarizedRow[];
  tokens: number;
}

/** Groups rows by turn, in order. */
export function byTurn(rows: readonly UnsummarizedRow[]): TurnGroup[] {
  const turns: TurnGroup[] = [];
  for (const row of rows) {
    const last = turns.at(-1);
    if (last?.laneSeq === row.laneSeq) {
      last.rows.push(row);
      last.tokens += row.tokens;
    } else turns.push({ laneSeq: row.laneSeq, rows: [row], tokens: row.tokens });
  }
  return turns;
}

/**
 * The turns to summarize, oldest first: all except the newest ones that fit `KEEP_SHARE` of the budget and `KEEP_ROWS`; at
 * least one is kept. Empty when too little would be summarized.
 */
export function chooseTurns(rows: readonly UnsummarizedRow[], budget: number): TurnGroup[] {
  const turns = byTurn(rows);
  let tokens = 0;
  let kept = 0;
  let from = turns.length;
  while (from > 0) {
    const turn = turns[from - 1]!;
    tokens += turn.tokens;
    kept += turn.rows.length;
    const fits = tokens <= budget * KEEP_SHARE && kept <= KEEP_ROWS;
    if (!fits && from < turns.length) break;
    from -= 1;
  }
  const chosen = turns.slice(0, from);
  const worth = chosen.reduce((sum, turn) => sum + turn.tokens, 0);
  const fresh = chosen.some((turn) => turn.rows.some(({ entry }) => entry.kind !== 'summary'));
  return fresh && worth >= MIN_COVERED_TOKENS ? chosen : [];
}
