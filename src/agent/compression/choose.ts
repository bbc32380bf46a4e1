/** Chooses the turns that a summary replaces: the oldest ones, whole; the newest stay unchanged. */
import { HISTORY_ROWS, type UnsummarizedRow } from '../../protocol/store/accept.ts';
import type { Profile } from '../../protocol/agent/profile.ts';
import type { ContextSize } from '../prompt/context-window.ts';

/** Rows from which on the oldest are summarized, before they drop out of the history. */
export const MAX_UNSUMMARIZED_ROWS = HISTORY_ROWS - 2;
/** Largest share of the budget that a summary may have. */
export const SUMMARY_SHARE = 0.15;
/**
 * Share of the budget that the newest turns may keep. With the summary, the context is then at most 35 % of the budget, so
 * that several turns pass before the next one.
 */
export const KEEP_SHARE = 0.2;
/** Rows that the newest turns may keep. */
export const KEEP_ROWS = 16;
/** A smaller share of the budget is not worth a model call, unless it is this many rows and more than a summary has. */
export const MIN_COVERED_SHARE = 0.2;
export const MIN_COVERED_ROWS = 20;
export const MIN_COVERED_TOKENS = 400;
/** Where the newest turn alone is too long to come down to 35 %, fewer new turns than this are not summarized. */
export const MIN_NEW_TURNS = 2;

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
 * least one is kept. Empty when too little would be summarized, or when the context would soon be as large again: unless
 * it is larger than the budget, and turns fall out of it.
 */
export function chooseTurns(rows: readonly UnsummarizedRow[], budget: number): TurnGroup[] {
  const turns = byTurn(rows);
  let tokens = 0;
  let kept = 0;
  let from = turns.length;
  while (from > 0) {
    const turn = turns[from - 1]!;
    const fits = tokens + turn.tokens <= budget * KEEP_SHARE && kept + turn.rows.length <= KEEP_ROWS;
    if (!fits && from < turns.length) break;
    tokens += turn.tokens;
    kept += turn.rows.length;
    from -= 1;
  }
  const chosen = turns.slice(0, from);
  const covered = sumOf(chosen);
  const newTurns = chosen.filter((turn) => turn.rows.some(({ entry }) => entry.kind !== 'summary')).length;
  const lasts = tokens <= budget * KEEP_SHARE || newTurns >= MIN_NEW_TURNS || covered + tokens > budget;
  const coveredRows = chosen.reduce((sum, turn) => sum + turn.rows.length, 0);
  const isLong = coveredRows >= MIN_COVERED_ROWS && covered >= MIN_COVERED_TOKENS;
  const isWorth = covered >= budget * MIN_COVERED_SHARE || isLong;
  return newTurns > 0 && lasts && isWorth ? chosen : [];
}

function sumOf(turns: readonly TurnGroup[]): number {
  return turns.reduce((sum, { tokens }) => sum + tokens, 0);
}
