/** Replays as the tests of reports and checks need them. */
import type { Replay, ReplaySide, ReportedSide, EvalItem } from '../../../src/protocol/agent/replays.ts';

const SIDE: ReplaySide = {
  model: 'big',
  profileId: 'default',
  answer: 'It is Paris.',
  reason: 'completed',
  calls: [],
  iterations: 1,
  usage: [],
  ms: 1_200,
};

/** A replay whose second answer is this. */
export function replayOf(side: Partial<ReplaySide>): Replay {
  return {
    turnId: 't1',
    session: 'http:trip',
    question: 'What is the capital of France?',
    original: { ...SIDE, model: 'small' },
    replay: { ...SIDE, ...side },
    missing: [],
  };
}

/** An item of an evaluation. */
export function itemOf(
  model: string,
  checks: EvalItem['checks'],
  side: Partial<ReportedSide> = {},
): EvalItem {
  const { usage: _, ...rest } = SIDE;
  const sums = { promptTokens: 1_000, completionTokens: 20, estimated: false, modelMs: 900 };
  const report = {
    ...replayOf({}),
    original: { ...rest, ...sums, model: 'small' },
    replay: { ...rest, ...sums, model, ...side },
    missing: [],
  };
  return { model, pass: checks.every(({ pass }) => pass), checks, report };
}
