/** Journals as pages: the newest rows within the limits, for the requested turns. */
import { expect, it } from 'vitest';
import { MAX_WORK_ROWS, MAX_WORK_TOKENS } from '../../../src/protocol/sessions/turn-work.ts';
import { describeStore, type TestStore } from '../../database.ts';

describeStore('journals, read as a page', (databases) => {
  /** Answers of a turn; the n-th counts `tokens[n]`. */
  const answers = async (store: TestStore, turnId: string, tokens: readonly number[]): Promise<void> => {
    const rows = JSON.stringify(tokens);
    await store.sql`
      insert into context (session, lane_seq, turn_id, iteration, kind, part, payload, tokens)
      select 'http:a', 1, ${turnId}, place, 'assistant', 0,
        jsonb_build_object('kind', 'assistant', 'content', place::text, 'toolCalls', '[]'::jsonb, 'msgId', place::text),
        count::int
      from jsonb_array_elements_text(${rows}::text::jsonb) with ordinality as given (count, place) order by place`;
  };

  it('have all rows up to the token limit, and drop the oldest ones beyond it', async () => {
    const store = await databases.open();
    await answers(store, 'fits', [1, MAX_WORK_TOKENS - 1]);
    await answers(store, 'cut', [2, MAX_WORK_TOKENS - 1]);
    const whole = await store.journals.journals(['fits']);
    expect([whole.rows.length, [...whole.cut]]).toEqual([2, []]);
    const part = await store.journals.journals(['cut']);
    expect(part.rows.map(({ iteration }) => iteration)).toEqual([2]);
    expect([...part.cut]).toEqual(['cut']);
  });

  it('have a limited number of rows, the newest ones, and name each journal that is cut', async () => {
    const store = await databases.open();
    const one = (count: number): number[] => Array.from({ length: count }, () => 1);
    await answers(store, 'old', one(2));
    await answers(store, 'new', one(MAX_WORK_ROWS - 1));
    const { rows, cut } = await store.journals.journals(['new', 'old']);
    expect(rows).toHaveLength(MAX_WORK_ROWS);
    expect([...cut]).toEqual(['old']);
    expect((await store.journals.journals(['new'])).cut.size).toBe(0);
    expect((await store.journals.journals([])).rows).toEqual([]);
  });
});
