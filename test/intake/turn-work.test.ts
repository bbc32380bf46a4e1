/** The work of a turn, reconstructed from its journal. */
import { expect, it } from 'vitest';
import { workOf } from '../../src/intake/api/turn-api.ts';
import type { PlanFact } from '../../src/protocol/agent/plan.ts';
import type { WorkStore } from '../../src/protocol/sessions/turn-work.ts';
import { STEP_ITERATIONS } from '../../src/protocol/store/records.ts';
import { plan, step } from '../fakes/gateway/shown-plans.ts';

const SESSION = 'http:trip';
const TURN = 't1';

/** A journal with the text of one model call in each of these runs of steps. */
function storeOf(runs: readonly number[], facts: readonly PlanFact[]): WorkStore {
  const rows = runs.map((run, index) => ({
    seq: index + 1,
    turnId: TURN,
    iteration: run * STEP_ITERATIONS + 1,
    tokens: 1,
    entry: { kind: 'assistant' as const, content: `text of run ${run}`, toolCalls: [], msgId: `m${run}` },
  }));
  return {
    journals: async (ids) =>
      ids.includes(TURN)
        ? { rows, approvals: [], facts: facts.map((fact) => ({ turnId: TURN, fact })), cut: new Set() }
        : { rows: [], approvals: [], facts: [], cut: new Set() },
  };
}

async function titles(store: WorkStore): Promise<(string | undefined)[]> {
  const [work] = await workOf(store, SESSION, [TURN]);
  return (work?.events ?? []).flatMap((event) => (event.type === 'thinking_started' ? [event.title] : []));
}

it('names each step as the plan named it when it began, even if a correction has moved it since', async () => {
  const made = plan([step(0), step(1)]);
  const repaired = plan([
    step(0),
    step(0, { id: 'x', index: 1, description: 'Look again' }),
    step(1, { index: 2 }),
  ]);
  const facts: PlanFact[] = [
    { type: 'started', plan: made },
    { type: 'step_began', stepId: 's0', run: 1 },
    { type: 'corrected', stepId: 's0', action: 'insert_steps', reason: 'it failed', plan: repaired },
    { type: 'step_began', stepId: 'x', run: 2 },
    { type: 'step_began', stepId: 's1', run: 3 },
  ];
  expect(await titles(storeOf([1, 2, 3], facts))).toEqual([
    'Step 1: Do thing number 1',
    'Step 2: Look again',
    'Step 3: Do thing number 2',
  ]);
});

it('falls back to calling it a step when the facts of its plan are no longer kept', async () => {
  expect(await titles(storeOf([4], []))).toEqual(['A step of the plan']);
});
