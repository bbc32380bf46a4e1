/** A profile's fallback models: they answer in order while its own cannot, and the chat is notified once. */
import { describe, expect, it } from 'vitest';
import { type Failing, FallbackModels } from '../../../src/agent/model/fallback-models.ts';
import { ProviderError, type ProviderErrorCode } from '../../../src/protocol/errors.ts';
import type { EventBody } from '../../../src/protocol/event.ts';
import type { SessionKey } from '../../../src/protocol/message.ts';
import { describeStore } from '../../database.ts';
import { fails, says, ScriptedProvider } from '../../fakes/agent/scripted-provider.ts';
import { openScenario } from '../../fakes/agent/turn-setup.ts';
import { only } from '../../fakes/gateway/planned-turn.ts';
import { testLog } from '../../fakes/agent/tool-context.ts';

const down = (code: ProviderErrorCode = 'unavailable') =>
  fails(new ProviderError(code, 'It is not there.', { retryable: code === 'unavailable' }));
const profile = { model: 'big', fallbacks: ['middle', 'small'] };

describeStore('a model that cannot answer', (databases) => {
  it.each([
    ['unavailable', 'cannot be reached'],
    ['out_of_memory', 'is out of memory'],
    ['unknown_model', 'does not exist'],
    ['unauthorized', 'refuses access'],
    ['quota_exceeded', 'has used up its quota'],
    ['timeout_first_chunk', 'does not start to answer'],
  ] as const)(
    'is replaced by the profile’s next model immediately after %s, and the next turn tries it first again',
    async (code, reason) => {
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
        `The model big ${reason}; middle answers instead.`,
        `The model middle ${reason}; small answers instead.`,
      ]);
    },
  );

  it('ends the turn with its own error text when all have failed, even where the chain leads back to itself', async () => {
    const provider = new ScriptedProvider(down('unknown_model'), down('unknown_model'));
    const circle = { model: 'big', fallbacks: ['big', 'middle', 'big'] };
    const scenario = await openScenario(databases, { provider, profile: circle });
    const { turn } = await scenario.ask('Hi');
    expect(turn).toMatchObject({ reason: 'failed' });
    expect(provider.requests.map(({ model }) => model)).toEqual(['big', 'middle']);
  });

  it('is not replaced when the message asked for it by name, nor when it refuses the request', async () => {
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

/** A turn of this conversation under the profile, and what its readers see. */
function turnOf(sessionKey: SessionKey) {
  const told: string[] = [];
  const turn: Failing = { sessionKey, profile, log: testLog([]), model: 'big' };
  const emit = (event: EventBody): void => void (event.type === 'notice' && told.push(event.text));
  return { turn, emit, told };
}

describe('who answers for a model', () => {
  const failure = (code: ProviderErrorCode) => ({ error: new ProviderError(code, 'x'), begun: false });

  it('is the end of its chain until the model itself answers or an hour has passed', () => {
    let now = 0;
    const models = new FallbackModels(() => now);
    const { turn, emit } = turnOf('http:a');
    expect(models.insteadOf('big')).toBeUndefined();
    models.change(turn, failure('out_of_memory'), emit);
    models.change(turn, failure('unavailable'), emit);
    expect(models.insteadOf('big')).toEqual({
      model: 'big',
      instead: 'small',
      reasonKey: 'model_fails.out_of_memory',
    });
    models.answered({ ...turn, model: 'middle' }, emit);
    expect(models.insteadOf('big')?.instead).toBe('middle');
    now = 3_600_001;
    expect(models.insteadOf('big')).toBeUndefined();
  });

  it('is no one when two models are each other’s fallback and both fail', () => {
    const models = new FallbackModels(() => 0);
    const { emit } = turnOf('http:a');
    const log = testLog([]);
    const pair = (model: string, other: string): Failing => ({
      sessionKey: 'http:a',
      profile: { fallbacks: [other] },
      log,
      model,
    });
    models.change(pair('a', 'b'), failure('unavailable'), emit);
    models.change(pair('b', 'a'), failure('unavailable'), emit);
    expect(models.insteadOf('a')).toMatchObject({ model: 'a', reasonKey: 'model_fails.unavailable' });
  });

  it('is announced once in each conversation, and so is the model’s return', () => {
    const models = new FallbackModels(() => 0);
    const [first, second] = [turnOf('http:a'), turnOf('http:b')];
    for (const { turn, emit } of [first, second]) {
      for (let n = 0; n < 2; n += 1) models.change({ ...turn }, failure('unavailable'), emit);
    }
    for (let n = 0; n < 2; n += 1) models.answered(first.turn, first.emit);
    const changed = 'The model big cannot be reached; middle answers instead.';
    expect(first.told).toEqual([changed, 'The model big is answering again.']);
    expect(second.told).toEqual([changed]);
  });
});
