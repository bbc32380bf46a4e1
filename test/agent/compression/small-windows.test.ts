/** Long conversations on small windows, with the tools of the default profile: few summaries, and nothing forgotten in silence. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { FACTS_REQUEST } from '../../../src/agent/after-turn/facts-worker.ts';
import { SUMMARY_INSTRUCTION } from '../../../src/agent/after-turn/compress.ts';
import { DEFAULT_TOOLS } from '../../../src/protocol/agent/profile.ts';
import type { ChatRequest } from '../../../src/protocol/agent/provider.ts';
import { createTools } from '../../../src/tools/index.ts';
import { describeStore, type TestDatabases } from '../../database.ts';
import { TalkingProvider } from '../../fakes/agent/talking-provider.ts';
import { TurnScenario } from '../../fakes/agent/turn-setup.ts';
import { toolOptions } from '../../fakes/tool-options.ts';

const TURNS = 20;
const lastOf = ({ messages }: ChatRequest): string => messages.at(-1)?.content ?? '';
const isSummary = (request: ChatRequest): boolean => lastOf(request).startsWith(SUMMARY_INSTRUCTION);
const asksForFacts = (request: ChatRequest): boolean => lastOf(request) === FACTS_REQUEST;
const isTurn = (request: ChatRequest): boolean => !isSummary(request) && !asksForFacts(request);

/** A conversation of turns of about 400 tokens each; all that the model was asked. */
async function talk(databases: TestDatabases, window: number) {
  const store = await databases.open();
  const provider = new TalkingProvider(window, (request) => {
    if (isSummary(request)) return 'They spoke of the sea. '.repeat(8);
    return asksForFacts(request) ? 'none' : 'The sea is wide and blue. '.repeat(35);
  });
  const scenario = new TurnScenario({
    store,
    provider,
    tools: [...createTools(toolOptions)],
    profile: { enabledTools: [...DEFAULT_TOOLS] },
    afterTurn: { facts: true },
  });
  onTestFinished(() => scenario.close());
  await scenario.start();
  for (let n = 1; n <= TURNS; n += 1) {
    const before = provider.requests.filter(asksForFacts).length;
    await scenario.ask(`question ${n} ${'about the sea '.repeat(12)}`);
    // The workers of one turn end before the next begins, as between people.
    await vi.waitFor(() => {
      const summaries = provider.requests.filter(isSummary).length;
      const facts = provider.requests.filter(asksForFacts).length;
      if (summaries !== facts && facts === before) throw new Error('the workers are not done yet');
    });
  }
  return { scenario, requests: provider.requests };
}

describeStore(`a conversation of ${TURNS} turns`, (databases) => {
  it.each([8_192, 6_144, 4_096])('on a window of %i tokens is summarized now and then', async (window) => {
    const { scenario, requests } = await talk(databases, window);
    const summaries = requests.filter(isSummary);
    expect(summaries.length).toBeGreaterThan(0);
    expect(summaries.length).toBeLessThanOrEqual(window === 4_096 ? TURNS / 2 : 5);
    expect(requests.filter(asksForFacts).length).toBeLessThanOrEqual(summaries.length);
    const last = requests.findLast(isTurn);
    expect(JSON.stringify(last?.messages)).toContain('[Summary of our conversation so far');
    const told = scenario.events.filter(
      (event) => event.type === 'notice' && event.text.includes('no longer fits'),
    );
    expect(told).toEqual([]);
    // The start of the prompt is the same in every call, for the cache of a server with one slot.
    const starts = new Set(requests.map(({ messages, tools }) => JSON.stringify([messages[0], tools])));
    expect(starts.size).toBe(1);
  });

  it('tells the person once when its beginning falls out of the prompt without a summary', async () => {
    const store = await databases.open();
    const provider = new TalkingProvider(4_096, () => 'The sea is wide and blue. '.repeat(40));
    const profile = { enabledTools: [], compressionEnabled: false };
    const scenario = new TurnScenario({ store, provider, profile });
    onTestFinished(() => scenario.close());
    await scenario.start();
    for (let n = 1; n <= 14; n += 1) await scenario.ask(`question ${n}`);
    expect(scenario.events.filter(({ type }) => type === 'notice')).toEqual([
      {
        type: 'notice',
        code: 'small_window',
        text: expect.stringContaining('The beginning of this conversation'),
      },
    ]);
  });
});
