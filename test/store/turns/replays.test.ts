/** What replays keep in the database, and what deletes it. */
import { expect, it } from 'vitest';
import { MAX_EVAL_SETS, type TurnRecord } from '../../../src/protocol/agent/replays.ts';
import { describeStore } from '../../database.ts';

const TOOL = { name: 'look', description: 'Looks.', parameters: { type: 'object' } };

function recordOf(turnId: string): TurnRecord {
  return {
    turnId,
    session: 'http:s',
    reason: 'completed',
    acceptedAt: '2026-01-01T00:00:00.000Z',
    ms: 1,
    answer: '',
    history: [],
    journal: [
      { seq: 1, turnId, iteration: 0, entry: { kind: 'user', content: `question of ${turnId}` }, tokens: 1 },
    ],
    profileId: null,
    prompt: null,
    tools: null,
  };
}

describeStore('replays', (databases) => {
  it('keep definitions of tools until the traces that refer to them are deleted', async () => {
    const { replays, traces, sql } = await databases.open();
    await replays.keepTools('old', [TOOL]);
    await replays.keepTools('used', [TOOL]);
    await sql`update tool_list set used_at = now() - interval '20 days'`;
    await replays.keepTools('used', [TOOL]);
    await traces.purgeTraces(7 * 24 * 3_600_000, 100);
    expect(await sql`select key from tool_list`).toEqual([{ key: 'used' }]);
  });

  it(`have at most ${MAX_EVAL_SETS} sets, and mark a turn once in each`, async () => {
    const { replays } = await databases.open();
    for (let n = 0; n < MAX_EVAL_SETS; n += 1)
      expect(await replays.mark(`set-${n}`, recordOf('t1'), [])).toBe('marked');
    expect(await replays.mark('one-more', recordOf('t1'), [])).toBe('full');
    expect(await replays.mark('set-0', recordOf('t1'), [{ type: 'contains', text: 'x' }])).toBe('marked');
    expect(await replays.marks({ set: 'set-0' })).toMatchObject([
      { turnId: 't1', question: 'question of t1', checks: [{ type: 'contains', text: 'x' }] },
    ]);
    expect(await replays.unmark('set-0', 't1')).toBe(true);
    expect(await replays.unmark('set-0', 't1')).toBe(false);
    expect(await replays.mark('one-more', recordOf('t2'), [])).toBe('marked');
  });

  it('know no turn that there is not', async () => {
    const { replays } = await databases.open();
    expect(await replays.turnRecord('nothing')).toBeUndefined();
    expect(await replays.evalCase('default', 'nothing')).toBeUndefined();
  });
});
