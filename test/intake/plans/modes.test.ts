/** The mode of a session: how it is named, changed and shown, and when it stays. */
import { intakeContext } from '../../fakes/gateway/intake.ts';
import { expect, it, vi } from 'vitest';
import { defaultProfile } from '../../../src/agent/profiles/built-in.ts';
import { createEventBus } from '../../../src/bus/event-bus.ts';
import type { CommandCall } from '../../../src/protocol/command.ts';
import type { AgentEvent } from '../../../src/protocol/event.ts';
import { modeCommand, refuseWhilePlanRuns } from '../../../src/intake/plans/modes.ts';
import { MODES, readMode } from '../../../src/protocol/agent/plan.ts';
import { describeStore, silentLog } from '../../database.ts';
import { describeGateway, WAIT } from '../../flows/setup.ts';
import { testPlan } from '../../fakes/agent/plans.ts';
import { finished, startTurn } from '../../store/lanes/turns.ts';
import { commandCall } from '../../fakes/gateway/command-call.ts';

const USAGE = { promptTokens: 1, completionTokens: 1, modelMs: 1 };
const call = (args: string): CommandCall => commandCall({ args });

describeStore('/mode', (databases) => {
  it('shows and changes the mode of a session, and emits an event (S-04, S-42)', async () => {
    const store = await databases.open();
    const events = createEventBus({ nodeId: 'n1', log: silentLog });
    const seen: AgentEvent[] = [];
    events.subscribe({}, (event) => seen.push(event));
    const command = modeCommand(intakeContext(store, { events }));
    await startTurn(store);
    const shown = await command.run(call(''));
    expect(shown).toMatch(/^Mode: planner\./);
    expect(MODES.map((mode) => shown.indexOf(`/mode ${mode}`))).toEqual(
      MODES.map((mode) => shown.indexOf(`/mode ${mode}`)).toSorted((a, b) => a - b),
    );
    expect(await command.run(call('Agentic'))).toBe(
      'Mode: agentic. From your next message on, I plan what takes several steps; the steps run on their own, and a failed one is repaired.',
    );
    expect(await command.run(call(''))).toContain('before every answer');
    expect((await store.ledger.session('telegram:42'))?.mode).toBe('agentic');
    await vi.waitFor(() =>
      expect(seen).toContainEqual(expect.objectContaining({ type: 'mode_changed', mode: 'agentic' })),
    );
    await expect(command.run(call('wild'))).rejects.toThrow('Modes: planner, teacher, agentic');
  });

  it('says where the profile makes no plans that a mode changes nothing yet', async () => {
    const store = await databases.open();
    const off = { ...defaultProfile('Hello'), planning: 'off' as const };
    const command = modeCommand(intakeContext(store, { profiles: () => [off] }));
    await startTurn(store);
    expect(await command.run(call('agentic'))).toBe(
      'Mode: agentic. It changes nothing yet: the profile "default" makes no plans, because its `planning` is `off`.',
    );
  });

  it('keeps the mode while a plan runs, and allows a change after the turn (S-40)', async () => {
    const store = await databases.open();
    const events = createEventBus({ nodeId: 'n1', log: silentLog });
    const command = modeCommand(intakeContext(store, { events }));
    const { head, turnId } = await startTurn(store);
    await store.ledger.openTurn(head, turnId, 50);
    const made = { plan: testPlan(2), card: 'a plan', todos: [], rows: [] };
    await store.ledger.storePlan(head, turnId, { made, userId: 'telegram:42', model: 'm', usage: USAGE });
    await expect(command.run(call('teacher'))).rejects.toThrow('/stop ends it');
    await store.ledger.updatePlan(head, { ...testPlan(2), state: 'paused' });
    await expect(refuseWhilePlanRuns(intakeContext(store), 'telegram:42')).rejects.toMatchObject({
      code: 'plan_running',
    });
    // A plan whose turn is over is no longer running, whatever its row says.
    await store.ledger.finishTurn(head, finished(turnId, 'Done.'));
    expect(await command.run(call('teacher'))).toMatch(/^Mode: teacher/);
  });
});

it('reports the new name of a renamed mode (S-03)', () => {
  expect(() => readMode('fixer')).toThrow('That mode is called "planner" now.');
});

describeGateway('modes', { telegram: true }, (gateway) => {
  it('are set in a chat and over HTTP, and shown by both (S-03, S-42)', async () => {
    await gateway().post('modes', 'hello');
    const key = '/v1/sessions/http:modes';
    const patched = await gateway().call(key, { method: 'PATCH', json: { mode: 'teacher' } });
    expect(await patched.json()).toMatchObject({ mode: 'teacher' });
    const old = await gateway().call(key, { method: 'PATCH', json: { mode: 'fixer' } });
    expect(old.status).toBe(400);
    expect(await old.json()).toMatchObject({
      error: { code: 'bad_mode', message: expect.stringContaining('planner') },
    });
    const said = await gateway().call(`${key}/messages`, { json: { content: '/mode agentic' } });
    expect(await said.json()).toMatchObject({
      handled: true,
      reply: expect.stringContaining('Mode: agentic'),
    });
    const status = await gateway().call(`${key}/messages`, { json: { content: '/status' } });
    expect(await status.json()).toMatchObject({ reply: expect.stringContaining('Mode: agentic') });
    const bad = await gateway().call(`${key}/messages`, { json: { content: 'hi', mode: 'fixer' } });
    expect(bad.status).toBe(400);
  });

  it('can be given for one message, which leaves the session as it was (S-05)', async () => {
    await gateway().post('once', 'hello');
    const posted = await gateway().call('/v1/sessions/http:once/messages', {
      json: { content: 'this one', mode: 'agentic' },
    });
    expect(posted.status).toBe(202);
    const stored = await gateway().sql<{ mode: string }[]>`
      select payload ->> 'mode' as mode from lane_item where payload -> 'message' ->> 'content' = 'this one'`;
    expect(stored).toEqual([{ mode: 'agentic' }]);
    await vi.waitFor(async () => {
      expect((await gateway().messages('http:once')).filter(({ role }) => role === 'assistant')).toHaveLength(
        2,
      );
    }, WAIT);
    const session = await gateway().call('/v1/sessions/http:once');
    expect(await session.json()).toMatchObject({ mode: 'planner' });
  });
});
