/** The sources of a session: stored by every statement that stores text of others, cleared by `/new` and by an owner. */
import { expect, it } from 'vitest';
import { STEP_ITERATIONS } from '../../../src/protocol/store/records.ts';
import { MAX_SOURCE_HOSTS, OTHER_HOSTS, type Source } from '../../../src/protocol/agent/risk.ts';
import type { LaneHead } from '../../../src/protocol/store/lanes.ts';
import { describeStore, type TestStore } from '../../database.ts';
import { accepted, answer, finished, said, startTurn } from './turns.ts';
import { request } from '../requests.ts';

const CHAT = 'telegram:42';

const result = (...sources: Source[]) => ({
  kind: 'tool_result' as const,
  toolCallId: 'c',
  toolName: 'look',
  callIndex: 0,
  content: 'text',
  isError: false,
  sources,
});

describeStore('the sources of a session', (databases) => {
  const of = async ({ ledger }: TestStore) => (await ledger.session(CHAT))?.sources.toSorted();
  const open = async () => {
    const store = await databases.open();
    const { head, turnId } = await startTurn(store);
    return { store, head, turnId };
  };
  const end = async (store: TestStore, head: LaneHead, turnId: string) =>
    await store.ledger.finishTurn(head, finished(turnId, 'done'));

  it('are empty at first, and grow with a tool result, an answer and the end of a turn', async () => {
    const { store, head, turnId } = await open();
    const { ledger } = store;
    expect((await ledger.openTurn(head, turnId, 50)).session.sources).toEqual([]);
    await ledger.journalAnswer(head, turnId, [said('hello'), answer(1, 'looking')]);
    expect(await of(store)).toEqual([]);
    await ledger.toolResult(head, turnId, 1, result('web:a.example'), 3);
    expect(await of(store)).toEqual(['web:a.example']);
    const step = answer(STEP_ITERATIONS + 1, 'a step');
    await ledger.journalAnswer(head, turnId, [{ ...step, entry: { ...step.entry, sources: ['local'] } }]);
    const last = answer(2, 'done');
    const entries = [{ ...last, entry: { ...last.entry, sources: ['local', 'forwarded'] as Source[] } }];
    await ledger.finishTurn(head, finished(turnId, 'done', { entries }));
    expect(await of(store)).toEqual(['forwarded', 'local', 'web:a.example']);
  });

  it(`name at most ${MAX_SOURCE_HOSTS} hosts, the known ones first`, async () => {
    const { store, head, turnId } = await open();
    for (let n = 0; n < MAX_SOURCE_HOSTS + 3; n += 1) {
      await store.ledger.toolResult(head, turnId, n + 1, result(`web:h${99 - n}.example`), 3);
    }
    await store.ledger.toolResult(head, turnId, 50, result('local'), 3);
    const known = Array.from({ length: MAX_SOURCE_HOSTS }, (_, n) => `web:h${99 - n}.example`);
    expect(await of(store)).toEqual([OTHER_HOSTS, 'local', ...known].toSorted());
  });

  it('grow with messages that join a turn, and with a plan', async () => {
    const { store, head, turnId } = await open();
    const { ledger } = store;
    await ledger.updateSession(CHAT, { queueMode: 'steer' });
    const second = accepted(await ledger.accept(request('m2')));
    const joined = [{ seq: second.laneSeq, turnId: second.turnId }];
    const forwarded = {
      iteration: 1,
      entry: {
        kind: 'user' as const,
        content: 'x',
        laneSeq: second.laneSeq,
        sources: ['forwarded'] as Source[],
      },
      tokens: 2,
    };
    await ledger.joinTurn(head, turnId, { rows: [forwarded], joined });
    expect(await of(store)).toEqual(['forwarded']);
    const row = {
      iteration: 0,
      entry: { kind: 'plan' as const, planId: 'p', content: 'x', sources: ['web'] as Source[] },
      tokens: 2,
    };
    const plan = {
      id: 'p',
      goal: 'x',
      milestones: [],
      steps: [],
      mode: 'planner',
      state: 'running',
      originalLength: 0,
    } as const;
    const made = { plan: { ...plan, milestones: [], steps: [] }, card: 'x', todos: [], rows: [row] };
    const usage = { promptTokens: 1, completionTokens: 1, modelMs: 1 };
    await ledger.storePlan(head, turnId, { made, userId: CHAT, model: 'm', usage });
    expect(await of(store)).toEqual(['forwarded', 'web']);
  });

  it('are cleared by /new, even when the stopped turn stores rows after it', async () => {
    const { store, head, turnId } = await open();
    await store.ledger.toolResult(head, turnId, 1, result('web'), 3);
    await store.lanes.stop(CHAT, { fresh: true });
    expect(await of(store)).toEqual([]);
    const last = answer(2, 'stopped');
    const entries = [{ ...last, entry: { ...last.entry, sources: ['web'] as Source[] } }];
    await store.ledger.finishTurn(head, finished(turnId, 'done', { entries }));
    expect(await of(store)).toEqual([]);
  });

  it('are cleared by an owner together with those of its notes, but not while a turn is open', async () => {
    const { store, head, turnId } = await open();
    const { ledger, todos, scratchpad } = store;
    await ledger.toolResult(head, turnId, 1, result('web'), 3);
    await todos.setTodos(CHAT, [{ text: 'one', status: 'pending', sources: ['web'] }]);
    await scratchpad.setNote(CHAT, 'a', { text: 'b', sources: ['web'] });
    expect(await ledger.trustSession(CHAT)).toBeUndefined();
    expect(await of(store)).toEqual(['web']);
    await end(store, head, turnId);
    expect(await ledger.trustSession(CHAT)).toEqual(['web']);
    expect(await of(store)).toEqual([]);
    expect(await todos.todos(CHAT)).toEqual([{ text: 'one', status: 'pending' }]);
    expect((await scratchpad.notes(CHAT)).get('a')).toEqual({ text: 'b', sources: [] });
    expect(await ledger.trustSession(CHAT)).toEqual([]);
    expect(await ledger.trustSession('telegram:43')).toEqual([]);
  });
});
