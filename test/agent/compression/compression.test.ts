/** Long conversations: summarized before a turn that is too heavy and after a turn, all or nothing, never in the way. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { LaneAbort } from '../../../src/protocol/bus.ts';
import { ProviderError } from '../../../src/protocol/errors.ts';
import type { ChatMessage } from '../../../src/protocol/agent/provider.ts';
import { readFile } from '../../fakes/tool-options.ts';
import { describeStore, type TestDatabases, type TestStore } from '../../database.ts';
import {
  asks as asksFor,
  fails,
  says as saysIt,
  ScriptedProvider,
  type ScriptStep,
} from '../../fakes/agent/scripted-provider.ts';
import { TurnScenario } from '../../fakes/agent/turn-setup.ts';

/** A server that reports no usage, so estimates stay uncorrected. */
const usage = { promptTokens: 0, completionTokens: 0, modelMs: 0 };
const says = (...words: string[]): ScriptStep => ({ ...saysIt(...words), usage });
const asks: typeof asksFor = (...asked) => ({ ...asksFor(...asked), usage });

const key = 'telegram:42' as const;
/** About 350 tokens. */
const LONG = 'lorem ipsum '.repeat(87);
const SMALL = { contextWindow: 2_560, maxTokens: 256, iterationBudgetEnabled: false } as const;

async function openConversation(databases: TestDatabases, ...steps: ScriptStep[]) {
  const store = await databases.open();
  const provider = new ScriptedProvider(...steps);
  const scenario = new TurnScenario({
    store,
    provider,
    tools: [readFile],
    profile: { ...SMALL, compressionEnabled: false },
  });
  onTestFinished(() => scenario.close());
  await scenario.start();
  return {
    store,
    provider,
    scenario,
    /** Turns of about 360 tokens that trigger nothing. */
    talk: async (turns: number): Promise<void> => {
      for (let n = 1; n <= turns; n += 1) {
        provider.add(says(`answer ${n} ${LONG}`));
        await scenario.ask(`question ${n}`);
      }
    },
    enable: () => void (scenario.profile = { ...scenario.profile, compressionEnabled: true }),
    events: () =>
      scenario.types().filter((type) => ['context_compressed', 'stream_start', 'turn_ended'].includes(type)),
  };
}

const contents = (messages: readonly ChatMessage[] | undefined): string =>
  (messages ?? []).map(({ content }) => content).join('\n');
const isSummaryCall = (messages: readonly ChatMessage[] | undefined): boolean =>
  contents(messages).includes('Write its summary now');

/** The covered part of the context, by its first words. */
async function covered({ sql }: TestStore): Promise<string[]> {
  const rows = await sql<{ text: string }[]>`
    select left(payload ->> 'content', 10) as text from context where summarized_by is not null order by lane_seq, seq`;
  return rows.map(({ text }) => text);
}

