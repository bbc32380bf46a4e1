/** Which transaction a kill preceded: derived from which rows existed and which did not. */
import { readQuestion } from '../script.ts';
import type { KillRows, OpenTurn } from '../rows.ts';

export const WINDOWS = ['T1', 'T2', 'T3', 'T4', 'T5', 'T6', 'T7'] as const;
export type Window = (typeof WINDOWS)[number];

/** What one kill struck. */
export interface Strike {
  /** Turns in each window; a growing reply without a stored id counts for T5 in addition to its T6. */
  hits: Record<Window, number>;
  /** Turns that were running. */
  running: number;
}

/** `unacknowledged`: messages that were not acknowledged yet when the process died. */
export function classify(rows: KillRows, unacknowledged: number): Strike {
  const hits = { T1: unacknowledged, T2: 0, T3: 0, T4: 0, T5: 0, T6: 0, T7: rows.deliveries.length };
  const running = rows.turns.filter((turn) => turn.state === 'running');
  for (const turn of running) {
    const next = nextOf(turn);
    hits[next] += 1;
    if (next === 'T6' && turn.parts === null && turn.address.startsWith('telegram:')) hits.T5 += 1;
  }
  return { hits, running: running.length };
}

/** The next transaction of a running turn. */
function nextOf(turn: OpenTurn): Window {
  const answers = turn.journal.filter((row) => row.kind === 'assistant');
  const last = answers.at(-1);
  const done = (kind: string, part: number): boolean =>
    turn.journal.some((row) => row.kind === kind && row.iteration === last?.iteration && row.part === part);
  for (const [part, name] of (last?.toolNames ?? []).entries()) {
    if (done('tool_result', part)) continue;
    return name.startsWith('pure') || done('tool_intent', part) ? 'T4' : 'T3';
  }
  const rounds = readQuestion(turn.question)?.rounds.length ?? 0;
  return answers.length < rounds ? 'T2' : 'T6';
}
