/** What model calls cost, where the server says it and where it does not. */
import { expect, it } from 'vitest';
import { LaneAbort } from '../../src/bus.ts';
import { ProviderError } from '../../src/errors.ts';
import { reckonUsage } from '../../src/agent/turn-usage.ts';
import type { Usage } from '../../src/provider.ts';
import { describeEachDatabase } from '../database.ts';
import { fails, fallsSilent, says, SCRIPT_USAGE, ScriptedProvider } from '../fakes/scripted-provider.ts';
import { openWorld } from '../fakes/turn-world.ts';

const seen = { promptTokens: 90, said: 'x'.repeat(30), ms: 400 };
const usage = (promptTokens: number, completionTokens: number, modelMs: number): Usage => ({
  promptTokens,
  completionTokens,
  modelMs,
});

it.each([
  ['all', usage(9, 8, 7), usage(9, 8, 7)],
  ['no time', usage(9, 8, 0), usage(9, 8, 400)],
  ['no prompt', usage(0, 8, 7), { ...usage(90, 8, 7), estimated: true }],
  ['nothing', usage(0, 0, 0), { ...usage(90, 10, 400), estimated: true }],
  ['not its end', undefined, { ...usage(90, 10, 400), estimated: true }],
])('takes what a server tells and estimates the rest: it told %s', (_told, told, reckoned) => {
  expect(reckonUsage(told, seen)).toEqual(reckoned);
});

describeEachDatabase('the usage of a turn', (databases) => {
  it('is never nothing: a server that reports none is estimated, and the sum says so', async () => {
    const silent = { ...says('Three words here'), usage: usage(0, 0, 0) };
    const world = await openWorld(databases, { provider: new ScriptedProvider(silent) });
    const { turnId } = await world.ask('What is it?');
    const spent = (await world.store.ledger.turn(turnId))?.usage;
    expect(spent).toMatchObject({ estimated: true });
    expect(spent?.promptTokens).toBeGreaterThan(4);
    expect(spent?.completionTokens).toBe(6);
  });

  it('counts the call that a stop ended in its middle', async () => {
    const provider = new ScriptedProvider(fallsSilent('Once upon a time'));
    const world = await openWorld(databases, { provider });
    const stop = new AbortController();
    const { head } = await world.say('Tell me a story');
    const running = world.run(head, stop.signal);
    await provider.silence();
    stop.abort(new LaneAbort('stopped'));
    await running;
    expect(world.finishes[0]).toMatchObject({
      reason: 'stopped',
      usage: [{ model: 'test-model', estimated: true, completionTokens: 6 }],
    });
  });

  it('counts a call that broke and the one that took its place', async () => {
    const broken = new ProviderError('bad_response', 'cut', { retryable: true });
    const provider = new ScriptedProvider(fails(broken, 'Half'), says('Whole'));
    const world = await openWorld(databases, { provider });
    await world.ask('Speak');
    const [spent, ...others] = world.finishes[0]?.usage ?? [];
    expect(others).toEqual([]);
    expect(spent).toMatchObject({ estimated: true, completionTokens: SCRIPT_USAGE.completionTokens + 2 });
  });

  it('counts what was noted for the same turn beside its answers', async () => {
    const world = await openWorld(databases, { provider: new ScriptedProvider(says('ok')) });
    const { turnId } = await world.ask('Plan it');
    const note = {
      session: 'telegram:42',
      userId: 'telegram:42',
      model: 'big',
      ...usage(100, 50, 30),
    } as const;
    await world.store.ledger.noteUsage({ ...note, purpose: 'plan', turnId });
    const { promptTokens, completionTokens, modelMs } = SCRIPT_USAGE;
    expect((await world.store.ledger.turn(turnId))?.usage).toEqual(
      usage(promptTokens + 100, completionTokens + 50, modelMs + 30),
    );
  });
});