describeStore('compression', (databases) => {
  it('summarizes the oldest turns before a turn whose context is too large (N-67)', async () => {
    const { store, provider, scenario, talk, enable, events } = await openConversation(databases);
    await talk(5);
    enable();
    scenario.events.length = 0;
    const before = provider.requests.length;
    provider.add(says('They spoke of 1 to 3.'), says('the answer'));
    const { turn } = await scenario.ask('question 6');
    expect(turn?.final?.content).toBe('the answer');
    const [summaryCall, mainCall] = provider.requests.slice(before);
    expect(isSummaryCall(summaryCall?.messages)).toBe(true);
    expect(summaryCall).toMatchObject({
      model: 'test-model',
      contextWindow: mainCall?.contextWindow,
      think: false,
    });
    expect(contents(mainCall?.messages)).toMatch(
      /\[Summary of our conversation so far.*\]\nThey spoke of 1 to 3\.\n.*question 5\nanswer 5.*question 6\nIt is /s,
    );
    expect(contents(mainCall?.messages)).not.toContain('answer 1');
    expect(events()).toEqual(['context_compressed', 'stream_start', 'turn_ended']);
    const told = scenario.events.find((event) => event.type === 'context_compressed');
    expect(told).toMatchObject({ before: expect.any(Number), after: expect.any(Number) });
    expect(told?.type === 'context_compressed' && told.after < told.before).toBe(true);
    expect((await covered(store)).slice(0, 4)).toEqual([
      'question 1',
      'answer 1 l',
      'question 2',
      'answer 2 l',
    ]);
    expect((await store.ledger.messages(key, { limit: 50 })).map(({ content }) => content)).toContain(
      'question 1',
    );
    const usage = await store.sql`select session, user_id, model from usage where purpose = 'compression'`;
    expect([...usage]).toEqual([{ session: key, user_id: key, model: 'test-model' }]);
  });

  it('also runs after a turn, as a worker that delays neither its end nor the next turn (N-65, N-66)', async () => {
    const { store, provider, scenario, talk, enable } = await openConversation(databases);
    await talk(4);
    enable();
    const release = Promise.withResolvers<void>();
    provider.add(says(`answer 5 ${LONG}`), {
      ...says('They spoke of 1 to 3.'),
      before: () => release.promise,
    });
    await scenario.ask('question 5');
    expect(scenario.types().at(-1)).toBe('turn_ended');
    await vi.waitFor(() => expect(isSummaryCall(provider.requests.at(-1)?.messages)).toBe(true));
    // Short enough not to be too heavy: it starts, runs and ends while the summary is being generated.
    scenario.profile = { ...scenario.profile, compressionThreshold: 0.95 };
    provider.add(says('quick'));
    const { turn } = await scenario.ask('hello?');
    expect(turn?.final?.content).toBe('quick');
    expect(scenario.types()).not.toContain('context_compressed');
    expect(await covered(store)).toEqual([]);
    release.resolve();
    await vi.waitFor(() => expect(scenario.types().at(-1)).toBe('context_compressed'), { timeout: 10_000 });
    provider.add(says('last'));
    await scenario.ask('and now?');
    expect(contents(provider.requests.at(-1)?.messages)).toMatch(
      /They spoke of 1 to 3\.\n.*hello\?\nquick\nand now\?\nIt is /s,
    );
  });

  it('waits for the worker of the previous turn when the new turn is too large without it', async () => {
    const { provider, scenario, talk, enable } = await openConversation(databases);
    await talk(4);
    enable();
    const release = Promise.withResolvers<void>();
    provider.add(says(`answer 5 ${LONG}`), { ...says('They spoke.'), before: () => release.promise });
    await scenario.ask('question 5');
    provider.add(says('after it'));
    const asked = scenario.ask('question 6');
    await vi.waitFor(() => expect(scenario.types().at(-1)).toBe('turn_started'));
    release.resolve();
    expect((await asked).turn?.final?.content).toBe('after it');
    expect(contents(provider.requests.at(-1)?.messages)).toContain('They spoke.');
    expect(provider.requests.filter(({ messages }) => isSummaryCall(messages))).toHaveLength(1);
  });

  it.each([
    {
      name: 'the model is away',
      step: fails(new ProviderError('unavailable', 'away')),
      log: 'compression_failed',
    },
    { name: 'the summary is longer', step: says(LONG.repeat(6)), log: 'not shorter' },
    { name: 'the summary is empty', step: says('  '), log: 'empty summary' },
  ])('continues with what fits when $name, and does not retry immediately', async ({ step, log }) => {
    const { store, provider, scenario, talk, enable } = await openConversation(databases);
    await talk(6);
    enable();
    provider.add(step, says('still an answer'), says('and another'));
    const { turn } = await scenario.ask('question 7');
    expect(turn?.final?.content).toBe('still an answer');
    expect(contents(provider.requests.at(-1)?.messages)).not.toContain('question 1');
    await scenario.ask('question 8');
    expect(provider.requests.filter(({ messages }) => isSummaryCall(messages))).toHaveLength(1);
    expect(scenario.logLines.join('\n')).toContain(log);
    expect(await covered(store)).toEqual([]);
  });

  it('summarizes whole turns with their tool calls, and keeps the sources of their text', async () => {
    const { store, provider, scenario, talk, enable } = await openConversation(databases);
    provider.add(asks([{ name: 'read_file', args: { path: 'none.txt' } }], 'I look.'), says(LONG));
    await scenario.ask('read the file');
    await talk(4);
    enable();
    provider.add(says('They read a file.'), says('ok'));
    await scenario.ask('question 6');
    const [summary] = await store.sql<{ payload: unknown }[]>`
      select payload from context where kind = 'summary'`;
    expect(summary?.payload).toMatchObject({ content: 'They read a file.', sources: ['local'] });
    const halves = await store.sql`
      select turn_id from context where kind <> 'tool_intent' and kind <> 'summary'
      group by turn_id having count(*) filter (where summarized_by is null) not in (0, count(*))`;
    expect([...halves]).toEqual([]);
    const calls = provider.requests.at(-1)?.messages.filter((message) => message.role === 'tool');
    expect(calls).toEqual([]);
  });

  it('ends with the turn when the turn is stopped, and closes the connection (N-58)', async () => {
    const { store, provider, scenario, talk, enable } = await openConversation(databases);
    await talk(5);
    enable();
    provider.add({ chunks: [], ending: 'silence' });
    const { head, turnId } = await scenario.say('question 6');
    const stop = new AbortController();
    const ran = scenario.run(head, stop.signal);
    await provider.silence();
    stop.abort(new LaneAbort('stopped'));
    expect(await ran).toMatchObject({ kind: 'finished' });
    expect(provider.hungUp).toBe(1);
    expect((await store.ledger.turn(turnId))?.reason).toBe('stopped');
    expect(await covered(store)).toEqual([]);
  });

  it('changes nothing when the gateway shuts down while it runs, and runs the next time', async () => {
    const { store, provider, scenario, talk, enable } = await openConversation(databases);
    await talk(4);
    enable();
    provider.add(says(`answer 5 ${LONG}`), { chunks: [], ending: 'silence' });
    await scenario.ask('question 5');
    await provider.silence();
    await scenario.agent.close();
    expect(provider.hungUp).toBe(1);
    expect(await covered(store)).toEqual([]);
    const next = new ScriptedProvider(says('They spoke.'), says('ok'));
    const again = new TurnScenario({ store, provider: next, profile: { ...SMALL } });
    onTestFinished(() => again.close());
    await again.start('next');
    expect((await again.ask('question 6')).turn?.final?.content).toBe('ok');
    expect(contents(next.requests.at(-1)?.messages)).toContain('They spoke.');
  });

  it('summarizes many short turns before they drop out of the history (B-35)', async () => {
    const { provider, scenario, enable } = await openConversation(databases);
    scenario.profile = { ...scenario.profile, contextWindow: 16_384 };
    const words = 'some words of a short talk '.repeat(5);
    for (let n = 1; n <= 24; n += 1) {
      if (n === 24) enable();
      provider.add(says(`${words} a${n}.`));
      if (n === 24) provider.add(says('Short talk, 1 to 16.'));
      await scenario.ask(`q${n}`);
    }
    await vi.waitFor(() => expect(scenario.types().at(-1)).toBe('context_compressed'), { timeout: 10_000 });
    provider.add(says('ok'));
    await scenario.ask('q25');
    const seen = contents(provider.requests.at(-1)?.messages);
    expect(seen).toContain('Short talk, 1 to 16.');
    expect(seen).toMatch(/\nq17\n.*\nq24\n.*\nq25\nIt is /s);
    expect(seen).not.toContain('\nq16\n');
  });
});
