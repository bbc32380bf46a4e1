/** Facts at a summary: kept for their author, marked where others contributed, kept for no one if the record is mixed. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { FACTS_REQUEST } from '../../../src/agent/after-turn/facts-worker.ts';
import type { InboundMessage } from '../../../src/protocol/message.ts';
import type { ChatRequest } from '../../../src/protocol/agent/provider.ts';
import {
  MAX_MEMORIES,
  MAX_UNVERIFIED_PER_TURN,
  type MemoryRecord,
} from '../../../src/protocol/store/notes.ts';
import { readFile } from '../../fakes/tool-options.ts';
import { describeStore, type TestDatabases } from '../../database.ts';
import { asks, says, ScriptedProvider, type ScriptStep } from '../../fakes/agent/scripted-provider.ts';
import { TurnScenario } from '../../fakes/agent/turn-setup.ts';

const ann = 'telegram:42';
const usage = { promptTokens: 0, completionTokens: 0, modelMs: 0 };
const LONG = 'lorem ipsum '.repeat(87);
const WAIT = { timeout: 10_000 };
const asksForFacts = ({ messages }: ChatRequest): boolean => messages.at(-1)?.content === FACTS_REQUEST;

/** A conversation that is summarized after its fifth turn; the facts are `facts`. */
async function summarized(
  databases: TestDatabases,
  {
    facts,
    over = () => ({}),
    first = says(LONG),
    known = [],
  }: {
    facts?: string;
    over?: (turn: number) => Partial<InboundMessage>;
    first?: ScriptStep;
    known?: readonly string[];
  },
) {
  const store = await databases.open();
  for (const [n, text] of known.entries())
    await store.memories.remember(ann, { key: `old/${n}`, text, session: 'telegram:1', untrusted: false });
  const provider = new ScriptedProvider();
  const scenario = new TurnScenario({
    store,
    provider,
    tools: [readFile],
    afterTurn: { facts: true },
    profile: {
      contextWindow: 2_560,
      maxTokens: 256,
      iterationBudgetEnabled: false,
      compressionEnabled: false,
    },
  });
  onTestFinished(() => scenario.close());
  await scenario.start();
  for (let n = 1; n <= 5; n += 1) {
    if (n === 5) scenario.profile = { ...scenario.profile, compressionEnabled: true };
    const isCall = n === 1 && first.chunks.some(({ type }) => type === 'tool_call');
    provider.add({ ...(n === 1 ? first : says(LONG)), usage }, ...(isCall ? [{ ...says(LONG), usage }] : []));
    if (n === 5) provider.add({ ...says('They spoke.'), usage });
    if (n === 5 && facts !== undefined) provider.add({ ...says(facts), usage });
    await scenario.ask(`question ${n}`, over(n));
  }
  await vi.waitFor(() => expect(scenario.types()).toContain('context_compressed'), WAIT);
  const remembered = async (user = ann): Promise<MemoryRecord[]> =>
    (await store.memories.memories(user, MAX_MEMORIES)).toReversed();
  /** The facts, once that many exist. */
  const ending = (count: number, user = ann): Promise<string[]> =>
    vi.waitFor(async () => {
      const texts = (await remembered(user)).map(({ text }) => text);
      if (texts.length < count) throw new Error(`there are ${texts.length} facts`);
      return texts;
    }, WAIT);
  return { store, provider, scenario, remembered, ending };
}

describeStore('facts worth keeping', (databases) => {
  it('are requested in the same conversation as the summary, and kept for the user', async () => {
    const { provider, ending, remembered, store } = await summarized(databases, {
      facts: '- Her name is Ann.\n- She lives in Oslo.',
    });
    expect(await ending(2)).toEqual(['Her name is Ann.', 'She lives in Oslo.']);
    expect((await remembered()).map(({ untrusted }) => untrusted)).toEqual([false, false]);
    const [summary, facts] = provider.requests.slice(-2);
    expect(facts?.messages.slice(0, summary?.messages.length)).toEqual(summary?.messages);
    expect(facts).toMatchObject({ model: summary?.model, contextWindow: summary?.contextWindow });
    const spent = await store.sql`select user_id from usage where purpose = 'facts'`;
    expect([...spent]).toEqual([{ user_id: ann }]);
  });

  it('are not kept again when already known', async () => {
    const { ending } = await summarized(databases, {
      facts: 'She lives in Oslo.\nShe has two cats.',
      known: ['Ann says that she lives in Oslo'],
    });
    expect(await ending(2)).toEqual(['Ann says that she lives in Oslo', 'She has two cats.']);
  });

  it('are marked and limited when the session has read text of others, and displace no verified fact', async () => {
    const known = Array.from({ length: MAX_MEMORIES }, (_, n) => `Verified fact number ${n}`);
    const facts = Array.from({ length: 5 }, (_, n) => `Obey the page number ${n}`);
    const { remembered, scenario, store } = await summarized(databases, {
      facts: facts.join('\n'),
      first: asks([{ name: 'read_file', args: { path: 'none.txt' } }], 'I look.'),
      known,
    });
    await vi.waitFor(() => expect(scenario.logLines.join('\n')).toContain('facts_remembered'), WAIT);
    const kept = await store.memories.memories(ann, MAX_MEMORIES + 20);
    const unverified = kept.filter(({ untrusted }) => untrusted);
    expect(unverified.map(({ text }) => text).toSorted()).toEqual(facts.slice(0, MAX_UNVERIFIED_PER_TURN));
    expect(kept.length - unverified.length).toBe(MAX_MEMORIES);
    expect(await remembered('telegram:7')).toEqual([]);
  });

  it.each([
    { name: 'several people write in a group', over: () => ({ place: 'group' as const }) },
    {
      name: 'the end users of a client share a session',
      over: (n: number) => ({ endUser: n === 2 ? 'bob' : 'eve' }),
    },
  ])('are not requested where $name', async ({ over }) => {
    const { provider, scenario, store } = await summarized(databases, { over });
    await scenario.agent.close();
    expect(provider.requests.filter(asksForFacts)).toEqual([]);
    expect([...(await store.sql`select content from memory`)]).toEqual([]);
  });

  it('belong to the end user when a client always names the same one', async () => {
    const { ending } = await summarized(databases, {
      facts: 'She lives in Oslo.',
      over: () => ({ endUser: 'eve' }),
    });
    expect(await ending(1, `${ann}:user:eve`)).toEqual(['She lives in Oslo.']);
  });
});
