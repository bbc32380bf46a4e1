/** The time that a replay may take. */
import { expect, it } from 'vitest';
import { describeStore } from '../../database.ts';
import { fallsSilent, says, ScriptedProvider } from '../../fakes/agent/scripted-provider.ts';
import { openScenario } from '../../fakes/agent/turn-setup.ts';

describeStore('a replay', (databases) => {
  it('ends with what it has when its time is over, and says so', async () => {
    const provider = new ScriptedProvider(says('As it was.'), fallsSilent('It begins'));
    const scenario = await openScenario(databases, { provider, limits: { replayMs: 60 } });
    const { turnId } = await scenario.ask('Hello');
    const record = await scenario.store.replays.turnRecord(turnId);
    if (typeof record !== 'object') throw new Error('The turn is not stored.');
    const signal = new AbortController().signal;
    const { replays } = scenario.agent;
    const { original, replay } = await replays.run(
      record,
      { profileId: 'default' },
      { userId: 'system' },
      signal,
    );
    expect(original).toMatchObject({ answer: 'As it was.', reason: 'completed' });
    expect(replay).toMatchObject({ answer: 'It begins', reason: 'timed_out' });
    expect(replay.error).toContain('The replay was ended after');
    expect(provider.hungUp).toBe(1);
  });
});
