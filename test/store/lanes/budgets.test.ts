/** Budgets in the database: reserves cannot be raced, by whichever node, and what was used is spent once. */
import { array, assert as assertProperty, asyncProperty, boolean, integer, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BudgetStore } from '../../../src/protocol/agent/budgets.ts';
import { FencedError } from '../../../src/protocol/errors.ts';
import { describeStore, type TestStore } from '../../database.ts';
import { finished, startTurn } from './turns.ts';

const KEY = 'person/tokens/2026-11-30/telegram:42';
const MONEY = 'total/EUR/2026-11/';
const cap = (amount: number, limit = 1_000, key = KEY) => ({ key, limit, inTokens: key !== MONEY, amount });

async function stateOf({ budgets }: { budgets: BudgetStore }, key = KEY) {
  const { spent = 0, held = 0, more = 0 } = (await budgets.states({ keys: [key] })).get(key) ?? {};
  return { spent, held, more };
}

const usage = (tokens: number) => [{ model: 'm', promptTokens: tokens, completionTokens: 0, modelMs: 1 }];

/** Ends a turn that has used this much. */
async function finish(
  store: TestStore,
  turn: Awaited<ReturnType<typeof startTurn>>,
  tokens: number,
): Promise<void> {
  const settles = { holder: turn.turnId, tokens, micros: 2 * tokens, ends: true };
  await store.ledger.finishTurn(turn.head, finished(turn.turnId, 'done', { usage: usage(tokens), settles }));
}

