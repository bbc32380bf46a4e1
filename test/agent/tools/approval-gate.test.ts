/** Turns that wait for a human: asked once, decided once, run once, with exactly what was shown. */
import { expect, it, onTestFinished } from 'vitest';
import { STOPPED_MARK } from '../../../src/agent/turn/agent-loop.ts';
import type { ApprovalRecord } from '../../../src/contracts/approvals.ts';
import { describeEmbedded } from '../../database.ts';
import type { TestStore } from '../../database.ts';
import { riskyTools } from '../../fakes/agent/risky-tools.ts';
import type { Ran } from '../../fakes/agent/risky-tools.ts';
import { asks, says, ScriptedProvider } from '../../fakes/agent/scripted-provider.ts';
import type { ScriptStep } from '../../fakes/agent/scripted-provider.ts';
import { TurnWorld } from '../../fakes/agent/turn-setup.ts';

const PARKED = { kind: 'parked' };
const wipe = (word: string) => ({ name: 'wipe', args: { word } });

describeEmbedded('a dangerous call', (databases) => {
  async function open(ran: Ran, steps: ScriptStep[], limits = {}) {
    const store = await databases.open();
    const provider = new ScriptedProvider(...steps);
    const world = new TurnWorld({ store, provider, tools: riskyTools(ran), limits });
    onTestFinished(() => world.close());
    await world.start();
    return { world, store, provider };
  }
  /** The one question of the session that waits. */
  async function question(world: TurnWorld): Promise<ApprovalRecord> {
    const waiting = await world.store.approvals.pendingApprovals({ session: 'telegram:42', limit: 9 });
    expect(waiting).toHaveLength(1);
    return waiting[0]!;
  }
  /** What was ever queued for the chat, oldest first. */
  async function sent({ sql }: TestStore): Promise<unknown[]> {
    const rows = await sql<
      { payload: unknown }[]
    >`select payload from lane_item where lane like 'out:%' order by seq`;
    return rows.map(({ payload }) => payload);
  }
  const resume = async (world: TurnWorld) => world.run(await world.sweep());

  it('waits with its turn parked, is asked with its arguments and the reason, and runs once when allowed (S-37, B-20)', async () => {
    const ran: Ran = [];
    const { world, store } = await open(ran, [asks([wipe('disk `1`\u202e')], 'Let me.'), says('Done.')]);
    expect((await world.ask('clean up')).outcome).toEqual(PARKED);
    const asked = await question(world);
    expect(asked).toMatchObject({ tool: 'wipe', args: { word: 'disk `1`\u202e' }, userId: 'telegram:42' });
    expect(world.events.at(-1)).toEqual({
      type: 'approval_needed',
      approvalId: asked.id,
      warningMessage: 'It wipes a disk.',
    });
    const [shown] = await sent(store);
    expect(shown).toMatchObject({
      ref: `approval:${asked.id}`,
      message: {
        content: expect.stringContaining('"word": "disk `1`\\u{202e}"'),
        buttons: [
          { label: 'Approve', value: `approve:${asked.id}` },
          { label: 'Deny', value: `deny:${asked.id}` },
        ],
      },
    });
    expect(JSON.stringify(shown)).toContain('It wipes a disk.');
    expect(ran).toEqual([]);
    expect(await world.sweep()).toBeUndefined();
    expect(await world.store.lanes.decide(asked.id, 'approved', 'telegram:42', 'Ada')).toBe(true);
    expect(await world.store.lanes.decide(asked.id, 'denied', 'telegram:42')).toBe(false);
    expect((await resume(world)).kind).toBe('finished');
    expect(ran).toEqual(['wipe disk `1`\u202e']);
    expect(world.events).toContainEqual({
      type: 'approval_decided',
      approvalId: asked.id,
      decision: 'approved',
    });
    expect((await sent(store))[1]).toMatchObject({
      ref: `approval:${asked.id}`,
      message: { content: expect.stringContaining('Approved by `Ada`'), buttons: [] },
    });
  });

  it('tells the model that it was denied, and goes on without it', async () => {
    const ran: Ran = [];
    const steps = [asks([wipe('a'), { name: 'note', args: { word: 'b' } }]), says('Then not.')];
    const { world } = await open(ran, steps);
    const { turnId } = await world.ask('clean up');
    await world.store.lanes.decide((await question(world)).id, 'denied', 'telegram:42');
    await resume(world);
    expect(ran).toEqual(['note b']);
    expect(world.events).toContainEqual(
      expect.objectContaining({ type: 'tool_result', name: 'wipe', isError: true }),
    );
    expect((await world.store.ledger.turn(turnId))?.final?.content).toBe('Then not.');
  });

  it('is not run when nobody answers in time', async () => {
    const ran: Ran = [];
    const steps = [asks([wipe('a')]), says('Nobody was there.')];
    const { world, store, provider } = await open(ran, steps, { approvalMs: 1 });
    await world.ask('clean up');
    await resume(world);
    expect(ran).toEqual([]);
    const results = provider.requests.at(-1)?.messages.filter(({ role }) => role === 'tool');
    expect(results?.[0]?.content).toContain('nobody allowed wipe in time');
    expect(JSON.stringify(await sent(store))).toContain('nobody answered in time');
  });

  it('is denied by a stop, which ends its turn', async () => {
    const ran: Ran = [];
    const { world, store } = await open(ran, [asks([wipe('a')])]);
    const { turnId } = await world.ask('clean up');
    const { id } = await question(world);
    await world.store.lanes.stop('telegram:42', { fresh: false });
    expect(await world.store.lanes.decide(id, 'approved', 'telegram:42')).toBe(false);
    await resume(world);
    expect(await world.store.ledger.turn(turnId)).toMatchObject({ reason: 'stopped' });
    expect((await world.store.ledger.turn(turnId))?.final?.content).toContain(STOPPED_MARK);
    expect(ran).toEqual([]);
    expect(JSON.stringify(await sent(store))).toContain('Not run: stopped.');
  });

  it('is asked one after another when an answer holds several, each with its own decision', async () => {
    const ran: Ran = [];
    const { world } = await open(ran, [asks([wipe('a'), wipe('b'), wipe('c')]), says('Done.')]);
    await world.ask('clean up');
    const asked: unknown[] = [];
    for (const decision of ['approved', 'denied', 'approved'] as const) {
      const { id, args } = await question(world);
      asked.push(args);
      expect(await world.store.lanes.decide(id, decision, 'telegram:42')).toBe(true);
      await resume(world);
    }
    expect(asked).toEqual([{ word: 'a' }, { word: 'b' }, { word: 'c' }]);
    expect(ran).toEqual(['wipe a', 'wipe c']);
  });

  it('does not run with other arguments than those that were shown', async () => {
    const ran: Ran = [];
    const { world, store } = await open(ran, [asks([wipe('a')]), says('Well.')]);
    const { turnId } = await world.ask('clean up');
    await world.store.lanes.decide((await question(world)).id, 'approved', 'telegram:42');
    const changed = await store.sql`
      update context set payload = jsonb_set(payload, '{toolCalls,0,args,word}', '"all"')
      where turn_id = ${turnId} and kind = 'assistant'`;
    expect(changed.count).toBe(1);
    await resume(world);
    expect(ran).toEqual([]);
    expect(world.events).toContainEqual(
      expect.objectContaining({ type: 'tool_result', result: expect.stringContaining('another call') }),
    );
  });

  it('waits when a turn that read words of others wants to reach outside, in this turn and in later ones', async () => {
    const ran: Ran = [];
    const look = { name: 'look', args: {} };
    const tell = { name: 'tell', args: { word: 'x' } };
    const { world } = await open(ran, [
      asks([tell]),
      says('Told.'),
      asks([look]),
      asks([{ name: 'note', args: {} }, tell]),
      says('Asked.'),
      asks([tell]),
      says('Asked again.'),
    ]);
    expect((await world.ask('tell them')).outcome.kind).toBe('finished');
    expect((await world.ask('look, and tell them')).outcome).toEqual(PARKED);
    expect(ran).toEqual(['tell x', 'look ', 'note ']);
    expect((await question(world)).warning).toContain('words from files, programs');
    await world.store.lanes.decide((await question(world)).id, 'denied', 'telegram:42');
    await resume(world);
    expect((await world.ask('and now?')).outcome).toEqual(PARKED);
    await world.store.lanes.decide((await question(world)).id, 'denied', 'telegram:42');
    await resume(world);
    expect(ran).toEqual(['tell x', 'look ', 'note ']);
  });
});
