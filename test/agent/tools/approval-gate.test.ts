/** Turns that wait for a human: asked once, decided once, run once, with exactly what was shown. */
import { expect, it, onTestFinished } from 'vitest';
import {
  type ApprovalRecord,
  MAX_ASKED,
  MAX_ASKED_CHARS,
  shownArgs,
} from '../../../src/protocol/agent/approvals.ts';
import { describeStore, type TestStore } from '../../database.ts';
import { type Ran, riskyTools } from '../../fakes/agent/risky-tools.ts';
import { asks, says, ScriptedProvider, type ScriptStep } from '../../fakes/agent/scripted-provider.ts';
import { TurnScenario } from '../../fakes/agent/turn-setup.ts';
import { inEnglish } from '../../../src/protocol/texts/say.ts';

const PARKED = { kind: 'parked' };
const wipe = (word: string) => ({ name: 'wipe', args: { word } });

describeStore('a dangerous call', (databases) => {
  async function open(ran: Ran, steps: ScriptStep[], limits = {}) {
    const store = await databases.open();
    const provider = new ScriptedProvider(...steps);
    const scenario = new TurnScenario({ store, provider, tools: riskyTools(ran), limits });
    onTestFinished(() => scenario.close());
    await scenario.start();
    return { scenario, store, provider };
  }
  /** The one pending question of the session. */
  async function question(scenario: TurnScenario): Promise<ApprovalRecord> {
    const waiting = await scenario.store.approvals.pendingApprovals({ session: 'telegram:42', limit: 9 });
    expect(waiting).toHaveLength(1);
    return waiting[0]!;
  }
  /** Everything that was ever queued for the chat, oldest first. */
  async function sent({ sql }: TestStore): Promise<unknown[]> {
    const rows = await sql<
      { payload: unknown }[]
    >`select payload from lane_item where lane like 'out:%' order by seq`;
    return rows.map(({ payload }) => payload);
  }
  const resume = async (scenario: TurnScenario) => scenario.run(await scenario.sweep());

  it('parks its turn, asks with its arguments and the reason, and runs once when approved (S-37, B-20)', async () => {
    const ran: Ran = [];
    const { scenario, store } = await open(ran, [asks([wipe('disk `1`\u202e')], 'Let me.'), says('Done.')]);
    expect((await scenario.ask('clean up')).outcome).toEqual(PARKED);
    const asked = await question(scenario);
    expect(asked).toMatchObject({ tool: 'wipe', args: { word: 'disk `1`\u202e' }, userId: 'telegram:42' });
    expect(scenario.events.at(-1)).toEqual({
      type: 'approval_needed',
      approvalId: asked.id,
      toolCallId: 'call_0',
      warningMessage: 'It wipes a disk.',
    });
    const [shown] = await sent(store);
    expect(shown).toMatchObject({
      ref: `approval:${asked.id}`,
      message: {
        content: expect.stringContaining('"word": "disk `1`\\u{202e}"'),
        buttons: [
          { label: 'Approve', value: `approve:${asked.id}` },
          { label: 'Edit', value: `change:${asked.id}`, form: true },
          { label: 'Deny', value: `deny:${asked.id}` },
          { label: 'Always allow this exact call here', value: `always:${asked.id}` },
        ],
      },
    });
    expect(JSON.stringify(shown)).toContain('It wipes a disk.');
    expect(ran).toEqual([]);
    expect(await scenario.sweep()).toBeUndefined();
    expect(await scenario.store.lanes.decide(asked.id, 'approved', 'telegram:42', { name: 'Ada' })).toBe(
      true,
    );
    expect(await scenario.store.lanes.decide(asked.id, 'denied', 'telegram:42')).toBe(false);
    expect((await resume(scenario)).kind).toBe('finished');
    expect(ran).toEqual(['wipe disk `1`\u202e']);
    expect(scenario.events).toContainEqual({
      type: 'approval_decided',
      approvalId: asked.id,
      toolCallId: 'call_0',
      decision: 'approved',
      how: 'person',
      by: 'Ada',
      decidedAt: expect.any(String),
    });
    expect((await sent(store))[1]).toMatchObject({
      ref: `approval:${asked.id}`,
      message: { content: expect.stringContaining('Approved by `Ada`'), buttons: [] },
    });
  });

  it('gives the model an error result when it is denied, and the turn continues', async () => {
    const ran: Ran = [];
    const steps = [asks([wipe('a'), { name: 'note', args: { word: 'b' } }]), says('Then not.')];
    const { scenario } = await open(ran, steps);
    const { turnId } = await scenario.ask('clean up');
    await scenario.store.lanes.decide((await question(scenario)).id, 'denied', 'telegram:42');
    await resume(scenario);
    expect(ran).toEqual(['note b']);
    expect(scenario.events).toContainEqual(
      expect.objectContaining({ type: 'tool_result', name: 'wipe', isError: true }),
    );
    expect((await scenario.store.ledger.turn(turnId))?.final?.content).toBe('Then not.');
  });

  it('is not run when no one answers in time', async () => {
    const ran: Ran = [];
    const steps = [asks([wipe('a')]), says('Nobody was there.')];
    const { scenario, store, provider } = await open(ran, steps, { approvalMs: 1 });
    await scenario.ask('clean up');
    await resume(scenario);
    expect(ran).toEqual([]);
    const results = provider.requests.at(-1)?.messages.filter(({ role }) => role === 'tool');
    expect(results?.[0]?.content).toContain('no one allowed wipe in time');
    expect(JSON.stringify(await sent(store))).toContain('no one answered in time');
  });

  it('is denied by a stop, which ends its turn', async () => {
    const ran: Ran = [];
    const { scenario, store } = await open(ran, [asks([wipe('a')])]);
    const { turnId } = await scenario.ask('clean up');
    const { id } = await question(scenario);
    await scenario.store.lanes.stop('telegram:42', { fresh: false });
    expect(await scenario.store.lanes.decide(id, 'approved', 'telegram:42')).toBe(false);
    await resume(scenario);
    expect(await scenario.store.ledger.turn(turnId)).toMatchObject({ reason: 'stopped' });
    expect((await scenario.store.ledger.turn(turnId))?.final?.content).toContain(inEnglish('turn.stopped'));
    expect(ran).toEqual([]);
    expect(JSON.stringify(await sent(store))).toContain('Not run: stopped.');
  });

  it('is asked about separately when an answer has several, each with its own decision', async () => {
    const ran: Ran = [];
    const { scenario } = await open(ran, [asks([wipe('a'), wipe('b'), wipe('c')]), says('Done.')]);
    await scenario.ask('clean up');
    const asked: unknown[] = [];
    for (const decision of ['approved', 'denied', 'approved'] as const) {
      const { id, args } = await question(scenario);
      asked.push(args);
      expect(await scenario.store.lanes.decide(id, decision, 'telegram:42')).toBe(true);
      await resume(scenario);
    }
    expect(asked).toEqual([{ word: 'a' }, { word: 'b' }, { word: 'c' }]);
    expect(ran).toEqual(['wipe a', 'wipe c']);
  });

  it('does not run with arguments other than those shown: it is asked about again', async () => {
    const ran: Ran = [];
    const { scenario, store } = await open(ran, [asks([wipe('a')]), says('Well.')]);
    const { turnId } = await scenario.ask('clean up');
    await scenario.store.lanes.decide((await question(scenario)).id, 'approved', 'telegram:42');
    const changed = await store.sql`
      update context set payload = jsonb_set(payload, '{toolCalls,0,args,word}', '"all"')
      where turn_id = ${turnId} and kind = 'assistant'`;
    expect(changed.count).toBe(1);
    expect(await resume(scenario)).toEqual(PARKED);
    const again = await question(scenario);
    expect(again).toMatchObject({ args: { word: 'all' }, warning: expect.stringContaining('has changed') });
    await scenario.store.lanes.decide(again.id, 'denied', 'telegram:42');
    await resume(scenario);
    expect(ran).toEqual([]);
  });

  it(`is asked about at most ${MAX_ASKED} times when it keeps changing`, async () => {
    const ran: Ran = [];
    const { scenario, store } = await open(ran, [asks([wipe('a')]), says('Well.')]);
    const { turnId } = await scenario.ask('clean up');
    for (let n = 1; n <= MAX_ASKED; n += 1) {
      await scenario.store.lanes.decide((await question(scenario)).id, 'approved', 'telegram:42');
      await store.sql`
        update context set payload = jsonb_set(payload, '{toolCalls,0,args,word}', to_jsonb('a' || ${n}::int))
        where turn_id = ${turnId} and kind = 'assistant'`;
      expect((await resume(scenario)).kind).toBe(n < MAX_ASKED ? 'parked' : 'finished');
    }
    expect(ran).toEqual([]);
    expect(scenario.events).toContainEqual(
      expect.objectContaining({ type: 'tool_result', result: expect.stringContaining('each time') }),
    );
  });

  it(`with arguments of ${MAX_ASKED_CHARS} characters is shown in full; with one more it is refused`, async () => {
    const ran: Ran = [];
    const longest = 'x'.repeat(MAX_ASKED_CHARS - shownArgs({ word: '' }).length);
    const { scenario, store, provider } = await open(ran, [
      asks([wipe(`${longest}x`)]),
      asks([wipe(longest)]),
      says('Well.'),
    ]);
    expect((await scenario.ask('clean up')).outcome).toEqual(PARKED);
    const refused = provider.requests.at(-1)?.messages.findLast(({ role }) => role === 'tool');
    expect(refused?.content).toContain(`${MAX_ASKED_CHARS + 1} characters; at most ${MAX_ASKED_CHARS}`);
    const [shown] = await sent(store);
    expect(shown).toMatchObject({ message: { content: expect.stringContaining(longest) } });
    await scenario.store.lanes.decide((await question(scenario)).id, 'approved', 'telegram:42');
    await resume(scenario);
    expect(ran).toEqual([`wipe ${longest}`]);
  });

  it('waits when a turn that read untrusted text wants to reach outside, in this turn and in later ones', async () => {
    const ran: Ran = [];
    const look = { name: 'look', args: {} };
    const tell = { name: 'tell', args: { word: 'x' } };
    const { scenario } = await open(ran, [
      asks([tell]),
      says('Told.'),
      asks([look]),
      asks([{ name: 'note', args: {} }, tell]),
      says('Asked.'),
      asks([tell]),
      says('Asked again.'),
    ]);
    expect((await scenario.ask('tell them')).outcome.kind).toBe('finished');
    expect((await scenario.ask('look, and tell them')).outcome).toEqual(PARKED);
    expect(ran).toEqual(['tell x', 'look ', 'note ']);
    expect((await question(scenario)).warning).toContain('content from files, programs');
    await scenario.store.lanes.decide((await question(scenario)).id, 'denied', 'telegram:42');
    await resume(scenario);
    expect((await scenario.ask('and now?')).outcome).toEqual(PARKED);
    await scenario.store.lanes.decide((await question(scenario)).id, 'denied', 'telegram:42');
    await resume(scenario);
    expect(ran).toEqual(['tell x', 'look ', 'note ']);
  });
});