describeStore('budgets', (databases) => {
  it('lets 64 reserves at once from two nodes reserve no more than the cap', async () => {
    const one = await databases.open();
    const two = await databases.open({ beside: one });
    await one.budgets.open([{ key: KEY, spent: 40 }]);
    const outcomes = await Promise.all(
      Array.from({ length: 64 }, (_, nth) =>
        (nth % 2 === 0 ? one : two).budgets.reserve({ holder: `turn ${nth}` }, [cap(100)]),
      ),
    );
    expect(outcomes.filter(({ kind }) => kind === 'held')).toHaveLength(9);
    expect(outcomes.filter(({ kind }) => kind === 'refused')).toHaveLength(55);
    expect(await stateOf(one)).toEqual({ spent: 40, held: 900, more: 0 });
  });

  it('reserves of all caps or of none, in whichever order two nodes name them', async () => {
    const one = await databases.open();
    const two = await databases.open({ beside: one });
    await one.budgets.open([
      { key: KEY, spent: 0 },
      { key: MONEY, spent: 0 },
    ]);
    const caps = [cap(10), cap(100, 1_000, MONEY)];
    await Promise.all(
      Array.from({ length: 32 }, (_, nth) =>
        nth % 2 === 0
          ? one.budgets.reserve({ holder: `a ${nth}` }, caps)
          : two.budgets.reserve({ holder: `b ${nth}` }, caps.toReversed()),
      ),
    );
    expect(await stateOf(one, MONEY)).toMatchObject({ held: 1_000 });
    // Ten fit the cap in money; the others hold nothing of the cap in tokens either.
    expect(await stateOf(one)).toMatchObject({ held: 100 });
  });

  it('replaces what a turn had reserved, and settles it with the end of the turn, once', async () => {
    const store = await databases.open();
    await store.budgets.open([
      { key: KEY, spent: 0 },
      { key: MONEY, spent: 0 },
    ]);
    const turn = await startTurn(store);
    const work = { holder: turn.turnId, fence: turn.head };
    await store.budgets.reserve(work, [cap(300), cap(600, 1_000, MONEY)]);
    await store.budgets.reserve(work, [cap(500), cap(900, 1_000, MONEY)]);
    expect(await stateOf(store)).toEqual({ spent: 0, held: 500, more: 0 });
    await finish(store, turn, 420);
    expect(await stateOf(store)).toEqual({ spent: 420, held: 0, more: 0 });
    expect(await stateOf(store, MONEY)).toEqual({ spent: 840, held: 0, more: 0 });
    // A repeat of the end, whose answer was lost, changes nothing, and a reserve that comes late is refused.
    await finish(store, turn, 420);
    await expect(store.budgets.reserve(work, [cap(1)])).rejects.toThrow(FencedError);
    expect(await stateOf(store)).toEqual({ spent: 420, held: 0, more: 0 });
  });

  it('moves what a turn has reserved to the day, or the profile, of its last call', async () => {
    const store = await databases.open();
    const tomorrow = 'person/tokens/2026-12-01/telegram:42';
    await store.budgets.open([
      { key: KEY, spent: 0 },
      { key: tomorrow, spent: 0 },
    ]);
    const turn = await startTurn(store);
    const work = { holder: turn.turnId, fence: turn.head };
    await store.budgets.reserve(work, [cap(300)]);
    await store.budgets.reserve(work, [cap(400, 1_000, tomorrow)]);
    await finish(store, turn, 350);
    expect(await stateOf(store)).toMatchObject({ spent: 0, held: 0 });
    expect(await stateOf(store, tomorrow)).toMatchObject({ spent: 350, held: 0 });
  });

  it('counts what is noted in the middle of a turn as spent, and no longer as reserved', async () => {
    const store = await databases.open();
    await store.budgets.open([{ key: KEY, spent: 0 }]);
    const { turnId, head } = await startTurn(store);
    await store.budgets.reserve({ holder: turnId, fence: head }, [cap(300)]);
    const settles = { holder: turnId, tokens: 120, micros: 0, ends: false };
    await store.ledger.noteUsage({ ...usage(120)[0]!, purpose: 'turn', turnId, settles });
    expect(await stateOf(store)).toEqual({ spent: 120, held: 180, more: 0 });
  });

  it('counts the work of a deleted session as it was reserved', async () => {
    const store = await databases.open();
    await store.budgets.open([{ key: KEY, spent: 0 }]);
    const { turnId, head } = await startTurn(store);
    await store.budgets.reserve({ holder: turnId, fence: head }, [cap(300)]);
    await store.ledger.deleteSession('telegram:42');
    expect(await stateOf(store)).toEqual({ spent: 300, held: 0, more: 0 });
  });

  it('says once that most of a cap is used, and makes missing rows known', async () => {
    const { budgets } = await databases.open();
    expect(await budgets.reserve({ holder: 'a' }, [cap(1)])).toEqual({ kind: 'new', keys: [KEY] });
    await budgets.open([{ key: KEY, spent: 0 }]);
    expect(await budgets.reserve({ holder: 'a' }, [cap(799)])).toEqual({ kind: 'held', nearly: [] });
    expect(await budgets.reserve({ holder: 'a' }, [cap(800)])).toEqual({ kind: 'held', nearly: [KEY] });
    await budgets.noteTold(KEY);
    expect(await budgets.reserve({ holder: 'a' }, [cap(1_000)])).toEqual({ kind: 'held', nearly: [] });
    expect(await budgets.reserve({ holder: 'a' }, [cap(1_001)])).toMatchObject({ kind: 'refused', key: KEY });
    await budgets.release('a');
    expect(await stateOf({ budgets })).toMatchObject({ held: 0 });
  });

  it('deletes what is older than any period', async () => {
    const { budgets, sql } = await databases.open();
    await budgets.open([{ key: KEY, spent: 5 }]);
    await budgets.reserve({ holder: 'a' }, [cap(10)]);
    expect(await budgets.purge(10)).toBe(0);
    await sql`update budget set created_at = now() - interval '63 days'`;
    expect(await budgets.purge(10)).toBe(1);
    expect(await sql`select from budget_hold`).toHaveLength(0);
  });

  describe('in any order of reserves and ends', () => {
    it('never reserves more than is left, and spends what was used', async () => {
      const store = await databases.open();
      const act = record({
        holder: integer({ min: 0, max: 4 }),
        amount: integer({ min: 1, max: 400 }),
        ends: boolean(),
      });
      let runs = 0;
      await assertProperty(
        asyncProperty(array(act, { maxLength: 20 }), async (acts) => {
          runs += 1;
          const key = `person/tokens/2026-11-30/run ${runs}`;
          await store.budgets.open([{ key, spent: 0 }]);
          const reserves = new Map<string, number>();
          const outcomes: { kind: string; fits: boolean }[] = [];
          let spent = 0;
          for (const { holder: nth, amount, ends } of acts) {
            const holder = `run ${runs} of ${nth}`;
            if (ends) {
              // A call may use more or less than was reserved for it.
              const settles = { holder, tokens: amount, micros: 0, ends: true };
              await store.ledger.noteUsage({ ...usage(amount)[0]!, purpose: 'stateless', settles });
              if (reserves.delete(holder)) spent += amount;
            } else {
              const others = [...reserves].reduce(
                (sum, [by, held]) => sum + (by === holder ? 0 : held),
                spent,
              );
              const { kind } = await store.budgets.reserve({ holder }, [cap(amount, 1_000, key)]);
              outcomes.push({ kind, fits: others + amount <= 1_000 });
              if (kind === 'held') reserves.set(holder, amount);
            }
            const held = [...reserves.values()].reduce((sum, one) => sum + one, 0);
            expect(await stateOf(store, key)).toEqual({ spent, held, more: 0 });
          }
          expect(outcomes.filter(({ kind, fits }) => (kind === 'held') !== fits)).toEqual([]);
        }),
        { numRuns: 25 },
      );
    });
  });
});
