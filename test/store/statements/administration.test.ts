/** Rows that operators delete: a dead letter is deleted permanently, any other message stays. */
import { expect, it } from 'vitest';
import { describeStore } from '../../database.ts';

const LANE = 'out:telegram:42';

describeStore('a dead letter', (databases) => {
  it('is dropped once; a message that is not dead stays', async () => {
    const { sql, lanes, administration } = await databases.open();
    await sql`insert into lane (key, head, tail) values (${LANE}, 1, 2)`;
    await sql`
      insert into lane_item (lane, seq, dedupe, payload, dead, done_at, error)
      values (${LANE}, 1, 'a', '{}', true, now(), 'gone wrong'), (${LANE}, 2, 'b', '{}', false, null, null)`;
    expect(await lanes.deadLetters(9)).toMatchObject([{ lane: LANE, seq: 1, error: 'gone wrong' }]);
    expect(await administration.dropDeadLetter(LANE, 2)).toBe(false);
    expect(await administration.dropDeadLetter(LANE, 1)).toBe(true);
    expect(await administration.dropDeadLetter(LANE, 1)).toBe(false);
    expect(await lanes.deadLetters(9)).toEqual([]);
    expect(await sql`select seq from lane_item`).toHaveLength(1);
  });
});
