/** What users see when a turn ends without a complete answer, and who sees what. */
import { expect, it } from 'vitest';
import { ProviderError } from '../../../src/protocol/errors.ts';
import { describeStore } from '../../database.ts';
import { fails, says, ScriptedProvider } from '../../fakes/agent/scripted-provider.ts';
import { openScenario } from '../../fakes/agent/turn-setup.ts';

const down = new ProviderError('unavailable', 'Start Ollama, or set OLLAMA_HOST.', { retryable: true });
/** The user asking, in a private chat: errors name settings. */
const owners = ['telegram:42'];
const quick = { retryBaseMs: 2, modelWaitMs: 60 };

describeStore('what a turn says at its end', (databases) => {
  it.each([
    ['an owner in a private chat', owners, 'private', 'OLLAMA_HOST'],
    ['an owner in a group', owners, 'group', 'The model is not available right now.'],
    ['anybody else', [], 'private', 'The model is not available right now.'],
  ] as const)(
    'names servers and settings to %s as they may be read there',
    async (_who, known, place, words) => {
      const provider = new ScriptedProvider();
      provider.down = new ProviderError('unavailable', 'No server at http://10.0.0.5:1, set OLLAMA_HOST.', {
        retryable: true,
      });
      const scenario = await openScenario(databases, { provider, owners: known, limits: quick });
      const { turn } = await scenario.ask('Hi', { place });
      expect(turn?.final?.content).toContain(words);
      const seen = JSON.stringify([turn, scenario.events]);
      const mayKnow = words === 'OLLAMA_HOST';
      expect(/OLLAMA_HOST|10\.0\.0\.5/.test(seen)).toBe(mayKnow);
      expect(scenario.logLines.join('')).toContain('10.0.0.5');
    },
  );

  it.each([
    ['content_filter', 'One', /^One\n\n\*\(cut off: the content filter/, 'filtered'],
    ['content_filter', '', /^The content filter of the model server ended this answer/, 'filtered'],
    ['refusal', 'I will not.', /^I will not\.$/, 'filtered'],
    ['refusal', '', /^The model refused to answer\.$/, 'filtered'],
    ['length', 'One', /^One\n\n\*\(cut off: the answer reached its maximum length/, 'cut_off'],
    ['length', '', /^The model reached its maximum length before it started/, 'cut_off'],
  ] as const)(
    'reports an answer that ended with %s after "%s" correctly',
    async (finishReason, text, told, reason) => {
      const provider = new ScriptedProvider({ ...says(text), finishReason });
      const scenario = await openScenario(databases, { provider });
      const { turn } = await scenario.ask('Hi');
      expect(turn).toMatchObject({ reason, final: { content: expect.stringMatching(told) } });
      expect(turn?.final?.isError).toBe(text === '');
      expect(scenario.shown()).toBe(turn?.final?.content);
    },
  );

  it('waits as long as the server asks; if that is too long, ends immediately and says when to try again', async () => {
    const later = (retryAfterMs: number) =>
      new ProviderError('rate_limited', 'http://10.0.0.5 answered 429', { retryable: true, retryAfterMs });
    const provider = new ScriptedProvider(fails(later(120)), says('Now.'), fails(later(60_000)));
    const scenario = await openScenario(databases, { provider, limits: { ...quick, modelWaitMs: 5_000 } });
    const began = performance.now();
    expect((await scenario.ask('Hi')).turn?.final?.content).toBe('Now.');
    expect(performance.now() - began).toBeGreaterThan(120);
    const { turn } = await scenario.ask('Again');
    expect(turn).toMatchObject({ reason: 'failed', final: { isError: true } });
    expect(turn?.final?.content).toMatch(/is not accepting more requests right now\. Try again in 60 s\.$/);
    expect(provider.requests).toHaveLength(3);
  });

  it('retries a rate-limiting server less often than one that is down', async () => {
    const limited = new ProviderError('rate_limited', 'Too many requests.', { retryable: true });
    const repeats = async (error: ProviderError): Promise<number> => {
      const provider = new ScriptedProvider();
      provider.down = error;
      const limits = { retryBaseMs: 10, modelWaitMs: 1_500 };
      const scenario = await openScenario(databases, { provider, limits });
      await scenario.ask('Hi');
      return scenario.logLines.filter((line) => line.includes('model_call_repeated')).length;
    };
    const calls = await repeats(limited);
    expect(calls).toBeGreaterThan(0);
    expect(calls).toBeLessThan(await repeats(down));
  });

  it('retracts text that turns out to have been thinking', async () => {
    const provider = new ScriptedProvider({
      chunks: [
        { type: 'text', delta: 'Let me see.' },
        { type: 'text_was_thinking' },
        { type: 'text', delta: 'Hello.' },
      ],
    });
    const scenario = await openScenario(databases, { provider });
    const { turn } = await scenario.ask('Hi');
    expect(turn?.final?.content).toBe('Hello.');
    expect(scenario.shown()).toBe('Hello.');
    const thought = scenario.events.flatMap((event) =>
      event.type === 'thinking_delta' ? [event.delta] : [],
    );
    expect(thought.join('')).toBe('Let me see.');
  });
});
