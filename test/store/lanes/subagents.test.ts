/** Subagents in the store: their journals, their lanes, and the effects of a stop, a second call or another node. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { FencedError } from '../../../src/protocol/errors.ts';
import type { Fence } from '../../../src/protocol/store/lanes.ts';
import {
  agentIdOf,
  agentLane,
  type SubagentFinish,
  type SubagentPayload,
} from '../../../src/protocol/agent/subagents.ts';
import { describeStore, type TestStore } from '../../database.ts';
import { request } from '../requests.ts';

const SESSION = 'telegram:42';

describeStore('subagents in the store', (databases) => {
  /** A running turn, and the parameters of its subagents. */
  const begin = async (store: TestStore) => {
    const node = await store.lanes.register('one', 60_000);
    const accepted = await store.ledger.accept({ ...request('Hi'), node });
    if (accepted.kind !== 'accepted') throw new Error(accepted.kind);
    const [head] = accepted.heads;
    if (head === undefined) throw new Error('there is no head');
    await store.ledger.openTurn(head, accepted.turnId, 50);
    return { node, head, turnId: accepted.turnId };
  };
  const payload = (turnId: string, call: string): SubagentPayload => ({
    agentId: agentIdOf(SESSION, call),
    session: SESSION,
    turnId,
    address: SESSION,
    userId: SESSION,
    folder: 'folder-of-the-session',
    place: 'private',
    profileId: 'default',
    tools: [],
    task: 'look',
    sources: [],
    limitMs: 60_000,
  });
  /** A subagent of a running turn, as its node has it. */
  const startOne = async (store: TestStore) => {
    const { head, node, turnId } = await begin(store);
    const run = payload(turnId, 'a');
    const started = await store.subagents.start(head, run, 4, node);
    const [child] = started.kind === 'started' ? started.heads : [];
    if (child === undefined) throw new Error('nothing began');
    return { head, node, turnId, run, child };
  };
  const finishOf = (run: SubagentPayload): SubagentFinish => ({
    ...run,
    usage: [],
    announcement: {
      turnId: `told-${run.agentId}`,
      address: SESSION,
      message: {
        ...request('The result').message,
        content: 'The result',
        id: `agent:${run.agentId}`,
        channel: 'system',
      },
      entry: 'runStream',
    },
    stoppedNote: { iteration: 0, entry: { kind: 'user', content: 'It was stopped.' }, tokens: 3 },
  });
  const count = async (store: TestStore, where: string): Promise<number> => {
    const [row] = await store.sql.unsafe(`select count(*)::int as n from ${where}`);
    return Number(row?.['n']);
  };

  it('spawns one per call, however often it is repeated, and no more than the limit', async () => {
    const store = await databases.open();
    const { head, node, turnId } = await begin(store);
    const first = await store.subagents.start(head, payload(turnId, 'a'), 2, node);
    expect(first).toMatchObject({
      kind: 'started',
      heads: [{ lane: agentLane(agentIdOf(SESSION, 'a')), seq: 1 }],
    });
    expect(await store.subagents.start(head, payload(turnId, 'a'), 1, node)).toEqual({ kind: 'known' });
    expect(await store.subagents.start(head, payload(turnId, 'b'), 2)).toEqual({
      kind: 'started',
      heads: [],
    });
    expect(await store.subagents.start(head, payload(turnId, 'c'), 2, node)).toEqual({ kind: 'full' });
    expect(await store.subagents.atWork([agentIdOf(SESSION, 'a'), agentIdOf(SESSION, 'c')])).toBe(1);
    expect(await count(store, "lane_item where lane like 'agent:%'")).toBe(2);
  });

  it('starts no more than the limit under concurrent requests', async () => {
    const store = await databases.open();
    const { head, node, turnId } = await begin(store);
    const calls = ['a', 'b', 'c', 'd', 'e', 'f', 'a', 'b'];
    const starts = await Promise.all(
      calls.map((call) => store.subagents.start(head, payload(turnId, call), 2, node)),
    );
    expect(starts.filter(({ kind }) => kind === 'started')).toHaveLength(2);
    expect(starts.filter(({ kind }) => kind === 'full').length).toBeGreaterThanOrEqual(4);
    expect(await count(store, "lane_item where lane like 'agent:%'")).toBe(2);
  });

  it('lists the running ones of a session until they have ended', async () => {
    const store = await databases.open();
    const { head, node, turnId } = await begin(store);
    const [slow, quick] = [payload(turnId, 'a'), { ...payload(turnId, 'b'), task: 'run', limitMs: 1_000 }];
    await store.subagents.start(head, slow, 4, node);
    const started = await store.subagents.start(head, quick, 4, node);
    expect(await store.subagents.working(SESSION)).toEqual([
      { agentId: quick.agentId, profileId: 'default', task: 'run', leftMs: expect.any(Number) },
      { agentId: slow.agentId, profileId: 'default', task: 'look', leftMs: expect.any(Number) },
    ]);
    expect(await store.subagents.working('telegram:4')).toEqual([]);
    if (started.kind === 'started') await store.subagents.finish(started.heads[0]!, finishOf(quick));
    expect((await store.subagents.working(SESSION)).map(({ agentId }) => agentId)).toEqual([slow.agentId]);
  });

  it('measures their time by the database clock, whatever a node’s clock says', async () => {
    const store = await databases.open();
    const { head, node, turnId } = await begin(store);
    const one = { ...payload(turnId, 'a'), limitMs: 3_600_000 };
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 2 * 3_600_000 });
    onTestFinished(() => void vi.useRealTimers());
    await store.subagents.start(head, one, 4, node);
    vi.setSystemTime(Date.now() - 4 * 3_600_000);
    const left = await store.subagents.leftMs(one.agentId);
    expect(left).toBeLessThanOrEqual(3_600_000);
    expect(left).toBeGreaterThan(3_500_000);
  });

  it('spawns none for a turn that lost its lane or was stopped', async () => {
    const store = await databases.open();
    const { head, node, turnId } = await begin(store);
    const stale: Fence = { ...head, epoch: head.epoch - 1 };
    await expect(store.subagents.start(stale, payload(turnId, 'a'), 4, node)).rejects.toThrow(FencedError);
    await store.lanes.stop(SESSION, { fresh: false });
    expect(await store.subagents.start(head, payload(turnId, 'a'), 4, node)).toEqual({ kind: 'stopped' });
    expect(await count(store, "lane where class = 'agent'")).toBe(0);
  });

  it('ends one with a message in its session, queued behind what waits there', async () => {
    const store = await databases.open();
    const { head, run, child } = await startOne(store);
    const finished = await store.subagents.finish(child, finishOf(run));
    expect(finished).toEqual({ heads: [], seq: 2 });
    // Repeating the call, as after a lost answer, finds what it did.
    expect(await store.subagents.finish(child, finishOf(run))).toEqual({ heads: [], seq: 2 });
    expect(await store.ledger.messages(SESSION, { limit: 9 })).toMatchObject([
      { role: 'user' },
      { role: 'system', content: 'The result', turnId: `told-${run.agentId}` },
    ]);
    const end = await store.lanes.finish(head);
    expect(end.heads).toMatchObject([{ lane: `in:${SESSION}`, payload: { turnId: `told-${run.agentId}` } }]);
  });

  it('announces nothing once the session is stopped, whichever finished first', async () => {
    const store = await databases.open();
    const { run, child } = await startOne(store);
    await store.subagents.write(child, run, [
      { iteration: 0, entry: { kind: 'user', content: 'look' }, tokens: 1 },
    ]);
    expect(await store.lanes.stop(SESSION, { fresh: false })).toEqual({
      stopped: true,
      cancelled: 0,
      agents: 1,
    });
    expect(await store.subagents.finish(child, finishOf(run))).toEqual({ heads: [], seq: undefined });
    expect(await count(store, "turn where id like 'told-%'")).toBe(0);
    expect(await store.subagents.journal(run.agentId)).toMatchObject([
      { entry: { content: 'It was stopped.' } },
    ]);
    expect(await store.lanes.stop(SESSION, { fresh: false })).toEqual({ stopped: true, cancelled: 0 });
  });

  it('stops only those of the session', async () => {
    const store = await databases.open();
    const { head, node, turnId } = await begin(store);
    await store.subagents.start(head, payload(turnId, 'a'), 4, node);
    const other = await store.ledger.accept({ ...request('Hi', { chatId: '2' }), node });
    expect(other.kind).toBe('accepted');
    expect(await store.lanes.stop('telegram:2', { fresh: false })).toMatchObject({ stopped: true });
    expect(await store.lanes.stop('telegram:2', { fresh: false })).not.toHaveProperty('agents');
    expect(await store.lanes.flags(node)).not.toContainEqual(
      expect.objectContaining({ lane: agentLane(agentIdOf(SESSION, 'a')) }),
    );
  });

  it('keeps the journals of subagents when their turn ends, of those it waited for and of those in the background', async () => {
    const store = await databases.open();
    const { head, node, turnId } = await begin(store);
    const [waited, let_go] = [payload(turnId, 'waited'), payload(turnId, 'let go')];
    const started = await store.subagents.start(head, let_go, 4, node);
    const [child] = started.kind === 'started' ? started.heads : [];
    if (child === undefined) throw new Error('nothing began');
    const row = { iteration: 0, entry: { kind: 'user' as const, content: 'look' }, tokens: 1 };
    await store.subagents.write(child, let_go, [row]);
    await store.subagents.write(head, waited, [row, row]);
    const intent = { kind: 'tool_intent' as const, toolCallId: 'x', toolName: 'y', callIndex: 0 };
    await store.subagents.write(head, waited, [{ iteration: 1, entry: intent, tokens: 0 }]);
    expect(await store.subagents.journal(waited.agentId)).toHaveLength(2);
    const finish = { turnId, reason: 'completed' as const, content: 'ok', isError: false, userId: SESSION };
    await store.ledger.finishTurn(head, { ...finish, usage: [], entries: [] });
    expect(await store.subagents.journal(waited.agentId)).toHaveLength(2);
    expect(await store.subagents.journal(let_go.agentId)).toHaveLength(1);
  });

  it('deletes the lanes of finished ones with their messages', async () => {
    const store = await databases.open();
    const { head, node, turnId } = await begin(store);
    const run = payload(turnId, 'a');
    const started = await store.subagents.start(head, run, 4, node);
    if (started.kind === 'started' && started.heads[0] !== undefined) {
      await store.subagents.finish(started.heads[0], finishOf(run));
    }
    await store.lanes.purge(-1_000, 100);
    expect(await count(store, "lane where class = 'agent'")).toBe(0);
    expect(await count(store, "lane where class = 'in'")).toBe(1);
  });
});
