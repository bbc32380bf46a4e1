/** What model calls cost, whether or not the server reports it. */
import { expect, it } from 'vitest';
import { LaneAbort } from '../../../src/protocol/bus.ts';
import { ProviderError } from '../../../src/protocol/errors.ts';
import type { Usage } from '../../../src/protocol/agent/provider.ts';
import { listDir } from '../../../src/tools/files/list-dir.ts';
import { spawnAgent } from '../../../src/tools/spawn-agent.ts';
import { describeStore } from '../../database.ts';
import { dyingAt, notOfDeath } from '../../fakes/agent/dying-store.ts';
import {
  asks,
  fails,
  fallsSilent,
  says,
  SCRIPT_USAGE,
  ScriptedProvider,
} from '../../fakes/agent/scripted-provider.ts';
import { openScenario, TurnScenario } from '../../fakes/agent/turn-setup.ts';

const usage = (promptTokens: number, completionTokens: number, modelMs: number): Usage => ({
  promptTokens,
  completionTokens,
  modelMs,
});

/** Asks, shuts down where the model falls silent, and resumes the turn; returns the turn. */
async function leaveAndGoOn(
  scenario: TurnScenario,
  provider: ScriptedProvider,
  words: string,
): Promise<string> {
  const shutdown = new AbortController();
  const { turnId, head } = await scenario.say(words);
  const running = scenario.run(head, shutdown.signal);
  await provider.silence();
  shutdown.abort(new LaneAbort('shutdown'));
  expect(await running).toEqual({ kind: 'released' });
  if (head !== undefined) await scenario.store.lanes.release(head, { delayMs: 0, attempt: false });
  await scenario.run(await scenario.sweep());
  return turnId;
}

describeStore('the usage of a turn', (databases) => {
  it('is never zero: it is estimated for a server that reports none, and the sum is marked', async () => {
    const silent = { ...says('Three words here'), usage: usage(0, 0, 0) };
    const scenario = await openScenario(databases, { provider: new ScriptedProvider(silent) });
    const { turnId } = await scenario.ask('What is it?');
    const spent = (await scenario.store.ledger.turn(turnId))?.usage;
    expect(spent).toMatchObject({ estimated: true });
    expect(spent?.promptTokens).toBeGreaterThan(4);
    expect(spent?.completionTokens).toBe(6);
  });

  it('includes a call that was stopped', async () => {
    const provider = new ScriptedProvider(fallsSilent('Once upon a time'));
    const scenario = await openScenario(databases, { provider });
    const stop = new AbortController();
    const { head } = await scenario.say('Tell me a story');
    const running = scenario.run(head, stop.signal);
    await provider.silence();
    stop.abort(new LaneAbort('stopped'));
    await running;
    expect(scenario.finishes[0]).toMatchObject({
      reason: 'stopped',
      usage: [{ model: 'test-model', estimated: true, completionTokens: 6 }],
    });
  });

  it('includes a broken call and the one that replaced it', async () => {
    const cut = new ProviderError('bad_response', 'cut', { retryable: true });
    const provider = new ScriptedProvider(fails(cut, 'Half'), says('Whole'));
    const scenario = await openScenario(databases, { provider });
    await scenario.ask('Speak');
    const [spent, ...others] = scenario.finishes[0]?.usage ?? [];
    expect(others).toEqual([]);
    expect(spent).toMatchObject({ estimated: true, completionTokens: SCRIPT_USAGE.completionTokens + 2 });
  });

  const broken = new ProviderError('bad_response', 'cut', { retryable: true });
  const look = asks([{ name: 'list_dir', args: { path: '.' } }]);
  const HALF = 2;
  const tokensOf = async (scenario: TurnScenario, turnId: string): Promise<number | undefined> =>
    (await scenario.store.ledger.turn(turnId))?.usage?.completionTokens;

  it('includes a call that broke before the process died, once, from the row of the next answer', async () => {
    const store = await databases.open();
    const provider = new ScriptedProvider(fails(broken, 'Half'), look, says('There is nothing.'));
    const death = dyingAt(1, 'after', ['openTurn', 'journalAnswer']);
    const options = { store, provider, tools: [listDir] };
    const first = await openScenario(databases, { ...options, around: death.of });
    const { turnId, head } = await first.say('What is there?');
    await first.run(head).catch(notOfDeath);
    expect(death.died()).toBe(true);
    const second = new TurnScenario(options);
    await second.start();
    await second.run(await second.sweep());
    expect(await tokensOf(second, turnId)).toBe(2 * SCRIPT_USAGE.completionTokens + HALF);
  });

  it('includes a call that broke before a shutdown, when no row follows it', async () => {
    const provider = new ScriptedProvider(fails(broken, 'Half'), fallsSilent('Ha'), says('Whole'));
    const scenario = await openScenario(databases, { provider });
    const turnId = await leaveAndGoOn(scenario, provider, 'Speak');
    const cutShort = 1;
    expect(await tokensOf(scenario, turnId)).toBe(SCRIPT_USAGE.completionTokens + HALF + cutShort);
  });

  it('includes a subagent’s call that broke before a shutdown', async () => {
    const spawn = asks([{ name: 'spawn_agent', args: { task: 'Look around' } }]);
    const child = [fails(broken, 'Half'), fallsSilent('Ha'), says('Nothing.')];
    const provider = new ScriptedProvider(spawn, ...child, says('There is nothing.'));
    const store = await databases.open();
    const scenario = await openScenario(databases, { store, provider, tools: [spawnAgent] });
    const turnId = await leaveAndGoOn(scenario, provider, 'Look');
    const to = new Date(Date.now() + 60_000);
    expect(await tokensOf(scenario, turnId)).toBe(3 * SCRIPT_USAGE.completionTokens + HALF + 1);
    const { groups } = await store.usage.groups({ from: new Date(0), to }, 'purpose');
    expect(Object.fromEntries(groups.map(({ key, completionTokens }) => [key, completionTokens]))).toEqual({
      turn: 2 * SCRIPT_USAGE.completionTokens,
      subagent: SCRIPT_USAGE.completionTokens + HALF + 1,
    });
  });

  it('includes usage stored for the turn in addition to its answers', async () => {
    const scenario = await openScenario(databases, { provider: new ScriptedProvider(says('ok')) });
    const { turnId } = await scenario.ask('Plan it');
    const note = {
      session: 'telegram:42',
      userId: 'telegram:42',
      model: 'big',
      ...usage(100, 50, 30),
    } as const;
    await scenario.store.ledger.noteUsage({ ...note, purpose: 'plan', turnId });
    const { promptTokens, completionTokens, modelMs } = SCRIPT_USAGE;
    expect((await scenario.store.ledger.turn(turnId))?.usage).toEqual(
      usage(promptTokens + 100, completionTokens + 50, modelMs + 30),
    );
  });
});
