/** A turn from its message to its commit, on a real store. */
import path from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { HISTORY_ROWS } from '../../../src/protocol/store/accept.ts';
import { defineTool } from '../../../src/protocol/agent/tool.ts';
import { listDir } from '../../../src/tools/files/list-dir.ts';
import { readFile } from '../../fakes/tool-options.ts';
import { describeStore } from '../../database.ts';
import { effectTools, startEffects } from '../../fakes/agent/effect-tools.ts';
import { replaySteps } from '../../fakes/agent/replay-provider.ts';
import { asks, says, SCRIPT_USAGE, ScriptedProvider } from '../../fakes/agent/scripted-provider.ts';
import { openScenario } from '../../fakes/agent/turn-setup.ts';
import { inEnglish } from '../../../src/protocol/texts/say.ts';

const tools = [listDir, readFile];

describeStore('a turn', (databases) => {
  it('streams the answer, settles the live message, commits, and only then ends (N-01, N-51, B-14)', async () => {
    const provider = new ScriptedProvider(says('Hel', 'lo!'));
    const scenario = await openScenario(databases, { provider });
    const { turn, outcome } = await scenario.ask('Hi');
    expect(turn).toMatchObject({
      state: 'done',
      reason: 'completed',
      final: { content: 'Hello!', isError: false },
    });
    expect(scenario.types()).toEqual([
      'turn_started',
      'stream_start',
      'stream_chunk',
      'stream_chunk',
      'stream_end',
      'turn_ended',
    ]);
    expect(scenario.order).toEqual(['open', 'settle', 'finish', 'turn_ended']);
    expect(outcome).toMatchObject({ kind: 'finished', step: { heads: [{ lane: 'out:telegram:42' }] } });
    expect(outcome).toHaveProperty(
      'step.heads.0.payload.message',
      expect.objectContaining({ content: 'Hello!' }),
    );
  });

  it('sends the system prompt first and never stores it, and remembers the conversation (N-68, B-05)', async () => {
    const provider = new ScriptedProvider(says('I am well.'), says('You asked how I am.'));
    const scenario = await openScenario(databases, { provider, profile: { iterationBudgetEnabled: false } });
    await scenario.ask('How are you?');
    scenario.profile = { ...scenario.profile, persona: 'You are somebody else.' };
    await scenario.ask('What did I ask?');
    expect(provider.requests[1]?.messages).toEqual([
      { role: 'system', content: 'You are somebody else.' },
      { role: 'user', content: 'How are you?' },
      { role: 'assistant', content: 'I am well.' },
      { role: 'user', content: 'What did I ask?' },
      { role: 'system', content: expect.stringMatching(/^It is [^\n]+$/) },
    ]);
  });

  it('sends the system prompt and the notes of this call, and stores none of them for a later one (N-70)', async () => {
    const store = await databases.open();
    const provider = new ScriptedProvider(says('I am well.'), says('You asked how I am.'));
    const scenario = await openScenario(databases, { provider, store });
    await scenario.ask('How are you?');
    expect(await store.sql`select distinct kind from context order by kind`).toEqual([
      { kind: 'assistant' },
      { kind: 'user' },
    ]);
    await scenario.ask('What did I ask?');
    const note = ['system', expect.stringMatching(/^It is .*\n\nIterations left/)];
    const [first, second] = provider.requests.map(({ messages }) =>
      messages.map(({ role, content }) => [role, content]),
    );
    expect(first).toEqual([['system', 'You are Parley.'], ['user', 'How are you?'], note]);
    expect(second).toEqual([
      ['system', 'You are Parley.'],
      ['user', 'How are you?'],
      ['assistant', 'I am well.'],
      ['user', 'What did I ask?'],
      note,
    ]);
  });

  it('runs tools between answers, in order, and joins the texts of all answers (N-52, N-53, B-37)', async () => {
    const effects = await startEffects();
    const calls = [
      { name: 'unsafe_probe', args: { word: 'one' } },
      { name: 'pure_probe', args: { word: 'two' } },
    ];
    const provider = new ScriptedProvider(
      asks(calls, 'Let me ', 'look.'),
      asks([calls[0]!]),
      says('Done', '.'),
    );
    const scenario = await openScenario(databases, { provider, tools: effectTools(effects.url) });
    const { turn, turnId } = await scenario.ask('Do it');
    expect(turn?.final?.content).toBe('Let me look.\n\nDone.');
    expect(scenario.shown()).toBe('Let me look.\n\nDone.');
    expect(scenario.types().filter((type) => type.startsWith('tool_'))).toEqual(
      [1, 2, 3].flatMap(() => ['tool_call', 'tool_result']),
    );
    const ids = scenario.events.flatMap((event) => (event.type === 'stream_start' ? [event.msgId] : []));
    expect(new Set(ids).size).toBe(3);
    expect(provider.requests[2]?.messages.slice(1, -1)).toMatchObject([
      { role: 'user', content: 'Do it' },
      { role: 'assistant', content: 'Let me look.', toolCalls: [{}, {}] },
      { role: 'tool', content: 'unsafe one: ok', toolName: 'unsafe_probe' },
      { role: 'tool', content: 'pure two: ok' },
      { role: 'assistant', content: '' },
      { role: 'tool', content: 'unsafe one: ok' },
    ]);
    expect([...effects.counts().values()]).toEqual([1, 1, 1]);
    expect(effects.runs(`${turnId}.1.0`)).toBe(1);
    await effects.close();
  });

  it('calls the model once per iteration, continues while it calls tools, and ends when it does not (N-47, B-12, B-13)', async () => {
    const effects = await startEffects();
    const call = { name: 'pure_probe', args: { word: 'x' } };
    const provider = new ScriptedProvider(asks([call]), asks([call]), says('That is all.'));
    const scenario = await openScenario(databases, { provider, tools: effectTools(effects.url) });
    const { turn } = await scenario.ask('Look twice');
    expect(provider.requests).toHaveLength(3);
    expect(
      provider.requests.map(({ messages }) => messages.filter(({ role }) => role === 'tool').length),
    ).toEqual([0, 1, 2]);
    expect(turn).toMatchObject({ reason: 'completed', final: { content: 'That is all.' } });
    await effects.close();
  });

  it('tells the model how many iterations are left, in a message that is never stored (N-32, N-44)', async () => {
    const provider = new ScriptedProvider(asks([{ name: 'list_dir', args: {} }]), says('ok'), says('again'));
    const scenario = await openScenario(databases, { provider, tools, profile: { maxIterations: 5 } });
    await scenario.ask('one');
    await scenario.ask('two');
    const notes = provider.requests.map((request) =>
      request.messages.filter(({ role }) => role === 'system'),
    );
    expect(
      notes.map((system) =>
        system
          .at(-1)
          ?.content.match(/(\d+) of (\d+)/)
          ?.slice(1),
      ),
    ).toEqual([
      ['5', '5'],
      ['4', '5'],
      ['5', '5'],
    ]);
    expect(notes.map((system) => system.length)).toEqual([2, 2, 2]);
  });

  it('stops at the iteration limit and reports what was done (N-42, B-08, B-49)', async () => {
    const step = asks([{ name: 'list_dir', args: {} }]);
    const provider = new ScriptedProvider(step, step, asks([{ name: 'list_dir', args: {} }], 'Looking.'));
    const scenario = await openScenario(databases, { provider, tools, profile: { maxIterations: 3 } });
    const { turn } = await scenario.ask('Loop');
    expect(turn).toMatchObject({ reason: 'max_iterations' });
    expect(turn?.final?.content).toContain('Looking.\n\nI stopped after 3 steps');
    expect(turn?.final?.content).toContain('list_dir ×3');
    expect(scenario.shown()).toBe(turn?.final?.content);
    expect(provider.requests).toHaveLength(3);
  });

  it.each([
    ['nothing at all', says()],
    ['blanks', says(' \n')],
    ['only a thought', { chunks: [{ type: 'thinking' as const, delta: 'Hm.' }] }],
  ])('asks again after an answer of %s, and shows the second one', async (_what, empty) => {
    const provider = new ScriptedProvider(empty, says('now'));
    const scenario = await openScenario(databases, { provider });
    const { turn } = await scenario.ask('Hm?');
    expect(turn?.final).toMatchObject({ content: 'now' });
    expect(scenario.shown()).toBe('now');
    expect(provider.requests[1]?.messages).toEqual(provider.requests[0]?.messages);
  });

  it('asks again after an empty answer that follows tool results', async () => {
    const provider = new ScriptedProvider(asks([{ name: 'list_dir', args: {} }]), says(), says('two files'));
    const scenario = await openScenario(databases, { provider, tools });
    expect((await scenario.ask('List')).turn?.final?.content).toBe('two files');
  });

  it('does not ask again when an empty answer was cut off', async () => {
    const provider = new ScriptedProvider({ ...says(), finishReason: 'length' });
    const scenario = await openScenario(databases, { provider });
    expect((await scenario.ask('Hm?')).turn?.final?.content).toBe(inEnglish('turn.cut_off_early'));
  });

  it('shows a sentence after two empty answers, and does not send it to the model', async () => {
    const provider = new ScriptedProvider(says(), says(), says('now'));
    const scenario = await openScenario(databases, { provider });
    const { turn } = await scenario.ask('Hm?');
    expect(turn?.final).toMatchObject({ content: inEnglish('turn.empty'), isError: true });
    await scenario.ask('Again');
    expect(provider.requests[2]?.messages.filter(({ role }) => role === 'assistant')).toEqual([]);
  });

  it(`reads at most ${HISTORY_ROWS} earlier messages, however old the session (B-35)`, async () => {
    const answers = Array.from({ length: HISTORY_ROWS / 2 + 5 }, (_, n) => says(`a${n}`));
    const provider = new ScriptedProvider(...answers);
    const scenario = await openScenario(databases, { provider });
    for (let n = 0; n < answers.length; n += 1) await scenario.ask(`q${n}`);
    const last = provider.requests.at(-1)?.messages.filter(({ role }) => role !== 'system');
    expect(last).toHaveLength(HISTORY_ROWS + 1);
    expect(last?.[0]?.content).toBe('q4');
  });

  it('runs without planning and with the same result through the plain entry (N-02, N-03)', async () => {
    const provider = new ScriptedProvider(says('plain'));
    const scenario = await openScenario(databases, { provider });
    const { turn, outcome } = await scenario.ask('Hi', { channel: 'http', chatId: 'abc' }, { entry: 'run' });
    expect(turn?.final?.content).toBe('plain');
    expect(outcome).toMatchObject({ kind: 'finished', step: { heads: [] } });
  });

  it('calls the model that the turn, the session or the profile names, else the first of the server (B-07)', async () => {
    const provider = new ScriptedProvider(says('1'), says('2'), says('3'), says('4'));
    const scenario = await openScenario(databases, { provider, model: undefined });
    await scenario.ask('first of the server');
    scenario.profile = { ...scenario.profile, model: 'of-profile', thinkEnabled: false };
    await scenario.ask('of the profile');
    await scenario.store.ledger.updateSession('telegram:42', { model: 'of-session' });
    await scenario.ask('of the session');
    await scenario.ask('of the turn', {}, { model: 'of-turn' });
    expect(provider.requests.map((request) => request.model)).toEqual([
      'test-model',
      'of-profile',
      'of-session',
      'of-turn',
    ]);
    expect(provider.requests.map((request) => request.think)).toEqual([true, false, false, false]);
  });

  it('keeps 50 concurrent sessions apart: each tool sees its own (N-13, B-06)', async () => {
    const whoami = defineTool({
      name: 'whoami',
      description: 'Tells whose session this is.',
      parameters: z.strictObject({}),
      effect: 'pure',
      risk: () => 'safe',
      results: 'operator',
      reach: () => 'session',
      execute: async (_args, ctx) => ({ content: `${ctx.sessionKey} in ${path.basename(ctx.workspace)}` }),
    });
    const provider = replaySteps(asks([{ name: 'whoami', args: {} }]), says('ok'));
    const scenario = await openScenario(databases, { provider, tools: [whoami] });
    const chats = Array.from({ length: 50 }, (_, n) => String(n));
    await Promise.all(chats.map((chatId) => scenario.ask(`I am ${chatId}`, { chatId })));
    const seen = provider.requests.flatMap(({ messages }) => {
      const asked = messages.find(({ role }) => role === 'user')?.content.slice('I am '.length);
      const told = messages.find(({ role }) => role === 'tool')?.content;
      return told === undefined ? [] : [[asked, told]];
    });
    const expected = chats.map(async (chatId) => {
      const key = `telegram:${chatId}` as const;
      return [chatId, `${key} in ${(await scenario.store.ledger.session(key))?.folder}`];
    });
    expect(Object.fromEntries(seen)).toEqual(Object.fromEntries(await Promise.all(expected)));
    expect(new Set(Object.values(Object.fromEntries(seen))).size).toBe(chats.length);
  });

  it('stores the usage of all its calls', async () => {
    const provider = new ScriptedProvider(asks([{ name: 'list_dir', args: {} }]), says('ok'));
    const scenario = await openScenario(databases, { provider, tools });
    await scenario.ask('one');
    const { promptTokens, completionTokens, modelMs } = SCRIPT_USAGE;
    const usage = {
      promptTokens: 2 * promptTokens,
      completionTokens: 2 * completionTokens,
      modelMs: 2 * modelMs,
    };
    expect(scenario.finishes[0]).toMatchObject({
      userId: 'telegram:42',
      usage: [{ ...usage, model: 'test-model' }],
    });
  });
});
