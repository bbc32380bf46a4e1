/** A gateway killed while it answers a question again: the new answer arrives once, and remains the current one. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { answers, retry, say } from '../../crash/chat-actions.ts';
import { type Scenario, startScenario } from '../../crash/scenario.ts';
import { serverUrl } from '../../database.ts';
import { lastUserText, messagesWithoutNotes } from '../../fakes/model/spoken-text.ts';

const LONG = { timeout: 20_000, interval: 50 };

let open: Scenario | undefined;
afterEach(() => open?.close());

describe('a killed retry', () => {
  it('is finished by the next process', async () => {
    const scenario = (open = await startScenario({ postgresUrl: serverUrl() }));
    const [gateway] = scenario.gateways;
    if (gateway === undefined) throw new Error('a scenario has a gateway');
    gateway.start();
    const url = await gateway.url();
    scenario.ollama.answer('one', { when: 'count' });
    await say(url, 'counted', 'count');
    await vi.waitFor(async () => expect(await answers(url, 'counted')).toEqual(['one']), LONG);
    scenario.ollama.answer({ hold: true, text: 'never' }, { when: 'count' });
    await retry(url, 'counted');
    await vi.waitFor(() => expect(scenario.ollama.active).toBe(1), LONG);
    await gateway.kill();
    scenario.ollama.answer('two', { when: 'count' });
    gateway.start();
    const again = await gateway.url();
    await vi.waitFor(async () => expect(await answers(again, 'counted')).toEqual(['one', 'two']), LONG);
    await say(again, 'counted', 'and now');
    await vi.waitFor(async () => expect(await answers(again, 'counted')).toHaveLength(3), LONG);
    const { body } = scenario.ollama.calls.findLast(
      ({ body: asked }) => lastUserText(asked) === 'and now',
    ) ?? { body: { messages: [] } };
    expect(messagesWithoutNotes(body.messages.slice(1)).map(({ content }) => content)).toEqual([
      'count',
      'two',
      'and now',
    ]);
  });
});
