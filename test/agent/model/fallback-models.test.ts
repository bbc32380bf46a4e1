/** A profile's other models: they answer while its own cannot, in order, and the chat is told once. */
import { expect, it } from 'vitest';
import { ProviderError } from '../../../src/contracts/errors.ts';
import type { ProviderErrorCode } from '../../../src/contracts/errors.ts';
import { describeEmbedded } from '../../database.ts';
import { fails, says, ScriptedProvider } from '../../fakes/agent/scripted-provider.ts';
import { openScenario } from '../../fakes/agent/turn-setup.ts';
import { only } from '../../fakes/gateway/planned-turn.ts';

const down = (code: ProviderErrorCode = 'unavailable') =>
  fails(new ProviderError(code, 'It is not there.', { retryable: code === 'unavailable' }));
const profile = { model: 'big', fallbacks: ['middle', 'small'] };

describeEmbedded('a model that cannot answer', (databases) => {
  it.each(['unavailable', 'unknown_model', 'unauthorized', 'quota_exceeded', 'timeout_first_chunk'] as const)(
    'is replaced by the next of the profile after %s, at once, and the next turn asks it first again',
    async (code) => {
      const provider = new ScriptedProvider(
        down(code),
        down(code),
        says('Hello.'),
        down(code),
        says('Again.'),
      );
      const scenario = await openScenario(databases, { provider, profile });
      await scenario.ask('Hi');
      await scenario.ask('And you?');
      const asked = provider.requests.map(({ model }) => model);
      expect(asked).toEqual(['big', 'middle', 'small', 'big', 'middle']);
      const notices = only(scenario.events, 'notice').flatMap((event) =>
        event.type === 'notice' ? [event.text] : [],
      );
      expect(notices).toEqual([
        'The model big cannot answer now; middle answers instead.',
        'The model middle cannot answer now; small answers instead.',
      ]);
    },
  );

  it('ends the turn with its own words when all have failed, also where the chain leads back to itself', async () => {
    const provider = new ScriptedProvider(down('unknown_model'), down('unknown_model'));
    const circle = { model: 'big', fallbacks: ['big', 'middle', 'big'] };
    const scenario = await openScenario(databases, { provider, profile: circle });
    const { turn } = await scenario.ask('Hi');
    expect(turn).toMatchObject({ reason: 'failed' });
    expect(provider.requests.map(({ model }) => model)).toEqual(['big', 'middle']);
  });

  it('is not replaced where the message asked for it by name, nor by a refusal of what was asked', async () => {
    const named = new ScriptedProvider(down('unknown_model'));
    const scenario = await openScenario(databases, { provider: named, profile });
    await scenario.ask('Hi', {}, { model: 'wanted' });
    expect(named.requests.map(({ model }) => model)).toEqual(['wanted']);
    const refusing = new ScriptedProvider(down('bad_request'));
    const other = await openScenario(databases, { provider: refusing, profile });
    await other.ask('Hi');
    expect(refusing.requests).toHaveLength(1);
  });
});
